package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/proc"
)

// refill fills a database that took the place of one that was lost or damaged
// while this engine was at work, from the repositories that it works on.
func (e *Engine) refill(ctx context.Context, fresh *journal.Journal) error {
	e.knownMu.Lock()
	defer e.knownMu.Unlock()
	for _, r := range e.known {
		if err := fresh.Update(ctx, func(tx *journal.Tx) error {
			return tx.PutRepo(journal.Repo{ID: r.id, CommonDir: r.common, Path: r.path}, e.now())
		}); err != nil {
			return err
		}
		if _, err := e.importInto(ctx, fresh, r); err != nil {
			return err
		}
	}
	return nil
}

// Notices are what a user should be told that no call was about.
func (e *Engine) Notices() []string {
	var out []string
	for _, path := range e.journal.Aside() {
		out = append(out, fmt.Sprintf("the state database was damaged; it is kept as %s, and what it held was rebuilt from the repository", path))
	}
	e.knownMu.Lock()
	defer e.knownMu.Unlock()
	return append(out, e.notices...)
}

func (e *Engine) notice(format string, args ...any) {
	e.knownMu.Lock()
	defer e.knownMu.Unlock()
	e.notices = append(e.notices, fmt.Sprintf(format, args...))
}

// outdate prepares a database for what it has missed. If it is an older copy
// of itself, what it says of acts in progress and of leases is not true any
// more: acting on it would repeat, on workspaces that have gone on, what was
// done or taken back long ago. What is alive is left.
func (e *Engine) outdate(ctx context.Context, r *repo, seen journal.Generation) error {
	have, err := e.journal.Generation(ctx, r.id)
	if err != nil || have.Database != seen.Database || have.Number >= seen.Number {
		return err
	}
	// Its log may have been that of the newer one.
	if err := e.journal.Check(ctx); err != nil {
		return err
	}
	ops, err := e.journal.Running(ctx)
	if err != nil {
		return err
	}
	for _, op := range ops {
		if op.Repo != r.id || op.Kind == "create" { // creations are judged by their records
			continue
		}
		l, err := e.takeOver(ctx, op)
		if err != nil {
			return err
		}
		if l == nil {
			continue
		}
		err = e.end(ctx, op, journal.OpUndone, "the database was replaced by an older copy")
		if err := errors.Join(err, os.Remove(l.File().Name()), l.Unlock()); err != nil {
			return err
		}
	}
	e.notice("the state database was an older copy; what it had missed was read from the repository")
	return errors.Join(e.dropDeadLeases(ctx, r), e.emptyLanes(ctx, r))
}

// dropDeadLeases forgets leases whose owners are gone: they may have been given
// back since, and then their workspace is nobody's orphan.
func (e *Engine) dropDeadLeases(ctx context.Context, r *repo) error {
	leases, err := e.journal.Leases(ctx, r.id)
	if err != nil {
		return err
	}
	return e.journal.Update(ctx, func(tx *journal.Tx) error {
		var errs []error
		for _, list := range leases {
			for _, l := range list {
				if life(l.Owner) == proc.Dead {
					errs = append(errs, tx.DropLease(l.ID))
				}
			}
		}
		return errors.Join(errs...)
	})
}

// emptyLanes takes merges out of the queue, and lets go of workspaces that were
// to be put away after one: they may have landed since, or been called off.
func (e *Engine) emptyLanes(ctx context.Context, r *repo) error {
	untidy, err := e.journal.Untidy(ctx, r.id)
	if err != nil {
		return err
	}
	return e.journal.Update(ctx, func(tx *journal.Tx) error {
		waiting, err := tx.Waiting(r.id, "", math.MaxInt32)
		if err != nil {
			return err
		}
		for _, m := range untidy {
			m.Untidy = false
			err = errors.Join(err, tx.PutMerge(m))
		}
		for _, m := range waiting {
			m.State, m.Reason, m.EndedAt, m.Untidy = croft.MergeDone, croft.Canceled, e.now(), false
			m.Message = "the state database was replaced by an older copy, which does not know what became of it"
			m.Hint = "croft merge " + m.Workspace
			err = errors.Join(err, tx.PutMerge(m))
		}
		return err
	})
}

// importRecords takes over records that hang on refs and that the database
// does not have, or has in an older generation. It returns how many.
func (e *Engine) importRecords(ctx context.Context, r *repo) (int, error) {
	return e.importInto(ctx, e.journal, r)
}

func (e *Engine) importInto(ctx context.Context, j *journal.Journal, r *repo) (int, error) {
	if err := e.importSessions(ctx, j, r); err != nil {
		return 0, err
	}
	found, err := published(ctx, r, nil)
	if err != nil || len(found) == 0 {
		return 0, err
	}
	lanes, err := readLanes(ctx, r)
	if err != nil {
		return 0, err
	}
	// What is gone makes room for what has taken its name or place since.
	slices.SortStableFunc(found, func(a, b journal.Record) int {
		return cmp.Compare(liveness(a), liveness(b))
	})
	onRefs := map[croft.ID]bool{}
	for _, rec := range found {
		onRefs[rec.Workspace.ID] = true
	}
	imported := 0
	err = j.Update(ctx, func(tx *journal.Tx) error {
		imported = 0
		for _, rec := range found {
			have, err := tx.Record(rec.Workspace.ID)
			if err == nil && have.Generation >= rec.Generation && have.RepoID == r.id {
				continue
			}
			if taken, err := makeRoom(tx, rec, onRefs); err != nil {
				return err
			} else if taken {
				continue // the doctor tells of it
			}
			if err := errors.Join(tx.Put(rec), e.relet(tx, r, rec), tx.Emit(e.event(croft.EventWorkspaceRebuilt, rec))); err != nil {
				return err
			}
			imported++
		}
		return errors.Join(restoreOrigins(tx, found), importLanes(tx, r, lanes))
	})
	return imported, err
}

// liveness orders records: what is in the trash has neither name nor place.
func liveness(rec journal.Record) int {
	if rec.Workspace.State == croft.Trashed {
		return 0
	}
	return 1
}

// makeRoom forgets the records that have the name or the place of one that
// hangs on a ref, if they themselves do not: they are of workspaces that never
// came to be. It reports whether another one stays there.
func makeRoom(tx *journal.Tx, rec journal.Record, onRefs map[croft.ID]bool) (bool, error) {
	if rec.Workspace.State == croft.Trashed {
		return false, nil
	}
	rivals, err := tx.Rivals(rec)
	if err != nil {
		return false, err
	}
	for _, rival := range rivals {
		if rival.RepoID != rec.RepoID || onRefs[rival.Workspace.ID] {
			return true, nil
		}
		if err := tx.Delete(rival.Workspace.ID); err != nil {
			return false, err
		}
	}
	return false, nil
}

// relet gives a workspace whose git lock says that somebody holds a lease, and
// whose lease was lost, one that nobody can be asked about: whoever held it has
// the time to say so again.
func (e *Engine) relet(tx *journal.Tx, r *repo, rec journal.Record) error {
	if rec.Workspace.State == croft.Trashed {
		return nil
	}
	if reason, _, err := r.trees.At(specOf(rec)).LockReason(); err != nil || reason != leaseLock {
		return nil
	}
	if have, err := tx.LeasesOf(rec.Workspace.ID); err != nil || len(have) > 0 {
		return err
	}
	return tx.PutLease(croft.Lease{ID: newID(), Workspace: rec.Workspace.ID, ExpiresAt: e.expiry(r)})
}

// restoreOrigins writes the creations down again that records tell of, with
// their keys: the same call is answered with the same workspaces as before.
func restoreOrigins(tx *journal.Tx, records []journal.Record) error {
	made := map[croft.ID][]journal.Record{}
	for _, rec := range records {
		if rec.Origin != nil {
			made[rec.Origin.Operation] = append(made[rec.Origin.Operation], rec)
		}
	}
	for id, parts := range made {
		slices.SortFunc(parts, func(a, b journal.Record) int { return cmp.Compare(a.Origin.Part, b.Origin.Part) })
		origin := parts[0].Origin
		if _, err := tx.Operation(id); !errors.Is(err, journal.ErrNotFound) || len(parts) != origin.Parts {
			if err != nil && !errors.Is(err, journal.ErrNotFound) {
				return err
			}
			continue
		}
		op := journal.Operation{
			ID: id, Act: origin.Act, Undoes: origin.Undoes, Kind: "create", Actor: origin.Actor, Repo: parts[0].RepoID,
			Input: json.RawMessage("{}"), StartedAt: origin.StartedAt,
		}
		for _, rec := range parts {
			op.Workspaces, op.Names = append(op.Workspaces, rec.Workspace.ID), append(op.Names, rec.Workspace.Name)
		}
		if err := errors.Join(tx.Begin(op), tx.End(id, journal.OpDone, "", origin.StartedAt)); err != nil {
			return err
		}
		if origin.Key == "" {
			continue
		}
		if _, err := tx.FindKey(op.Repo, "create", origin.Key); errors.Is(err, journal.ErrNotFound) {
			err := tx.PutKey(journal.Key{Repo: op.Repo, Verb: "create", Key: origin.Key, Request: origin.Request, Operation: id})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// damaged tells of databases that were set aside. What they held is back; they
// are kept for a while, for whoever wants to know why.
func (d *doctor) damaged(ctx context.Context) error {
	if err := d.journal.Check(ctx); err != nil {
		return err
	}
	list, err := journal.Damaged(d.set.Config().StateDir)
	for _, path := range list {
		d.findings = append(d.findings, croft.Finding{
			Code: findDamaged, Subject: path, Fixed: true,
			Message: "The database was damaged and was set aside here; what it held was rebuilt from the repository. The file is not needed any more.",
		})
	}
	return err
}

// sweepDamaged deletes databases that were set aside longer ago than removed
// workspaces are kept.
func (e *Engine) sweepDamaged() {
	cfg := e.set.Config()
	list, _ := journal.Damaged(cfg.StateDir)
	for _, path := range list {
		// Set aside means renamed, so the time in the name counts, not the file's.
		var stamp int64
		_, err := fmt.Sscanf(filepath.Base(path), journal.FileName+".damaged-%d", &stamp)
		if err != nil || e.now().Sub(time.Unix(0, stamp)) < time.Duration(cfg.Trash.Retention) {
			continue
		}
		for _, suffix := range []string{"-wal", "-shm", ""} {
			_ = os.Remove(path + suffix)
		}
	}
}
