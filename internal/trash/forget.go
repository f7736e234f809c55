package trash

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
)

// forgetStep is how much is forgotten at once: others wait meanwhile.
const forgetStep = 500

// ForgetPast lets go of what is only memory, once it is old: removed workspaces of
// which nothing is left, the history, and the events. What can be brought back
// stays, however old it is.
func (svc *Trash) ForgetPast(ctx context.Context, r *project.Project, res *croft.GCResult) error {
	before := svc.Now().Add(-time.Duration(svc.Settings.Config().History.Retention))
	past, err := svc.nothingLeft(ctx, r, before)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(past, forgetStep) {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := svc.forgetRecords(ctx, r, some)
		if res.Forgotten += n; err != nil {
			return err
		}
	}
	for more := true; more; {
		err := svc.Journal.Update(ctx, func(tx *journal.Tx) (err error) {
			more, err = tx.Forget(before, forgetStep)
			return err
		})
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
	}
	return nil
}

// nothingLeft finds the removed workspaces that cannot be restored since a time
// and that have left neither commits of their own, nor a snapshot, nor a branch.
func (svc *Trash) nothingLeft(ctx context.Context, r *project.Project, since time.Time) ([]journal.Record, error) {
	records, err := svc.Journal.Records(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	past := slices.DeleteFunc(records, func(rec journal.Record) bool {
		t := rec.Trash
		return rec.Workspace.State != croft.Trashed || t == nil || !t.Purged || !t.ExpiresAt.Before(since)
	})
	if len(past) == 0 {
		return nil, nil
	}
	held := map[croft.ID]bool{}
	for _, prefix := range []string{project.ArchiveRefs, project.SnapshotRefs} {
		pins, err := svc.Journal.Pins(ctx, r.ID, prefix)
		if err != nil {
			return nil, err
		}
		for _, p := range pins {
			id, _ := project.PinOwner(p.Ref, prefix)
			held[id] = true
		}
	}
	return slices.DeleteFunc(past, func(rec journal.Record) bool {
		return held[rec.Workspace.ID] || rec.OwnsBranch && hasBranch(ctx, r, rec)
	}), nil
}

// hasBranch reports whether there may be a branch that only the record knows to
// be Croft's.
func hasBranch(ctx context.Context, r *project.Project, rec journal.Record) bool {
	if rec.Trash.BranchGone || rec.Workspace.Branch == "" {
		return false
	}
	_, err := r.Git.ReadRef(ctx, "refs/heads/"+rec.Workspace.Branch)
	return !errors.Is(err, git.ErrNoRef)
}

// forgetRecords deletes records from the repository and then from the database,
// but for those that changed since they were read.
func (svc *Trash) forgetRecords(ctx context.Context, r *project.Project, records []journal.Record) (n int, err error) {
	var gone []croft.ID
	err = svc.UnderLock(ctx, r, func() error {
		for _, rec := range records {
			now, err := svc.Journal.Record(ctx, rec.Workspace.ID)
			if errors.Is(err, journal.ErrNotFound) || err == nil && now.Generation != rec.Generation {
				continue // the next gc sees to it
			}
			if err != nil {
				return err
			}
			gone = append(gone, rec.Workspace.ID)
		}
		if err := failpoint.Hit("forget.chosen"); err != nil {
			return err
		}
		return svc.Journal.Update(ctx, func(tx *journal.Tx) error {
			for _, id := range gone {
				if err := tx.Delete(id); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil {
		return 0, err
	}
	return len(gone), nil
}
