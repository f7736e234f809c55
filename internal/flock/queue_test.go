//go:build unix

package flock

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

// TestQueueIsInOrder: the first caller that asks gets the lock first.
func TestQueueIsInOrder(t *testing.T) {
	t.Parallel()
	q := NewQueue(filepath.Join(t.TempDir(), "lock"))
	first, err := q.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
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
		time.Sleep(5 * time.Millisecond) // so that it is the next one
	}
	_ = first.Unlock()
	wg.Wait()
	if !slices.IsSorted(order) || len(order) != 20 {
		t.Errorf("they had it in the order %v", order)
	}
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
