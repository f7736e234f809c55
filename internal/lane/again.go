package lane

import (
	"context"
	"errors"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
)

// landedBefore returns the ID of the merge that brought the work of a submission to the target, if
// one did and that is still in force. The submission is that merge then, and one act with it: its
// answer names the commit, and an undo takes back all of it.
func (svc *Lanes) landedBefore(ctx context.Context, r *project.Project, w croft.Workspace, m journal.Merge) (croft.ID, error) {
	if w.MergeStatus != croft.MergeMerged {
		return "", nil
	}
	landed, err := svc.Journal.LandedOn(ctx, w.ID, m.Target)
	if err != nil {
		return "", err
	}
	was, found := journal.BroughtBy(landed, m.Head)
	if !found {
		return "", nil
	}
	tip, err := r.Git.ReadRef(ctx, "refs/heads/"+m.Target)
	if errors.Is(err, refs.ErrNoRef) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if in, err := r.Git.IsAncestor(ctx, was.Commit, tip); !in {
		return "", err
	}
	return was.ID, nil
}

// tidyLanded moves the workspaces of merges that had landed before they were submitted again to the
// trash: no lane has to be driven for that.
func (svc *Lanes) tidyLanded(ctx context.Context, r *project.Project, merges ...*croft.Merge) error {
	if !slices.ContainsFunc(merges, func(m *croft.Merge) bool { return m.Status == croft.MergeMerged }) {
		return nil
	}
	if err := svc.Removals.RemoveMerged(context.WithoutCancel(ctx), r); err != nil {
		return err
	}
	for _, m := range merges {
		if m.Status != croft.MergeMerged {
			continue
		}
		now, err := svc.Journal.Merge(ctx, m.ID)
		if err != nil {
			return explain.WithWorkspace(m.WorkspaceName, err)
		}
		*m = now.Merge
	}
	return nil
}
