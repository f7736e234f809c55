package oplog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/journal"
)

const (
	// childrenDie is how long the git processes of a killed Croft may take to end. On
	// Linux the kernel kills them together with Croft.
	childrenDie = 5 * time.Second
	// openTime is more than enough to make an operation's lock file and lock it.
	openTime = time.Minute
	// awaitPoll is how often Await looks whether the operation's process has died.
	awaitPoll = 200 * time.Millisecond
)

// RecoverAt recovers the operations of one project. It fails if one cannot be
// recovered, unless that is unsettled.
func (l *Log[P]) RecoverAt(ctx context.Context, project croft.ID) error {
	ops, err := l.Journal.RunningAt(ctx, project)
	if err != nil {
		return err
	}
	return l.recoverAll(ctx, ops, project)
}

// RecoverEverywhere recovers the operations of all projects: RecoverAt would never be
// called for a project that the user does not open again. It fails only for an
// operation of the given project that cannot be recovered.
func (l *Log[P]) RecoverEverywhere(ctx context.Context, project croft.ID) error {
	ops, err := l.Journal.Running(ctx)
	if err != nil {
		return err
	}
	return l.recoverAll(ctx, ops, project)
}

func (l *Log[P]) recoverAll(ctx context.Context, ops []journal.Operation, project croft.ID) error {
	for _, op := range ops {
		if _, isOwn := l.own.Load(op.ID); isOwn {
			continue // another goroutine carries it out
		}
		err := l.Recover(ctx, op)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, ErrUnsettled) {
			l.unsettled.Store(op.ID, err)
			continue
		}
		l.unsettled.Delete(op.ID)
		if err != nil && op.Repo == project {
			return &croft.Error{
				Code: croft.CleanupFailed, Op: "recover", Message: fmt.Sprintf("an interrupted %s could not be rolled back", op.Kind),
				Hint: "croft doctor --fix", Err: err,
			}
		}
	}
	return nil
}

// Recover recovers an operation whose process died. If it stays unsettled, Recover
// writes the reason to the journal.
func (l *Log[P]) Recover(ctx context.Context, op journal.Operation) error {
	lock, err := l.TakeOver(ctx, op)
	if lock == nil || err != nil {
		return err
	}
	// Opening the project may show that the database is an older copy, and end the
	// operation, so the lock is not held meanwhile.
	_ = lock.Unlock()
	project, err := l.Project(ctx, op.Repo)
	if err != nil {
		return err
	}
	settle := l.recoverers[op.Kind]
	if settle == nil {
		return fmt.Errorf("unknown operation %q", op.Kind)
	}
	err = l.RecoverWith(ctx, op, func(op *Op) error { return settle(ctx, project, op) })
	if errors.Is(err, ErrUnsettled) && ctx.Err() == nil {
		if why := l.Why(err); why != op.Error {
			_ = l.Journal.Update(ctx, func(tx *journal.Tx) error { return tx.NoteError(op.ID, why) })
		}
	}
	return err
}

// RecoverWith takes the lock of an operation whose process died, and calls settle if the
// journal still has the operation as running. It does nothing if TakeOver returns no lock.
func (l *Log[P]) RecoverWith(ctx context.Context, op journal.Operation, settle func(*Op) error) error {
	lock, err := l.TakeOver(ctx, op)
	if lock == nil || err != nil {
		return err
	}
	defer removeFile(lock)
	if now, err := l.Journal.Operation(ctx, op.ID); err != nil || now.State != journal.OpRunning {
		return err
	}
	return settle(&Op{Operation: op, journal: l.Journal, now: l.Now})
}

// TakeOver takes the lock of an operation whose process died. It returns no lock if the
// process is alive, or is on another machine.
func (l *Log[P]) TakeOver(ctx context.Context, op journal.Operation) (*flock.Lock, error) {
	if op.Owner.Host != l.Self.Host {
		return nil, nil
	}
	path := l.LockPath(string(op.ID))
	if !fsx.IsThere(path) {
		// The process closed the operation and could not end it, or the state directory
		// was deleted while the process was at work.
		if op.Owner != l.Self && !l.IsDead(op.Owner) {
			return nil, nil
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
	}
	lock, err := flock.Try(path)
	if !errors.Is(err, flock.ErrHeld) {
		return lock, err
	}
	if !l.IsDead(op.Owner) {
		return nil, nil
	}
	// The process is dead, but its children are not yet. If they do not end in time,
	// the operation is left for later.
	ctx, cancel := context.WithTimeout(ctx, childrenDie)
	defer cancel()
	lock, err = flock.Acquire(ctx, path)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, nil
	}
	return lock, err
}

// Await waits until an operation has ended, by its process or, if that died, by
// recoverAt. It fails if the operation is unsettled.
func (l *Log[P]) Await(ctx context.Context, id croft.ID, recoverAt func(context.Context, croft.ID) error) (journal.Operation, error) {
	watch := l.Journal.Watch()
	defer watch.End()
	for {
		changed := watch.Changed()
		op, err := l.Journal.Operation(ctx, id)
		if err != nil || op.State != journal.OpRunning {
			return op, err
		}
		if err := recoverAt(ctx, op.Repo); err != nil {
			return op, err
		}
		if cause, is := l.unsettled.Load(id); is {
			return op, l.unsettledError(op, cause.(error))
		}
		select {
		case <-ctx.Done():
			return op, ctx.Err()
		case <-changed:
		case <-time.After(awaitPoll):
		}
	}
}

func (l *Log[P]) unsettledError(op journal.Operation, cause error) error {
	return &croft.Error{
		Code: croft.WorkspaceBusy, Workspace: strings.Join(op.Names, " "), Message: fmt.Sprintf("an interrupted %s could be neither finished nor rolled back", op.Kind),
		Details: l.Why(cause), Hint: "croft doctor --fix, once no process writes there",
	}
}

// SweepLocks deletes the lock files of processes that died just before their operation
// was recorded in the journal, or just after it had ended. It leaves the files for
// which keeps returns true. A file that cannot be deleted is left to the next call.
func (l *Log[P]) SweepLocks(ctx context.Context, keeps func(name string, size int64) bool) {
	entries, _ := os.ReadDir(l.Dir)
	for _, entry := range entries {
		id, ok := strings.CutSuffix(entry.Name(), ".lock")
		info, err := entry.Info()
		if !ok || err != nil || keeps(id, info.Size()) || time.Since(info.ModTime()) < openTime {
			continue
		}
		if op, err := l.Journal.Operation(ctx, croft.ID(id)); err == nil && op.State == journal.OpRunning {
			continue
		}
		if lock, err := flock.TryExisting(l.LockPath(id)); err == nil {
			removeFile(lock)
		}
	}
}
