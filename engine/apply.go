package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/merge"
)

// apply brings the chosen part of a review to its target.
func (e *Engine) apply(ctx context.Context, s standing, req croft.ApplyRequest) (*croft.Merge, error) {
	key := journal.Key{Repo: s.id, Verb: "apply", Key: req.Key}
	req.Repo = ""
	m, err := e.once(ctx, &key, req, func() (*croft.Merge, error) { return e.submitApply(ctx, s.repo, req, key) })
	if err != nil {
		return nil, err
	}
	return e.waitMerge(ctx, m.ID)
}

// submitApply makes a commit of what was chosen and puts it in the queue.
func (e *Engine) submitApply(ctx context.Context, r *repo, req croft.ApplyRequest, key journal.Key) (*croft.Merge, error) {
	work, err := e.readReview(ctx, r, req.Review)
	if err != nil {
		return nil, err
	}
	if req.Workspace != "" && req.Workspace != work.Workspace && req.Workspace != string(work.WorkspaceID) {
		return nil, &croft.Error{
			Code: croft.InvalidRequest, Message: fmt.Sprintf("the review is of %q", work.Workspace), Hint: "croft review " + req.Workspace,
		}
	}
	choices, err := merge.Choose(work.Files, req.Paths, req.Hunks)
	if err != nil {
		return nil, err
	}
	if _, err := r.git.ReadRef(ctx, "refs/heads/"+work.Target); err != nil {
		return nil, targetNotFound(work.Target, err)
	}
	if err := e.refuseIsolatedTarget(ctx, r, croft.Merge{Workspace: work.Workspace, Target: work.Target}); err != nil {
		return nil, err
	}
	m := journal.Merge{
		Merge: croft.Merge{
			ID: newID(), Kind: croft.KindApply, Workspace: work.Workspace, WorkspaceID: work.WorkspaceID, Target: work.Target, Review: work.ID,
			Status: croft.MergePending, State: croft.MergeQueued, SubmittedAt: e.now(), HeldBack: work.HeldBack,
		},
		RepoID: r.id, Act: newID(), Text: req.Message, Base: work.Base, Seen: work.TargetCommit, Part: true,
	}
	e.sign(&m.Merge)
	if m.Text == "" && isAll(work.Files, choices) {
		m.Text = "Apply " + work.Workspace
	}
	if m.Head, err = e.keepPart(ctx, r, work, choices, m.ID); err != nil {
		return nil, err
	}
	if err := e.keepSubmodules(ctx, r, work.WorkspaceID, m.Head); err != nil {
		return nil, err
	}
	return &m.Merge, e.journal.Update(ctx, func(tx *journal.Tx) error {
		if key.Key != "" {
			key.Operation = m.ID
			if err := tx.PutKey(key); err != nil {
				return err
			}
		}
		return errors.Join(tx.PutMerge(m), tx.Emit(e.mergeEvent(croft.EventMergeQueued, m)))
	})
}

// keepSubmodules makes sure that the commits of submodules which a commit of a
// workspace's work names can be had without the workspace, if that is still there.
func (e *Engine) keepSubmodules(ctx context.Context, r *repo, workspace croft.ID, commit string) error {
	rec, err := e.journal.Record(ctx, workspace)
	if errors.Is(err, journal.ErrNotFound) || err == nil && rec.Workspace.State != croft.Ready {
		return nil
	}
	if err != nil || r.trees.Health(specOf(rec)) != checkout.Intact {
		return err
	}
	return r.trees.At(specOf(rec)).KeepSubmodules(ctx, commit)
}

// isAll reports whether nothing of a review was left out.
func isAll(files []croft.ReviewFile, choices []merge.Choice) bool {
	return len(files) == len(choices) && !slices.ContainsFunc(choices, func(c merge.Choice) bool { return len(c.Hunks) > 0 })
}

// keepPart makes a commit of a review's base with what was chosen, and keeps it
// for the lane.
func (e *Engine) keepPart(ctx context.Context, r *repo, work *croft.Review, choices []merge.Choice, id croft.ID) (string, error) {
	attempts, err := r.git.Attempts(git.OnDisk)
	if err != nil {
		return "", err
	}
	defer attempts.Close()
	base, err := attempts.ReadCommit(ctx, work.Base)
	if err != nil {
		return "", err
	}
	tree, err := merge.PartTree(ctx, attempts, base.Tree, choices)
	if err != nil {
		return "", err
	}
	head, err := attempts.Commit(ctx, object.Commit{
		Tree: tree, Parents: []string{work.Base}, Signature: e.croftSignature(), Message: "Part of " + work.Workspace,
	}, git.Identity{})
	if err != nil {
		return "", err
	}
	release, err := attempts.Keep(ctx, head)
	if err != nil {
		return "", err
	}
	defer release()
	if err := e.pin(ctx, r, journal.Pin{Ref: applyRef(work.ID, id), OID: head}); err != nil {
		return "", err
	}
	return head, failpoint.Hit("apply.kept")
}

// errNextTurn says that something cannot be judged before what is below it has
// landed, or was turned away.
var errNextTurn = errors.New("to be looked at again")

// guardBase turns an apply away if the target changed what was chosen since it
// was reviewed: the choice was made on other files. It is asked in the lane, so
// that nothing comes in between. What is stacked on the target may still be
// turned away itself; if only that stands against it, it is errNextTurn.
func (e *Engine) guardBase(ctx context.Context, r *repo, attempts *git.Attempts, m journal.Merge, target, tip string) error {
	if m.Kind != croft.KindApply || m.Seen == "" || m.Seen == tip {
		return nil
	}
	if m.Tried != "" {
		// It may have been published by a process that could not say so.
		if in, err := r.git.IsAncestor(ctx, m.Tried, target); err != nil || in {
			return err
		}
	}
	chosen, err := attempts.Diff(ctx, m.Base, m.Head)
	if err != nil {
		return err
	}
	changed, err := attempts.Diff(ctx, m.Seen, target)
	if err != nil {
		return err
	}
	if clash := clashing(chosen, changed); len(clash) > 0 {
		return &croft.Error{
			Code: croft.BaseMoved, Message: fmt.Sprintf("%s has moved since the review, and changed %s of it", m.Target, count(len(clash), "file")),
			Details: strings.Join(clash, "\n"), Hint: "croft review " + m.Workspace,
		}
	}
	if tip == target {
		return nil
	}
	if changed, err = attempts.Diff(ctx, m.Seen, tip); err == nil && len(clashing(chosen, changed)) > 0 {
		err = errNextTurn
	}
	return err
}

// clashing lists the paths that were changed here and there, to different ends,
// or that cannot be beside what was.
func clashing(chosen, changed []git.Change) []string {
	at, above := map[string]git.Change{}, map[string]bool{} // what changed, and the directories that it lies in
	for _, c := range changed {
		at[c.Path] = c
		for dir := range parents(c.Path) {
			above[dir] = true
		}
	}
	var list []string
	for _, c := range chosen {
		other, both := at[c.Path]
		clash := above[c.Path] || both && (other.NewMode != c.NewMode || other.NewOID != c.NewOID)
		for dir := range parents(c.Path) {
			_, is := at[dir]
			clash = clash || is && !c.Deletes()
		}
		if clash {
			list = append(list, merge.PathText(c.Path))
		}
	}
	return list
}

// parents yields the directories that a path lies in.
func parents(path string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i := strings.LastIndexByte(path, '/'); i > 0; i = strings.LastIndexByte(path[:i], '/') {
			if !yield(path[:i]) {
				return
			}
		}
	}
}

// movedNote says of an apply that landed whether the target had moved since the
// review.
func movedNote(m journal.Merge, before string) string {
	if m.Seen == "" || m.Seen == before {
		return ""
	}
	return m.Target + " has moved since the review, in other files"
}
