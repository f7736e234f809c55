package rest

import (
	"context"
	"errors"

	"github.com/croft-sh/croft"
)

// errStopping is why a call that only waits has ended.
var errStopping = errors.New("the daemon stops")

// untilStopping returns a context that ends when the daemon begins to stop.
func (s *server) untilStopping(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-ctx.Done():
		case <-s.Stopping: // nil, and so never, in a daemon that does not stop
			cancel(errStopping)
		}
	}()
	return ctx, func() { cancel(context.Canceled) }
}

// stopped says of a call that ended because the daemon stops that it can be made again, also if it
// ended without an error, as one does that drives the queues until it is stopped.
func stopped(ctx context.Context, err error) error {
	if !errors.Is(context.Cause(ctx), errStopping) {
		return err
	}
	return &croft.Error{Code: croft.Closed, Message: "the daemon stops", Hint: "ask again", Err: err}
}
