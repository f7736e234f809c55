package lifetime

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

// TestClose: a service that is closed lets running calls finish, refuses new ones, and
// starts nothing in the background any more. A call that a running call makes to its own
// service is not a new one.
func TestClose(t *testing.T) {
	l := New()
	ctx, leave, err := l.Enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var ended, background atomic.Bool
	l.Go(func() { <-l.Closing(); background.Store(true) })
	go func() {
		<-l.Closing()
		if _, nested, err := l.Enter(ctx); err != nil {
			t.Errorf("what the call asks of its own service: %v", err)
		} else {
			nested()
		}
		if _, _, err := l.Enter(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("another call: %v", err)
		}
		if l.TryGo(func() {}) {
			t.Error("something was begun in the background")
		}
		ended.Store(true)
		leave()
	}()
	if isFirst, err := l.Close(time.Minute); !isFirst || err != nil || !ended.Load() {
		t.Errorf("closed %v, %v, and the call had ended: %v", isFirst, err, ended.Load())
	}
	l.Wait()
	if !background.Load() || !l.IsClosing() {
		t.Error("Wait did not wait")
	}
	if isFirst, err := l.Close(time.Minute); isFirst || err != nil {
		t.Errorf("closed again: %v, %v", isFirst, err)
	}
}

// TestCloseCancels: a call that takes longer than the time to drain is cancelled.
func TestCloseCancels(t *testing.T) {
	l := New()
	ctx, leave, err := l.Enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	go func() { <-ctx.Done(); leave() }()
	if isFirst, err := l.Close(time.Millisecond); !isFirst || err != nil || !errors.Is(ctx.Err(), context.Canceled) {
		t.Errorf("closed %v, %v; the call's context: %v", isFirst, err, ctx.Err())
	}
}
