// Package flock takes kernel locks on files. Such a lock dies with its owner,
// so no process has to guess whether it is stale. On systems where a lock
// belongs to the open file, a child process that inherits the descriptor keeps
// the lock alive until it has ended too.
//
// A process that can open a file for reading can lock it. So a lock file can only be
// written: an agent that may read everything, and write elsewhere, cannot hold
// Croft's locks.
package flock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"
)

// ErrHeld says that another process, or another part of this one, holds the lock.
var ErrHeld = errors.New("lock is held")

// mode says who else may hold a lock at the same time: none, or others that
// share it too.
type mode int

const (
	exclusive mode = iota
	shared
)

// Lock is a lock that is held.
type Lock struct {
	f         *os.File
	queue     *Queue      // nil: it was not taken through a queue
	inherited atomic.Bool // a child process may have it
}

// Try takes the lock on path, which is created if it is not there, or returns
// ErrHeld.
func Try(path string) (*Lock, error) { return try(path, exclusive) }

// TryShared takes a share of the lock on an existing file, or returns ErrHeld.
func TryShared(path string) (*Lock, error) { return open(path, 0, 0, shared) }

func try(path string, m mode) (*Lock, error) { return open(path, os.O_CREATE, 0o200, m) }

// open takes the lock on a file that it opens with a flag, and makes with a mode.
func open(path string, flag int, perm os.FileMode, m mode) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|flag, perm)
	if err != nil {
		return nil, err
	}
	if err := tryLock(f, m); err != nil {
		_ = f.Close()
		return nil, err
	}
	return &Lock{f: f}, nil
}

// TryExisting takes the lock on an existing file, or returns ErrHeld. It fails with
// os.ErrNotExist if there is no file, also if its owner has removed it meanwhile.
func TryExisting(path string) (*Lock, error) {
	l, err := open(path, 0, 0, exclusive)
	if err != nil {
		return nil, err
	}
	if !l.IsAt(path) {
		_ = l.Unlock()
		return nil, &os.PathError{Op: "lock", Path: path, Err: os.ErrNotExist}
	}
	return l, nil
}

// New takes the lock on a path that only this caller uses, but whose file another process
// may take for one of a dead process and remove. It returns once the file at
// the path is the one that is locked. Such a file can be read: it may say what it
// is for.
func New(path string) (*Lock, error) {
	for range 1000 {
		l, err := open(path, os.O_CREATE, 0o600, exclusive)
		switch {
		case err == nil && l.IsAt(path):
			return l, nil
		case err == nil:
			_ = l.Unlock()
		case !errors.Is(err, ErrHeld):
			return nil, err
		}
		time.Sleep(time.Millisecond)
	}
	return nil, fmt.Errorf("%s: %w", path, ErrHeld) // or a file system that cannot tell files apart
}

// IsAt reports whether the locked file is the one at a path.
func (l *Lock) IsAt(path string) bool {
	mine, err := l.f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(mine, there)
}

// patience is how long a process waits for a lock if its context sets no earlier
// end. Nothing that Croft does under a lock that others wait for takes as long.
const patience = 10 * time.Minute

// HeldError says that a lock was held for longer than a process waits.
type HeldError struct {
	Path   string
	Holder string // the process that holds it, as far as that can be seen
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("waited %v for the lock %s, which is held by %s", patience, e.Path, cmp.Or(e.Holder, "a process that cannot be seen"))
}

// Unwrap makes it an [ErrHeld].
func (e *HeldError) Unwrap() error { return ErrHeld }

// Acquire waits for the lock on path until the context ends, but not for ever.
func Acquire(ctx context.Context, path string) (*Lock, error) {
	return acquire(ctx, path, exclusive, patience)
}

// AcquireShared waits for a share of the lock on path until the context ends.
// An exclusive lock keeps out those that share it, and they keep out an exclusive one.
func AcquireShared(ctx context.Context, path string) (*Lock, error) {
	return acquire(ctx, path, shared, patience)
}

func acquire(ctx context.Context, path string, m mode, patience time.Duration) (*Lock, error) {
	deadline := time.Now().Add(patience)
	for {
		l, err := try(path, m)
		if !errors.Is(err, ErrHeld) {
			return l, err
		}
		l, err = await(ctx, path, m, time.Until(deadline))
		switch {
		case errors.Is(err, ErrHeld):
			return nil, &HeldError{path, holderOf(path)}
		case ctx.Err() != nil && err != nil:
			return nil, fmt.Errorf("waiting for %s: %w", path, ctx.Err())
		case err != nil || l.IsAt(path):
			return l, err
		}
		if err := l.Unlock(); err != nil { // its owner has removed the file
			return nil, err
		}
	}
}

// pollLast is the longest time after which poll asks again.
const pollLast = 20 * time.Millisecond

// poll asks for the lock on a path again and again until nobody else holds it. It returns ErrHeld if that takes too long.
func poll(ctx context.Context, path string, m mode, patience time.Duration) (*Lock, error) {
	deadline := time.Now().Add(patience)
	for wait := time.Millisecond; ; wait = min(wait*2, pollLast) {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(wait):
		}
		l, err := try(path, m)
		if !errors.Is(err, ErrHeld) || time.Now().After(deadline) {
			return l, err
		}
	}
}

// File is the locked file.
func (l *Lock) File() *os.File { return l.f }

// ForChild is the locked file for a child process to inherit. From then on the lock is held
// until the child has ended, too.
func (l *Lock) ForChild() *os.File {
	l.inherited.Store(true)
	return l.f
}

// ChildrenEnded says that every process which has inherited the file has ended, as one has that was waited for and
// leaves none behind. From then on Unlock releases the lock at once.
func (l *Lock) ChildrenEnded() { l.inherited.Store(false) }

// Unlock releases the lock. The file stays.
func (l *Lock) Unlock() error {
	if l == nil || l.f == nil {
		return nil
	}
	if !l.inherited.Load() {
		// A process that another goroutine starts at this moment has the descriptor for as long
		// as it takes to run its program, and would hold the lock until then.
		unlock(l.f)
	}
	err := l.f.Close()
	l.f = nil
	if l.queue != nil {
		<-l.queue.turn
	}
	return err
}

// Queue is the lock on a path for the goroutines of one process that share it.
// They have it in the order in which they came, and only the first of them waits
// for other processes: a file lock promises no order, and each wait for one keeps a thread.
type Queue struct {
	path string
	turn chan struct{} // full while a goroutine has its turn; senders are served in order
}

// NewQueue returns the queue for the lock on a path.
func NewQueue(path string) *Queue {
	return &Queue{path: path, turn: make(chan struct{}, 1)}
}

// Acquire waits for the lock until the context ends, but not for ever.
func (q *Queue) Acquire(ctx context.Context) (*Lock, error) {
	select {
	case q.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for %s: %w", q.path, ctx.Err())
	}
	l, err := Acquire(ctx, q.path)
	if err != nil {
		<-q.turn
		return nil, err
	}
	l.queue = q
	return l, nil
}
