package review

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/writers"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/lane"
	"github.com/croft-sh/croft/internal/merge"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/shellword"
)

// ApplyParts queues the chosen part of a review. The workspace may be gone. It fails with ReviewNotFound if the review is
// unknown or was deleted, and with InvalidRequest if the choice is empty or not in the
// review, or if the review is of another workspace than req.Workspace. With a Key the same call again returns the same merge;
// another request under that key is a KeyConflict.
func (svc *Reviews) ApplyParts(ctx context.Context, s project.Location, req croft.ApplyRequest) (*croft.Merge, error) {
	key := journal.Key{Repo: s.ID, Verb: "apply", Key: req.Key}
	req.Repo = ""
	return svc.Lanes.RunOnce(ctx, &key, req, func() (*croft.Merge, error) { return svc.submitApply(ctx, s.Project, req, key) })
}

// submitApply makes a commit of the chosen part and queues it.
func (svc *Reviews) submitApply(ctx context.Context, r *project.Project, req croft.ApplyRequest, key journal.Key) (*croft.Merge, error) {
	work, err := svc.readReview(ctx, r, req.Review)
	if err != nil {
		return nil, err
	}
	if req.Workspace != "" && !croft.RefNames(req.Workspace, work.Workspace, work.WorkspaceName) {
		return nil, &croft.Error{
			Code: croft.InvalidRequest, Message: fmt.Sprintf("the review is of %q", work.WorkspaceName), Hint: "croft review " + shellword.Quote(req.Workspace),
		}
	}
	choices, err := merge.Choose(work.Files, req.Paths, req.Hunks, req.Edits)
	if err != nil {
		return nil, err
	}
	if _, err := r.Git.ReadRef(ctx, "refs/heads/"+work.Target); err != nil {
		return nil, project.TargetError(work.Target, err)
	}
	if err := svc.RefuseIsolatedTarget(ctx, r, croft.Merge{WorkspaceName: work.WorkspaceName, Target: work.Target}); err != nil {
		return nil, err
	}
	m := journal.Merge{
		Merge: croft.Merge{
			ID: project.NewID(), RepoID: r.ID, Kind: croft.KindApply, WorkspaceName: work.WorkspaceName, Workspace: work.Workspace, Target: work.Target, Review: work.ID,
			Status: croft.MergePending, State: croft.MergeQueued, SubmittedAt: svc.Now(), HeldBack: work.HeldBack,
		},
		Act: project.NewID(), Text: req.Message, Base: work.Base, Seen: work.TargetCommit, Part: true,
	}
	if err := svc.Lanes.Rules.SetSubmitter(ctx, r, &m); err != nil {
		return nil, err
	}
	svc.Lanes.Rules.NoticeChecks(ctx, r, m.Target)
	if m.Text == "" && isAll(work.Files, choices) {
		m.Text = "Apply " + work.WorkspaceName
	}
	if m.Head, err = svc.keepPart(ctx, r, work, choices, m.ID); err != nil {
		return nil, err
	}
	if err := svc.keepSubmodules(ctx, r, work.Workspace, m.Head); err != nil {
		return nil, err
	}
	return &m.Merge, svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		return errors.Join(lane.UseKey(tx, key, m.ID), tx.PutMerge(&m), tx.Emit(svc.MergeEvent(croft.EventMergeQueued, m)))
	})
}

// keepSubmodules makes the submodule commits that a commit names available without the
// workspace, if the workspace still exists.
func (svc *Reviews) keepSubmodules(ctx context.Context, r *project.Project, workspace croft.ID, commit string) error {
	rec, err := svc.Journal.Record(ctx, workspace)
	if errors.Is(err, journal.ErrNotFound) || err == nil && rec.Workspace.State != croft.Ready {
		return nil
	}
	if err != nil || r.Trees.Health(project.SpecOf(rec)) != checkout.Intact {
		return err
	}
	return r.Trees.At(project.SpecOf(rec)).KeepSubmodules(ctx, commit)
}

// isAll reports whether the whole review was chosen.
func isAll(files []croft.ReviewFile, choices []merge.Choice) bool {
	return len(files) == len(choices) && !slices.ContainsFunc(choices, func(c merge.Choice) bool { return len(c.Hunks)+len(c.Edits) > 0 })
}

// keepPart makes a commit of the chosen part on the review's base, and pins it for the
// lane.
func (svc *Reviews) keepPart(ctx context.Context, r *project.Project, work *croft.Review, choices []merge.Choice, id croft.ID) (string, error) {
	attempts, err := r.Git.OpenMergeTree(writers.OnDisk)
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
		Tree: tree, Parents: []string{work.Base}, Signature: svc.croftSignature(), Message: "Part of " + work.WorkspaceName,
	}, gitcmd.Identity{})
	if err != nil {
		return "", err
	}
	release, err := attempts.Keep(ctx, head)
	if err != nil {
		return "", err
	}
	defer release()
	if err := svc.Pin(ctx, r, journal.Pin{Ref: applyRef(work.ID, id), OID: head}); err != nil {
		return "", err
	}
	return head, failpoint.Hit("apply.kept")
}
