package doctor

import (
	"context"
	"fmt"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
)

// findMovedRepository looks whether the records speak of another place than the one that the
// repository is at now.
func (d *examination) findMovedRepository(ctx context.Context) error {
	if d.r.MovedFrom == "" {
		return nil
	}
	d.reportFinding(findMoved, d.r.Path, fmt.Sprintf("The repository was at %s when it was last seen.", d.r.MovedFrom), func() error {
		return d.UnderLock(ctx, d.r, func() error { return d.Relocate(ctx, d.r) })
	})
	return nil
}

// movedWorkspace tells of a workspace that was moved, and has its record follow.
func (d *examination) movedWorkspace(ctx context.Context, rec journal.Record, to string) {
	w := rec.Workspace
	if project.IsTrashedAt(rec, to) {
		d.reportFinding(findElsewhere, w.Name, "Its directory lies in the trash, at "+to+", and no removal of it is known: an older state was put back.", nil)
		return
	}
	d.reportFinding(findElsewhere, w.Name, fmt.Sprintf("Its directory was moved from %s to %s.", w.Path, to), func() error {
		return d.UnderLock(ctx, d.r, func() error {
			if err := d.FollowTo(ctx, d.r, w.ID, to); err != nil {
				return err
			}
			return d.registerAgain(ctx, w.ID)
		})
	})
}

// registerAgain makes git know a directory again whose registration was pruned
// while it was away.
func (d *examination) registerAgain(ctx context.Context, id croft.ID) error {
	rec, err := d.Journal.Record(ctx, id)
	if err != nil || d.r.Trees.Health(project.SpecOf(rec)) != checkout.Unregistered {
		return err
	}
	w := rec.Workspace
	return d.r.Trees.At(project.SpecOf(rec)).Register(ctx, git.AddSpec{Admin: rec.Admin, Path: w.Path, Branch: w.Branch, Head: w.Base})
}
