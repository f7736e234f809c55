// Package flock takes kernel locks on files. Such a lock dies with its owner,
// so nobody ever has to guess whether it is stale. On systems where a lock
// belongs to the open file, a child process that inherits the descriptor keeps
// the lock alive until it has ended too.
package flock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// ErrHeld says that somebody else holds the lock.
var ErrHeld = errors.New("lock is held")

// mode says who else may hold a lock at the same time: nobody, or others that
// share it too.
type mode int

const (
	exclusive mode = iota
	shared
)

// Lock is a lock that is held.
type Lock struct{ f *os.File }

// Try takes the lock on path, which is created if it is not there, or returns
// ErrHeld.
func Try(path string) (*Lock, error) { return try(path, exclusive) }

func try(path string, m mode) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := tryLock(f, m); err != nil {
		_ = f.Close()
		return nil, err
	}
	return &Lock{f}, nil
}

// TryThere takes the lock on path if a file is there, or returns ErrHeld. One
// that its owner has removed meanwhile is not there.
func TryThere(path string) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if err := tryLock(f, exclusive); err != nil {
		_ = f.Close()
		return nil, err
	}
	l := &Lock{f}
	if !l.IsAt(path) {
		_ = l.Unlock()
		return nil, &os.PathError{Op: "lock", Path: path, Err: os.ErrNotExist}
	}
	return l, nil
}

// New takes the lock on a path that is nobody else's, but that others may come
// across, take for one of a dead process and remove. It returns once the file at
// the path is the one that is locked.
func New(path string) (*Lock, error) {
	for range 1000 {
		l, err := Try(path)
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

// Acquire waits for the lock on path until the context ends.
func Acquire(ctx context.Context, path string) (*Lock, error) { return acquire(ctx, path, exclusive) }

// AcquireShared waits for a share of the lock on path until the context ends.
// Whoever has the lock for itself keeps out those that share it, and they keep it
// out.
func AcquireShared(ctx context.Context, path string) (*Lock, error) {
	return acquire(ctx, path, shared)
}

func acquire(ctx context.Context, path string, m mode) (*Lock, error) {
	wait := time.Millisecond
	for {
		l, err := try(path, m)
		if !errors.Is(err, ErrHeld) {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for %s: %w", path, ctx.Err())
		case <-time.After(wait):
		}
		wait = min(wait*2, 20*time.Millisecond)
	}
}

// File is the locked file, for a child process to inherit.
func (l *Lock) File() *os.File { return l.f }

// Unlock gives the lock back. The file stays.
func (l *Lock) Unlock() error {
	if l == nil || l.f == nil {
		return nil
	}
	err := l.f.Close()
	l.f = nil
	return err
}
