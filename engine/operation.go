package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/oplog"
	"github.com/croft-sh/croft/internal/proc"
)

// act is one call, which may consist of several operations.
type act struct {
	id     croft.ID
	undoes croft.ID // the act that it takes back
	actor  string   // who acted; empty: whoever acts through this engine
}

func newAct() act { return act{id: newID()} }

// begin opens an operation; it is not written down yet.
func (e *Engine) begin(a act, kind string, r *repo) (*oplog.Op, error) {
	if kind != "remove" && r.git != nil { // what is in the way can always go
		if err := r.git.CheckConfig(); err != nil {
			return nil, err
		}
	}
	return e.ops.Open(journal.Operation{
		ID: newID(), Act: a.id, Undoes: a.undoes, Kind: kind, Actor: cmp.Or(a.actor, e.actor()), Repo: r.id,
	})
}

// newOplog makes the engine's log of operations: each kind has the function that
// finishes or rolls it back if its process dies.
func (e *Engine) newOplog() *oplog.Log[*repo] {
	settle := func(f oplog.Recoverer[*repo]) oplog.Recoverer[*repo] {
		return func(ctx context.Context, r *repo, op *oplog.Op) error {
			if r.git != nil {
				if err := r.git.Sweep(ctx); err != nil {
					return err
				}
			}
			return f(ctx, r, op)
		}
	}
	return oplog.New(oplog.Options[*repo]{
		Journal: e.journal, Dir: filepath.Join(e.set.Config().StateDir, "ops"), Now: e.now, Self: self(),
		IsDead:  func(o croft.Owner) bool { return life(o) == proc.Dead },
		Project: e.formerRepo, Why: whyUnsettled,
	}, map[string]oplog.Recoverer[*repo]{
		"create":  settle(e.recoverCreate),
		"remove":  settle(e.recoverRemove),
		"restore": settle(e.recoverRestore),
		"rewind":  settle(e.recoverRewind),
		"publish": settle(e.recoverPublish),
		"resolve": settle(e.recoverResolve),
	})
}

// formerRepo is the repository of an operation, or what is left of one whose place
// was taken by another.
func (e *Engine) formerRepo(ctx context.Context, id croft.ID) (*repo, error) {
	r, err := e.repoByID(ctx, id)
	if errors.Is(err, journal.ErrNotFound) {
		return &repo{id: id}, nil
	}
	return r, err
}

// takeBack undoes a creation that failed and returns the failure. If that
// does not succeed either, the operation stays in the journal, and the next
// process tries again.
func (e *Engine) takeBack(ctx context.Context, r *repo, op *oplog.Op, plans []*plan, cause error) error {
	ctx = context.WithoutCancel(ctx)
	records := make([]journal.Record, len(plans))
	for i, p := range plans {
		records[i] = p.record
	}
	if err := e.undoCreate(ctx, r, op.ID, records, explain.Error("create", "", cause).Error()); err != nil {
		return &croft.Error{
			Code: croft.CleanupFailed, Op: "create", Message: "what had been begun could not be taken back", Details: err.Error(),
			Hint: "croft doctor --fix", Err: cause,
		}
	}
	return cause
}

// undoCreate removes everything that a creation made: directories that are
// provably its own, registrations, refs that are still where it put them, and
// the records.
func (e *Engine) undoCreate(ctx context.Context, r *repo, op croft.ID, records []journal.Record, reason string) error {
	if r.git != nil {
		if err := e.undoGit(ctx, r, records); err != nil {
			return err
		}
	}
	return e.journal.Update(ctx, func(tx *journal.Tx) error {
		for _, rec := range records {
			if err := tx.Delete(rec.Workspace.ID); err != nil {
				return err
			}
		}
		if err := tx.DropKey(op); err != nil {
			return err
		}
		return tx.End(op, journal.OpUndone, reason, e.now())
	})
}

func (e *Engine) undoGit(ctx context.Context, r *repo, records []journal.Record) error {
	l, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer l.Unlock()
	var errs []error
	for _, rec := range records {
		w := rec.Workspace
		if w.Mode == croft.ModeLegacy {
			continue
		}
		if err := r.trees.Discard(specOf(rec)); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", w.Path, err))
			continue
		}
		if rec.BaseDir != "" && rec.BaseDir != filepath.Dir(r.path) {
			removeEmpty(rec.BaseDir)
		}
		if err := failpoint.Hit("undo.discarded"); err != nil {
			return err
		}
		errs = append(errs, undoRefs(ctx, r, rec))
	}
	return errors.Join(errs...)
}

// undoRefs deletes the refs of a workspace that never was. The branch goes
// only if it still points at the base: then nobody worked on it.
func undoRefs(ctx context.Context, r *repo, rec journal.Record) error {
	w := rec.Workspace
	names := []string{heldRef(w.ID)}
	if rec.OwnsBranch {
		// A branch of the same name that was there before would have stopped
		// the transaction that makes both, so it is ours only with the pin.
		if _, err := r.git.ReadRef(ctx, baseRef(w.ID)); err == nil {
			names = append(names, "refs/heads/"+w.Branch)
		} else if _, err := r.git.ReadRef(ctx, "refs/heads/"+w.Branch); errors.Is(err, git.ErrNoRef) {
			r.git.DropRemains(w.CreatedAt, "refs/heads/"+w.Branch)
		}
	}
	names = append(names, baseRef(w.ID)) // last, for the same reason as it was made first
	r.git.DropRemains(w.CreatedAt, names...)
	var updates []git.RefUpdate
	for _, name := range names {
		oid, err := r.git.ReadRef(ctx, name)
		if errors.Is(err, git.ErrNoRef) {
			continue
		}
		if err != nil {
			return err
		}
		if name == "refs/heads/"+w.Branch && oid != w.Base {
			continue
		}
		updates = append(updates, git.RefUpdate{Ref: name, Old: oid})
	}
	return r.git.UpdateRefs(ctx, updates...)
}

// recover finishes or takes back the operations of a repository whose owner has
// died. It never touches one that is alive or that another process is
// recovering. What was begun in other repositories is for those who work there,
// and for gc.
func (e *Engine) recover(ctx context.Context, repo croft.ID) error {
	r := e.opened(repo)
	if r != nil && r.git != nil {
		if err := r.git.Sweep(ctx); err != nil {
			return err
		}
	}
	if err := e.ops.RecoverAt(ctx, repo); err != nil {
		return err
	}
	if r != nil && r.git != nil {
		e.sweepDrafts(ctx, r)
		if err := e.sweepKept(ctx, r); err != nil {
			return err
		}
	}
	return e.recoverRounds(ctx, repo)
}

// recoverElsewhere recovers what was begun in any repository.
func (e *Engine) recoverElsewhere(ctx context.Context, repo croft.ID) error {
	if err := e.ops.RecoverEverywhere(ctx, repo); err != nil {
		return err
	}
	return e.recoverRounds(ctx, "")
}

// sweepKept removes locks on checkouts that were left to whoever finishes a
// publication, if none is left to be finished.
func (e *Engine) sweepKept(ctx context.Context, r *repo) error {
	ops, err := e.journal.RunningAt(ctx, r.id)
	if err != nil || slices.ContainsFunc(ops, func(op journal.Operation) bool { return op.Kind == "publish" }) {
		return err
	}
	return r.git.SweepKept(ctx)
}

// recoverCreate takes back a creation: until it was done, nobody was told of
// the workspaces.
func (e *Engine) recoverCreate(ctx context.Context, r *repo, op *oplog.Op) error {
	var records []journal.Record
	for _, id := range op.Workspaces {
		rec, err := e.journal.Record(ctx, id)
		if errors.Is(err, journal.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if rec.Workspace.State != croft.Creating {
			return op.Done(ctx)
		}
		records = append(records, rec)
	}
	if len(records) > 0 && e.wereHandedOut(r, records) {
		return e.finishCreate(ctx, r, op, records)
	}
	if r.common != "" {
		if _, err := os.Stat(r.common); errors.Is(err, os.ErrNotExist) {
			r = &repo{id: r.id, path: r.path} // the repository is gone, and with it all that was begun
		}
	}
	if err := e.undoCreate(ctx, r, op.ID, records, "its process died"); err != nil {
		return err
	}
	return e.journal.Update(ctx, func(tx *journal.Tx) error {
		return tx.Emit(croft.Event{Time: e.now(), Kind: croft.EventOperationUndone, Repo: r.id})
	})
}

// wereHandedOut reports whether workspaces were made to the end: all of them lie
// where they belong, without the lock that they are born with. A state that was
// put back from a backup may not know it; taking them back would delete work.
func (e *Engine) wereHandedOut(r *repo, records []journal.Record) bool {
	return r.git != nil && !slices.ContainsFunc(records, func(rec journal.Record) bool {
		if rec.Workspace.Mode == croft.ModeLegacy || r.trees.Health(specOf(rec)) != checkout.Intact {
			return true
		}
		return !r.trees.IsBorn(specOf(rec))
	})
}

// finishCreate writes down that workspaces are there. Which role files they were
// given was not written down; one that is not there is not missed.
func (e *Engine) finishCreate(ctx context.Context, r *repo, op *oplog.Op, records []journal.Record) error {
	for i, rec := range records {
		if role, err := r.roles().Find(rec.Workspace.Role); rec.Workspace.Role != "" && err == nil {
			records[i].RoleFiles = role.Files
		}
	}
	return e.journal.Update(ctx, func(tx *journal.Tx) error {
		for _, rec := range records {
			rec.Workspace.State, rec.Maker = croft.Ready, nil
			rec.Generation++
			if err := errors.Join(tx.Put(rec), tx.Emit(e.event(croft.EventWorkspaceCreated, rec))); err != nil {
				return err
			}
		}
		return tx.End(op.ID, journal.OpDone, "", e.now())
	})
}

// repoByID opens a repository that was seen before.
func (e *Engine) repoByID(ctx context.Context, id croft.ID) (*repo, error) {
	if r := e.opened(id); r != nil && r.isThere() {
		return r, nil
	}
	known, err := e.journal.Repo(ctx, id)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(known.CommonDir); err != nil {
		return &repo{id: id, path: known.Path, common: known.CommonDir}, nil
	}
	s, err := e.standing(ctx, known.CommonDir)
	return s.repo, err
}
