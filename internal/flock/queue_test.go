//go:build unix

package flock

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestQueueIsInOrder: the first caller that asks gets the lock first, and nobody who has to wait for others of its process
// asks the kernel.
func TestQueueIsInOrder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lock")
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(file)
		q.turn <- struct{}{} // somebody has it; the kernel's lock is free, so that who asks for that has it at once
		var order []int
		var mu sync.Mutex
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				l, err := q.Acquire(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				_ = l.Unlock()
			})
			synctest.Wait() // so that it is the next one
			mu.Lock()
			early := slices.Clone(order)
			mu.Unlock()
			if len(early) > 0 {
				t.Fatalf("%v had it before their turn", early)
			}
		}
		<-q.turn
		wg.Wait()
		if !slices.IsSorted(order) || len(order) != 20 {
			t.Errorf("they had it in the order %v", order)
		}
	})
}

// TestQueueBesideAnotherProcess: the lock excludes other processes, and a caller that gives
// up leaves it to the next.
func TestQueueBesideAnotherProcess(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "lock")
	q := NewQueue(file)
	other := hold(t, file)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if _, err := q.Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("while it was held elsewhere: %v", err)
			}
		})
	}
	wg.Wait()
	other.let()
	l, err := q.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Try(file); !errors.Is(err, ErrHeld) {
		t.Errorf("somebody else got it too: %v", err)
	}
	if err := errors.Join(l.Unlock(), l.Unlock()); err != nil {
		t.Error(err)
	}
	if l, err = q.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	_ = l.Unlock()
}

// TestWaitersComeAndGo: who has given up waiting keeps the lock from nobody, and who waited for a file that its owner has
// removed has the lock of the one that is there.
func TestWaitersComeAndGo(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "lock")
	first, err := Try(file)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := Acquire(ctx, file); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("while it was held: %v", err)
	}
	got := make(chan *Lock)
	go func() {
		l, err := acquire(t.Context(), file, exclusive, 10*time.Second)
		if err != nil {
			t.Error(err)
		}
		got <- l
	}()
	time.Sleep(20 * time.Millisecond) // so that it waits
	if err := errors.Join(os.Remove(file), os.WriteFile(file, nil, 0o600), first.Unlock()); err != nil {
		t.Fatal(err)
	}
	l := <-got
	if !l.IsAt(file) {
		t.Error("the lock is that of a file which is gone")
	}
	_ = l.Unlock()
	last, err := acquire(t.Context(), file, exclusive, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	_ = last.Unlock()
}

// TestGivenUpWaitsAreBounded: however many callers have given up waiting for a lock, only some of them left a thread in the
// kernel; callers after that still get it, or give up in time.
func TestGivenUpWaitsAreBounded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lock")
	held, err := Try(file)
	if err != nil {
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()
	var wg sync.WaitGroup
	for range 320 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			if _, err := Acquire(ctx, file); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("while it is held: %v", err)
			}
		})
	}
	wg.Wait()
	if left := runtime.NumGoroutine() - before; left > 150 {
		t.Errorf("%d goroutines still wait", left)
	}
	if _, err := acquire(t.Context(), file, exclusive, 20*time.Millisecond); !errors.Is(err, ErrHeld) {
		t.Errorf("without an end of the context: %v", err)
	}
	got := make(chan error)
	go func() {
		l, err := Acquire(t.Context(), file)
		if err == nil {
			err = l.Unlock()
		}
		got <- err
	}()
	if err := held.Unlock(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Error(err)
	}
	for end := time.Now().Add(10 * time.Second); len(inKernel) > 0; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%d waits for a lock that is free", len(inKernel))
		}
	}
}
