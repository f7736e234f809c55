package engine

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/explain"
)

// drainTime is how long Close waits for calls that are at work, unless the
// options say otherwise. Those that only wait are ended at once.
const drainTime = 30 * time.Second

// takeBackTime is how long calls whose time is over may need to take back what
// they began. What they do not is left to the next process, as after a crash.
const takeBackTime = 10 * time.Second

// inCall marks the context of a call, so that what a call asks of the engine
// itself is no other call.
type inCall struct{ e *Engine }

// enter begins a call. It fails if the engine was closed, or if a request has a
// word that is not known.
func (e *Engine) enter(ctx context.Context, op string, requests ...any) (context.Context, func(), error) {
	for _, req := range requests {
		if err := checkWords(reflect.ValueOf(req)); err != nil {
			return ctx, func() {}, explain.Error(op, "", err)
		}
	}
	if ctx.Value(inCall{e}) != nil {
		return ctx, func() {}, nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return ctx, func() {}, explain.Closed(op)
	}
	e.calls++
	ctx, cancel := context.WithCancel(context.WithValue(ctx, inCall{e}, true))
	stop := context.AfterFunc(e.life, cancel)
	return ctx, func() {
		stop()
		cancel()
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.calls--; e.calls == 0 && e.closed {
			close(e.drained)
		}
	}, nil
}

// isClosing reports whether Close was called.
func (e *Engine) isClosing() bool {
	select {
	case <-e.closing:
		return true
	default:
		return false
	}
}

// drain waits until no call is at work. Calls that take too long are ended, and
// take back what they began.
func (e *Engine) drain() error {
	wait := e.opts.Drain
	if wait <= 0 {
		wait = drainTime
	}
	select {
	case <-e.drained:
		return nil
	case <-time.After(wait):
	}
	e.endLife()
	select {
	case <-e.drained:
		return nil
	case <-time.After(takeBackTime):
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return &croft.Error{
		Code: croft.Canceled, Op: "close", Message: fmt.Sprintf("%d calls were still at work %v after the service was closed", e.calls, wait+takeBackTime),
		Details: "What they had begun is finished or taken back by the next process.",
	}
}
