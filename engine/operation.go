package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/proc"
)

// childrenDie is how long the git processes of a killed Croft may take to end.
// On Linux the kernel kills them with it.
const childrenDie = 5 * time.Second

// operation is an act of this process. It holds a kernel lock that its git
// children inherit: as long as any of them lives, nobody takes it back.
type operation struct {
	journal.Operation
	lock *flock.Lock
	over func() // takes it off the list of this engine's own; nil: it is on none
}

// act is one call, which may consist of several operations.
type act struct {
	id     croft.ID
	undoes croft.ID // the act that it takes back
	actor  string   // who acted; empty: whoever acts through this engine
}

func newAct() act { return act{id: newID()} }

// begin prepares an operation; it is not written down yet.
func (e *Engine) begin(a act, kind string, r *repo) (*operation, error) {
	if kind != "remove" && r.git != nil { // what is in the way can always go
		if err := r.git.CheckConfig(); err != nil {
			return nil, err
		}
	}
	op := &operation{Operation: journal.Operation{
		ID: newID(), Act: a.id, Undoes: a.undoes, Kind: kind, Actor: cmp.Or(a.actor, e.actor()), Repo: r.id, Input: json.RawMessage("{}"), Owner: self(), StartedAt: e.now(),
	}}
	path := e.opLock(op.ID)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	var err error
	if op.lock, err = flock.Try(path); err != nil {
		return nil, err
	}
	e.own.Store(op.ID, true)
	op.over = func() { e.own.Delete(op.ID) }
	return op, nil
}

func (e *Engine) opLock(id croft.ID) string {
	return filepath.Join(e.set.Config().StateDir, "ops", string(id)+".lock")
}

// inherit is what the operation's processes keep open.
func (op *operation) inherit() []*os.File {
	if op.lock == nil { // it is being recovered, under the lock of recovery
		return nil
	}
	return []*os.File{op.lock.File()}
}

// close lets go of the operation. The file goes first, while it is locked: a
// process that has just opened it finds it unlocked but ended in the journal.
func (op *operation) close() {
	_ = os.Remove(op.lock.File().Name())
	_ = op.lock.Unlock()
	if op.over != nil {
		op.over()
	}
}

// takeBack undoes a creation that failed and returns the failure. If that
// does not succeed either, the operation stays in the journal, and the next
// process tries again.
func (e *Engine) takeBack(ctx context.Context, r *repo, op *operation, plans []*plan, cause error) error {
	ctx = context.WithoutCancel(ctx)
	records := make([]journal.Record, len(plans))
	for i, p := range plans {
		records[i] = p.record
	}
	if err := e.undoCreate(ctx, r, op.Operation, records, cause.Error()); err != nil {
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
func (e *Engine) undoCreate(ctx context.Context, r *repo, op journal.Operation, records []journal.Record, reason string) error {
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
		if err := tx.DropKey(op.ID); err != nil {
			return err
		}
		return tx.End(op.ID, journal.OpUndone, reason, e.now())
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
	ops, err := e.journal.RunningAt(ctx, repo)
	if err != nil {
		return err
	}
	if err := e.recoverAll(ctx, ops, repo); err != nil {
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

// recoverAll recovers operations. One that cannot be is an error only if it is of
// the repository at hand.
func (e *Engine) recoverAll(ctx context.Context, ops []journal.Operation, repo croft.ID) error {
	for _, op := range ops {
		if _, isOwn := e.own.Load(op.ID); isOwn {
			continue // another goroutine is at it
		}
		err := e.recoverOne(ctx, op)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		// A workspace that cannot be brought back to a snapshot now is nobody's to use
		// until it is, and no other act depends on it.
		if errors.Is(err, errUnsettled) {
			e.unsettled.Store(op.ID, err)
			e.noteUnsettled(ctx, op, err)
			continue
		}
		e.unsettled.Delete(op.ID)
		if err != nil && op.Repo == repo {
			return &croft.Error{
				Code: croft.CleanupFailed, Op: "recover", Message: fmt.Sprintf("an interrupted %s could not be taken back", op.Kind),
				Hint: "croft doctor --fix", Err: err,
			}
		}
	}
	return nil
}

// recoverElsewhere recovers what was begun in any repository: one to which
// nobody comes back would be left as it is.
func (e *Engine) recoverElsewhere(ctx context.Context, repo croft.ID) error {
	ops, err := e.journal.Running(ctx)
	if err != nil {
		return err
	}
	if err := e.recoverAll(ctx, ops, repo); err != nil {
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

func (e *Engine) recoverOne(ctx context.Context, op journal.Operation) error {
	l, err := e.takeOver(ctx, op)
	if l == nil || err != nil {
		return err
	}
	// Opening the repository may show that the database is an older copy, and
	// end the operation, so it does not happen under the lock.
	_ = l.Unlock()
	r, err := e.repoByID(ctx, op.Repo)
	if errors.Is(err, journal.ErrNotFound) {
		r, err = &repo{id: op.Repo}, nil // its place was taken by another repository
	}
	if err != nil {
		return err
	}
	return e.recoverHeld(ctx, op, func() error {
		if r.git != nil {
			if err := r.git.Sweep(ctx); err != nil {
				return err
			}
		}
		switch op.Kind {
		case "create":
			return e.recoverCreate(ctx, r, op)
		case "remove":
			return e.recoverRemove(ctx, r, op)
		case "restore":
			return e.recoverRestore(ctx, r, op)
		case "rewind":
			return e.recoverRewind(ctx, r, op)
		case "publish":
			return e.recoverPublish(ctx, r, op)
		case "resolve":
			return e.recoverResolve(ctx, r, op)
		}
		return fmt.Errorf("unknown operation %q", op.Kind)
	})
}

// recoverHeld calls f under the lock of an operation that nobody is at any
// more, if it has not ended meanwhile.
func (e *Engine) recoverHeld(ctx context.Context, op journal.Operation, f func() error) error {
	l, err := e.takeOver(ctx, op)
	if l == nil || err != nil {
		return err
	}
	defer func() {
		_ = os.Remove(l.File().Name())
		_ = l.Unlock()
	}()
	if now, err := e.journal.Operation(ctx, op.ID); err != nil || now.State != journal.OpRunning {
		return err
	}
	return f()
}

// takeOver takes the lock of an operation that nobody is at any more. It
// returns no lock for one that is alive, and for one of another machine, whose
// locks cannot be seen from here.
func (e *Engine) takeOver(ctx context.Context, op journal.Operation) (*flock.Lock, error) {
	if op.Owner.Host != proc.Here().Host {
		return nil, nil
	}
	path := e.opLock(op.ID)
	if !fsx.IsThere(path) {
		// The owner has let go of it and could not end it, or the state directory
		// was deleted while the owner was at work.
		if op.Owner != self() && life(op.Owner) != proc.Dead {
			return nil, nil
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
	}
	l, err := flock.Try(path)
	if !errors.Is(err, flock.ErrHeld) {
		return l, err
	}
	if life(op.Owner) != proc.Dead {
		return nil, nil
	}
	// The owner is dead and its children are not yet: they get a moment. If
	// they do not end, the operation is left for later.
	ctx, cancel := context.WithTimeout(ctx, childrenDie)
	defer cancel()
	l, err = flock.Acquire(ctx, path)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, nil
	}
	return l, err
}

// recoverCreate takes back a creation: until it was done, nobody was told of
// the workspaces.
func (e *Engine) recoverCreate(ctx context.Context, r *repo, op journal.Operation) error {
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
			return e.end(ctx, op, journal.OpDone, "")
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
	if err := e.undoCreate(ctx, r, op, records, "its process died"); err != nil {
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
func (e *Engine) finishCreate(ctx context.Context, r *repo, op journal.Operation, records []journal.Record) error {
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
