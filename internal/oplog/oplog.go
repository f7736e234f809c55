// Package oplog is the protocol of an act that must survive the death of its
// process: a creation, a removal, a publication.
//
// Such an act is an operation. It is
//
//	open      its process holds a lock; nothing is recorded or changed
//	running   the journal says what is to be done, and for which workspaces
//	done      what was to be done is done
//	undone    nothing of it is left; the journal says why
//
// in this order: Open, Write, and EndDone or EndUndone, often in the transaction that
// changes the records. Amend replaces what a running operation is to do.
//
// The lock is a kernel's lock on a file named after the operation. The git
// processes of the operation inherit it, so it is held as long as any of them
// lives. An operation that is running though no process holds its lock belongs to a
// process that died. Recover takes that lock and calls the Recoverer of its kind,
// which finishes the operation or rolls it back; it may find any step done or not
// done. An operation of another machine is left alone: locks are not seen from
// here. One that can be neither finished nor rolled back now is unsettled: it
// stays running, and only what concerns the same workspaces waits for it.
//
// The package owns the files ops/*.lock in the state directory and the table of
// operations in the journal. It changes nothing else.
package oplog

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/journal"
)

// ErrUnsettled is wrapped by a Recoverer's error if the operation can be neither
// finished nor rolled back now, and no other act depends on it.
var ErrUnsettled = errors.New("the next command tries again")

// Recoverer finishes or rolls back an operation whose process died, and ends it.
type Recoverer[P any] func(ctx context.Context, project P, op *Op) error

// Options has the functions and settings that a Log needs of its host. All are
// required.
type Options[P any] struct {
	Journal *journal.Journal
	Dir     string           // of the lock files
	Now     func() time.Time // the clock
	Self    croft.Owner      // this process
	IsDead  func(croft.Owner) bool
	// Project opens the project of an operation. It is called without a lock.
	Project func(ctx context.Context, id croft.ID) (P, error)
	// Why says in one line why an operation could not be settled.
	Why func(error) string
}

// Log opens, recovers and waits for operations. P is the type of a project.
type Log[P any] struct {
	Options[P]
	recoverers map[string]Recoverer[P]
	own        sync.Map // the IDs of the operations that this Log opened
	unsettled  sync.Map // by ID, why operations of other processes could not be settled
}

// New returns a Log with a Recoverer for every kind of operation.
func New[P any](opts Options[P], recoverers map[string]Recoverer[P]) *Log[P] {
	return &Log[P]{Options: opts, recoverers: recoverers}
}

// Op is an operation that this process carries out, or recovers.
type Op struct {
	journal.Operation
	journal *journal.Journal
	now     func() time.Time
	lock    *flock.Lock // nil: it is recovered, under the lock of the recovery
	closed  func()
}

// Open takes the lock of a new operation. op has an ID, a kind, an act, an actor and a
// project; the operation is not in the journal yet.
func (l *Log[P]) Open(op journal.Operation) (*Op, error) {
	op.Owner, op.StartedAt, op.Input = l.Self, l.Now(), json.RawMessage("{}")
	path := l.LockPath(string(op.ID))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	lock, err := flock.Try(path)
	if err != nil {
		return nil, err
	}
	l.own.Store(op.ID, true)
	return &Op{Operation: op, journal: l.Journal, now: l.Now, lock: lock, closed: func() { l.own.Delete(op.ID) }}, nil
}

// LockPath returns the lock file of an operation, or of something else that lasts as
// long as its process.
func (l *Log[P]) LockPath(name string) string { return filepath.Join(l.Dir, name+".lock") }

// IsRecovered reports whether another process began the operation and died. Any
// step may have been done.
func (op *Op) IsRecovered() bool { return op.lock == nil }

// InheritedFiles returns the files that the operation's child processes inherit: its
// lock, or none if it is recovered.
func (op *Op) InheritedFiles() []*os.File {
	if op.lock == nil {
		return nil
	}
	return []*os.File{op.lock.ForChild()}
}

// Write records in the journal that the operation is running and what it is to do, in
// one transaction with also, which may be nil. If also fails, the operation is not
// running.
func (op *Op) Write(ctx context.Context, input any, also func(*journal.Tx) error) error {
	return op.write(ctx, input, also, func(tx *journal.Tx) error { return tx.Begin(op.Operation) })
}

// Amend replaces the recorded input of a running operation, in one transaction with
// also, which may be nil.
func (op *Op) Amend(ctx context.Context, input any, also func(*journal.Tx) error) error {
	return op.write(ctx, input, also, func(tx *journal.Tx) error { return tx.Amend(op.Operation) })
}

// WriteIn is Write in a transaction of the caller.
func (op *Op) WriteIn(tx *journal.Tx, input any) (err error) {
	if op.Input, err = json.Marshal(input); err != nil {
		return err
	}
	return tx.Begin(op.Operation)
}

func (op *Op) write(ctx context.Context, input any, also, record func(*journal.Tx) error) (err error) {
	if input != nil {
		if op.Input, err = json.Marshal(input); err != nil {
			return err
		}
	}
	return op.journal.Update(ctx, func(tx *journal.Tx) error {
		if also != nil {
			if err := also(tx); err != nil {
				return err
			}
		}
		return record(tx)
	})
}

// EndIn ends the operation within a transaction.
func (op *Op) EndIn(tx *journal.Tx, state journal.OpState, reason string) error {
	return tx.End(op.ID, state, reason, op.now())
}

// EndDone ends an operation that did what it was to do.
func (op *Op) EndDone(ctx context.Context) error { return op.end(ctx, journal.OpDone, "") }

// EndUndone ends an operation of which nothing is left, and records the reason.
func (op *Op) EndUndone(ctx context.Context, reason string) error {
	return op.end(ctx, journal.OpUndone, reason)
}

// EndFailed ends an operation that failed and of which nothing is left. It returns
// cause.
func (op *Op) EndFailed(ctx context.Context, cause error) error {
	return errors.Join(cause, op.EndUndone(ctx, cause.Error()))
}

func (op *Op) end(ctx context.Context, state journal.OpState, reason string) error {
	return op.journal.Update(ctx, func(tx *journal.Tx) error { return op.EndIn(tx, state, reason) })
}

// Close releases the operation's lock. It deletes the lock file while it is locked: a
// process that has just opened it finds it unlocked, and the operation ended.
func (op *Op) Close() {
	removeFile(op.lock)
	op.closed()
}

func removeFile(l *flock.Lock) {
	_ = os.Remove(l.File().Name())
	_ = l.Unlock()
}
