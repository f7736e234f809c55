// Package lifetime is the life of a service: the calls that are at work, the goroutines
// in the background, and how both end.
//
// A service that is closed refuses new calls, ends calls that only wait, and lets calls
// that are at work finish. Calls that need too long are cancelled and undo what they
// began.
package lifetime

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// defaultDrain is how long Close waits for calls that are at work.
	defaultDrain = 30 * time.Second
	// undoTime is how long calls that were cancelled may take to undo what they began.
	// The next process undoes the rest, as after a crash.
	undoTime = 10 * time.Second
)

// ErrClosed says that the service was closed.
var ErrClosed = errors.New("the service was closed")

// Lifetime is the life of one service. Use New.
type Lifetime struct {
	ctx    context.Context // the parent of the contexts of all calls
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu      sync.Mutex
	calls   int           // at work
	closed  bool          // no call begins any more
	closing chan struct{} // closed when closed is set
	drained chan struct{} // closed when no call is at work any more after that
}

// New begins the life of a service.
func New() *Lifetime {
	l := &Lifetime{closing: make(chan struct{}), drained: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// inCall marks the context of a call, so that a call which calls its own service does
// not count as another one.
type inCall struct{ l *Lifetime }

// Enter begins a call; the caller ends it by leave. The context of the call ends with
// the life.
func (l *Lifetime) Enter(ctx context.Context) (_ context.Context, leave func(), err error) {
	if ctx.Value(inCall{l}) != nil {
		return ctx, func() {}, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ctx, func() {}, ErrClosed
	}
	l.calls++
	ctx, cancel := context.WithCancel(context.WithValue(ctx, inCall{l}, true))
	stop := context.AfterFunc(l.ctx, cancel)
	return ctx, func() {
		stop()
		cancel()
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.calls--; l.calls == 0 && l.closed {
			close(l.drained)
		}
	}, nil
}

// Closing returns a channel that is closed when the service is.
func (l *Lifetime) Closing() <-chan struct{} { return l.closing }

// IsClosing reports whether the service was closed.
func (l *Lifetime) IsClosing() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// Go runs f in a background goroutine. Wait waits for it.
func (l *Lifetime) Go(f func()) { l.work.Go(f) }

// TryGo is Go, unless the service was closed. It reports whether f runs.
func (l *Lifetime) TryGo(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.work.Go(f)
	}
	return !l.closed
}

// Wait waits for the goroutines in the background.
func (l *Lifetime) Wait() { l.work.Wait() }

// Cancel ends the contexts of all calls.
func (l *Lifetime) Cancel() { l.cancel() }

// Close refuses further calls and waits for those that are at work: for the given time,
// or 30 seconds, and after it has cancelled them for a while more. isFirst is false if
// the service was closed before.
func (l *Lifetime) Close(drain time.Duration) (isFirst bool, err error) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return false, nil
	}
	l.closed = true
	close(l.closing)
	if l.calls == 0 {
		close(l.drained)
	}
	l.mu.Unlock()
	if drain <= 0 {
		drain = defaultDrain
	}
	select {
	case <-l.drained:
		return true, nil
	case <-time.After(drain):
	}
	l.cancel()
	select {
	case <-l.drained:
		return true, nil
	case <-time.After(undoTime):
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return true, fmt.Errorf("%d calls were still at work %v after the service was closed", l.calls, drain+undoTime)
}
