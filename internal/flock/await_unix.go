//go:build unix

package flock

import (
	"context"
	"os"
	"time"
)

// inKernel has an element for each wait of this process that the kernel has been left with. Such a wait keeps a thread until
// the lock is free, also if its caller has given up: nothing but the lock ends it.
var inKernel = make(chan struct{}, 64)

// await waits until nobody else holds the lock on a path, and takes it. It returns ErrHeld if that takes too long. The kernel
// wakes it: who asks again and again comes too late by as long as it sleeps, and not in the order of coming. Only where the
// kernel has many waits of this process already, as after many that were given up, it asks again and again.
func await(ctx context.Context, path string, m mode, patience time.Duration) (*Lock, error) {
	select {
	case inKernel <- struct{}{}:
	default:
		return poll(ctx, path, m, patience)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o200)
	if err != nil {
		<-inKernel
		return nil, err
	}
	done := make(chan error, 1)
	go func() {
		defer func() { <-inKernel }()
		done <- waitLock(f, m)
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case err := <-done:
		if err != nil {
			_ = f.Close()
			return nil, err
		}
		return &Lock{f: f}, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
		err = ErrHeld
	}
	go func() { // the kernel waits for a file by its number, which must not become another file's meanwhile
		if <-done == nil {
			unlock(f)
		}
		_ = f.Close()
	}()
	return nil, err
}
