package removal

import (
	"context"
	"errors"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/actor"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
)

// RemoveMerged moves idle workspaces whose work was merged to the trash. A workspace that is in
// use, or has work that came after the merge was submitted, stays and is shown as merged.
func (svc *Removals) RemoveMerged(ctx context.Context, r *project.Project) error {
	for {
		untidy, err := svc.Journal.Untidy(ctx, r.ID)
		if err != nil || len(untidy) == 0 {
			return err
		}
		if err := svc.removeAfterMerges(ctx, r, untidy); err != nil {
			return err
		}
	}
}

// removeAfterMerges removes the workspaces of merges. Of several merges of one workspace it looks
// at the first only.
func (svc *Removals) removeAfterMerges(ctx context.Context, r *project.Project, untidy []journal.Merge) error {
	kept, seen := map[croft.ID]*croft.Error{}, map[croft.ID]bool{} // by merge, by workspace
	var all []*Leaving
	var merges []croft.ID // of all
	for _, m := range untidy {
		rec, err := svc.Journal.Record(ctx, m.Workspace)
		if err != nil || rec.Workspace.State == croft.Trashed || m.Status != croft.MergeMerged { // the latter was taken back
			kept[m.ID] = nil
			continue
		}
		if seen[m.Workspace] {
			continue
		}
		seen[m.Workspace] = true
		how := Spec{Event: croft.EventWorkspaceRemoved, Head: m.Head, Act: project.Act{ID: m.Act, Actor: actor.Of(m.Merge)}}
		all, merges = append(all, &Leaving{Record: rec, How: how, Also: func(tx *journal.Tx) error { return tidy(tx, m.ID, nil) }}), append(merges, m.ID)
	}
	svc.RemoveEach(ctx, r, all, nil)
	for i, l := range all {
		switch {
		case l.Err == nil:
		case ctx.Err() != nil:
			return l.Err
		case errors.Is(l.Err, croft.WorktreeNotFound):
			kept[merges[i]] = nil
		default:
			kept[merges[i]] = croft.AsError("merge", explain.Error("merge", l.Record.Workspace.Name, l.Err))
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		for _, m := range untidy {
			if why, ok := kept[m.ID]; ok {
				if err := tidy(tx, m.ID, why); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// tidy records that nothing more becomes of the workspace of a merge, and why it was kept if it was.
func tidy(tx *journal.Tx, id croft.ID, kept *croft.Error) error {
	m, err := tx.Merge(id)
	if err != nil {
		return err
	}
	m.Untidy, m.Kept = false, kept
	return tx.PutMerge(&m)
}
