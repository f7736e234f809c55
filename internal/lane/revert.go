package lane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/attempt"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/git/writers"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/shellword"
)

// ShowRevert returns the merge that a revert would undo, the merges that came after it,
// and the conflicts. It fails with NotMerged if the merge is not in its target, or if the
// revert would change nothing.
func (svc *Lanes) ShowRevert(ctx context.Context, s project.Location, req croft.RevertRequest) (*croft.RevertPlan, error) {
	plan, _, err := svc.PlanRevert(ctx, s.Project, req)
	return plan, err
}

// PlanRevert finds the merge of a request and tries its revert. It refuses a revert
// that would change nothing.
func (svc *Lanes) PlanRevert(ctx context.Context, r *project.Project, req croft.RevertRequest) (*croft.RevertPlan, journal.Merge, error) {
	m, err := svc.findMerge(ctx, r, req)
	if err != nil {
		return nil, m, err
	}
	plan := &croft.RevertPlan{Merge: m.Merge, Branch: m.Target}
	if plan.Target, err = r.Git.ReadRef(ctx, "refs/heads/"+m.Target); err != nil {
		return nil, m, project.TargetError(m.Target, err)
	}
	if m.Commit == "" || m.Status != croft.MergeMerged {
		return nil, m, svc.notMergedError(ctx, r, m)
	}
	if in, err := r.Git.IsAncestor(ctx, m.Commit, plan.Target); err != nil || !in {
		return nil, m, errors.Join(err, svc.notMergedError(ctx, r, m))
	}
	if plan.Later, err = svc.Journal.MergedAfter(ctx, m); err != nil {
		return nil, m, err
	}
	if plan.LaterNames, err = svc.namesAfter(ctx, m, plan.Later); err != nil {
		return nil, m, err
	}
	if req.Target != "" && req.Target != plan.Target {
		return nil, m, &croft.Error{
			Code: croft.TargetMoved, Workspace: m.WorkspaceName, Message: fmt.Sprintf("%s has moved since you looked", m.Target), Details: plan.Target,
			Hint: "croft revert " + shellword.Quote(m.WorkspaceName),
		}
	}
	conflicts, isNothing, err := TryRevert(ctx, r, m, plan.Target)
	if err == nil && isNothing {
		err = attempt.NothingToRevertError(m.Merge)
	}
	if err != nil {
		return nil, m, err
	}
	for _, c := range conflicts {
		plan.Conflicts = append(plan.Conflicts, croft.ConflictedPath{Path: c.Path, Kind: c.Kind})
	}
	return plan, m, nil
}

// namesAfter names the workspaces whose merges came after one, each once.
func (svc *Lanes) namesAfter(ctx context.Context, m journal.Merge, count int) (names []string, err error) {
	const most = 50
	if count == 0 {
		return nil, nil
	}
	later, err := svc.Journal.MergesAfter(ctx, m, most)
	for _, m := range later {
		if !slices.Contains(names, m.WorkspaceName) {
			names = append(names, m.WorkspaceName)
		}
	}
	return names, err
}

// RequireNoConflict fails with Conflict if the revert of a merge would be in conflict with its target now. What else
// would refuse it, the revert itself says.
func (svc *Lanes) RequireNoConflict(ctx context.Context, r *project.Project, m journal.Merge) error {
	plan, _, err := svc.PlanRevert(ctx, r, croft.RevertRequest{Merge: m.ID})
	if err != nil || len(plan.Conflicts) == 0 {
		return nil //nolint:nilerr // see above
	}
	if m.Kind == croft.KindRevert { // by its name its workspace's merge would be found
		m.WorkspaceName = string(m.ID)
	}
	m.Kind = croft.KindRevert
	return attempt.ConflictError(m, plan.Conflicts)
}

// TryRevert computes the revert of a merge on a tip of its target, and keeps no result.
// isNothing says that the revert would change no file.
func TryRevert(ctx context.Context, r *project.Project, m journal.Merge, tip string) (conflicts []mergetree.MergeConflict, isNothing bool, err error) {
	attempts, err := r.Git.OpenMergeTree(writers.InMemory)
	if err != nil {
		return nil, false, err
	}
	defer attempts.Close()
	merged, err := attempts.MergeOver(ctx, m.Commit, tip, m.Before)
	if err != nil {
		return nil, false, err
	}
	at, err := attempts.ReadCommit(ctx, tip)
	return merged.Conflicts, merged.IsClean() && merged.Tree == at.Tree, err
}

// notMergedError returns the error for a merge that is not in its target, and names earlier
// merges of the workspace that can be reverted.
func (svc *Lanes) notMergedError(ctx context.Context, r *project.Project, m journal.Merge) error {
	why := &croft.Error{
		Code: croft.NotMerged, Workspace: m.WorkspaceName, Message: fmt.Sprintf("it is not in %s: it is %s", m.Target, cmp.Or(string(m.Status), "not merged")),
		Hint: "croft queue --all",
	}
	switch {
	case m.Status == croft.MergeMerged && m.Commit == "":
		why.Message = fmt.Sprintf("it brought no commit to %s, so there is nothing to take back", m.Target)
	case m.Status == croft.MergeMerged: // but it is not in the history of the target
		why.Message = fmt.Sprintf("it is not in %s any more: the branch was set to another commit", m.Target)
	}
	all, err := svc.Journal.MergesOf(ctx, m.Workspace)
	if err != nil {
		return err
	}
	var earlier []string
	for _, other := range all {
		if other.Target != m.Target || other.Published >= m.Published {
			continue
		}
		if in, err := svc.canRevert(ctx, r, other); err != nil {
			return err
		} else if in {
			earlier = append(earlier, string(other.ID))
		}
	}
	switch len(earlier) {
	case 0:
		why.Hint = svc.BringBackHint(ctx, r, m, why.Hint)
		return why
	case 1:
		why.Message = fmt.Sprintf("the last merge of %s into %s is %s; an earlier one is still in it", m.WorkspaceName, m.Target, m.Status)
	default:
		why.Message = fmt.Sprintf("the last merge of %s into %s is %s; earlier ones are still in it", m.WorkspaceName, m.Target, m.Status)
		why.Details = strings.Join(earlier, "\n")
	}
	why.Hint = "croft revert " + earlier[0]
	return why
}

// canRevert reports whether a merge is in its target and brought changes. It is false for a
// revert.
func (svc *Lanes) canRevert(ctx context.Context, r *project.Project, m journal.Merge) (bool, error) {
	if m.Kind == croft.KindRevert || m.Commit == "" || m.Status != croft.MergeMerged {
		return false, nil
	}
	if isEmpty, err := svc.HasBroughtNothing(ctx, r, m); err != nil || isEmpty {
		return false, err
	}
	tip, err := r.Git.ReadRef(ctx, "refs/heads/"+m.Target)
	if err != nil {
		return false, project.TargetError(m.Target, err)
	}
	return r.Git.IsAncestor(ctx, m.Commit, tip)
}

// HasBroughtNothing reports whether a merge left the tree of its target unchanged. It is
// false if the commit before the merge is not recorded.
func (svc *Lanes) HasBroughtNothing(ctx context.Context, r *project.Project, m journal.Merge) (bool, error) {
	if m.Before == "" {
		return false, nil
	}
	before, err := r.Git.ReadCommit(ctx, m.Before)
	if err != nil {
		return false, err
	}
	after, err := r.Git.ReadCommit(ctx, m.Commit)
	return err == nil && before.Tree == after.Tree, err
}

// findMerge finds the merge of a revert request: by its ID, by its commit, or by the name
// of its workspace.
func (svc *Lanes) findMerge(ctx context.Context, r *project.Project, req croft.RevertRequest) (journal.Merge, error) {
	kind, ref := croft.CutRef(cmp.Or(string(req.Merge), req.Ref))
	m, err := svc.Journal.Merge(ctx, croft.ID(ref))
	if err == nil && m.RepoID == r.ID && kind.Is(croft.RefID) {
		return m, nil
	}
	if m, err = svc.Journal.MergeByCommit(ctx, r.ID, ref); err == nil && kind == croft.RefAny {
		return m, nil
	}
	named, err := svc.Journal.MergesNamed(ctx, r.ID, ref)
	if err != nil {
		return m, err
	}
	if !kind.Is(croft.RefName) {
		named = nil
	}
	if len(named) == 0 && kind.Is(croft.RefID) {
		if named, err = svc.Journal.MergesOf(ctx, croft.ID(ref)); err != nil {
			return m, err
		}
	}
	if len(named) == 0 {
		return svc.mergeBeginning(ctx, r, cmp.Or(string(req.Merge), req.Ref))
	}
	return svc.lastMergeWithChanges(ctx, r, named)
}

// mergeBeginning finds a merge by the beginning of its ID.
func (svc *Lanes) mergeBeginning(ctx context.Context, r *project.Project, ref croft.Ref) (journal.Merge, error) {
	_, text := croft.CutRef(ref)
	id, err := svc.WholeID(ctx, journal.IdentifiedMerges, r.ID, ref)
	if err != nil {
		return journal.Merge{}, err
	}
	if id == "" {
		return journal.Merge{}, attempt.MergeNotFoundError(text)
	}
	return svc.Journal.Merge(ctx, id)
}

// lastMergeWithChanges returns the last of a workspace's merges that brought changes, or
// the last published one if none did. It fails if none was published. Reverts do not
// count. merges has the last one first.
func (svc *Lanes) lastMergeWithChanges(ctx context.Context, r *project.Project, merges []journal.Merge) (journal.Merge, error) {
	var empty *journal.Merge
	for _, m := range merges {
		if m.Kind == croft.KindRevert || m.Commit == "" {
			continue
		}
		isEmpty, err := svc.HasBroughtNothing(ctx, r, m)
		if err != nil {
			return m, err
		}
		if !isEmpty {
			return m, nil
		}
		if empty == nil {
			empty = &m
		}
	}
	if empty != nil {
		return *empty, nil
	}
	return merges[0], svc.notMergedError(ctx, r, merges[0])
}

// RevertRequested queues the revert that a request asks for. It fails as SubmitRevert
// does. A Key makes the request repeatable.
func (svc *Lanes) RevertRequested(ctx context.Context, s project.Location, req croft.RevertRequest) (*croft.Merge, error) {
	key := journal.Key{Repo: s.ID, Verb: "revert", Key: req.Key}
	req.Repo = ""
	return svc.RunOnce(ctx, &key, req, func() (*croft.Merge, error) {
		m, err := svc.submitRevert(ctx, s.Project, req, project.NewAct(), key)
		if err != nil {
			return nil, err
		}
		return &m.Merge, nil
	})
}

// SubmitRevert queues a revert of a merge that landed, as part of an act. If a revert of
// that merge already waits, it returns that one. It fails as ShowRevert does, and with
// TargetMoved if the target is not at req.Target any more. A revert with conflicts is
// queued too.
func (svc *Lanes) SubmitRevert(ctx context.Context, r *project.Project, req croft.RevertRequest, a project.Act) (*journal.Merge, error) {
	return svc.submitRevert(ctx, r, req, a, journal.Key{})
}

func (svc *Lanes) submitRevert(ctx context.Context, r *project.Project, req croft.RevertRequest, a project.Act, key journal.Key) (*journal.Merge, error) {
	plan, was, err := svc.PlanRevert(ctx, r, req)
	if err != nil {
		return nil, err
	}
	if m, err := svc.waitingRevert(ctx, r, was, a); m != nil || err != nil {
		if err == nil {
			err = svc.Journal.Update(ctx, func(tx *journal.Tx) error { return UseKey(tx, key, m.ID) })
		}
		return m, err
	}
	text, err := svc.RevertMessage(ctx, r, was, req.Message)
	if err != nil {
		return nil, err
	}
	m := &journal.Merge{
		Merge: croft.Merge{
			ID: project.NewID(), RepoID: r.ID, Kind: croft.KindRevert, WorkspaceName: was.WorkspaceName, Workspace: was.Workspace, Target: was.Target,
			Status: croft.MergePending, State: croft.MergeQueued, Head: was.Commit, Reverts: was.ID, Later: plan.Later,
			SubmittedAt: svc.Now(),
		},
		Act: a.ID, Undoes: a.Undoes, Base: was.Before, Text: text, Again: was.Kind == croft.KindRevert && !was.Again,
		Part: was.Part,
	}
	if err := svc.Rules.SetSubmitter(ctx, r, m); err != nil {
		return nil, err
	}
	svc.Rules.NoticeChecks(ctx, r, m.Target)
	return m, svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		return errors.Join(UseKey(tx, key, m.ID), tx.PutMerge(m), tx.Emit(svc.MergeEvent(croft.EventMergeQueued, *m)))
	})
}

// waitingRevert finds a revert of the same merge that already waits: the process that
// requested it may have died, and its caller may repeat the request.
func (svc *Lanes) waitingRevert(ctx context.Context, r *project.Project, was journal.Merge, a project.Act) (*journal.Merge, error) {
	waiting, err := svc.Journal.Waiting(ctx, r.ID, was.Target, -1)
	if err != nil {
		return nil, err
	}
	for _, m := range waiting {
		if m.Kind == croft.KindRevert && m.Reverts == was.ID && m.Undoes == a.Undoes {
			return &m, nil
		}
	}
	return nil, nil
}

// RevertMessage returns the message of the request, or the one that git revert would
// write.
func (svc *Lanes) RevertMessage(ctx context.Context, r *project.Project, was journal.Merge, asked string) (string, error) {
	if asked != "" {
		return asked, nil
	}
	c, err := r.Git.ReadCommit(ctx, was.Commit)
	if err != nil {
		return "", err
	}
	subject, _, _ := strings.Cut(c.Message, "\n")
	return fmt.Sprintf("Revert \"%s\"\n\nThis reverts commit %s.\n", subject, was.Commit), nil
}
