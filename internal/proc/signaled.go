package proc

import (
	"context"
	"errors"
	"os"
	"syscall"
)

// SignaledError is the cause of the end of a context: this process got a signal that asks it to end.
type SignaledError struct{ Signal os.Signal }

func (s SignaledError) Error() string { return "this process was asked to end: " + s.Signal.String() }

// Is: for all but those who ask for the cause, it is a cancellation as others.
func (s SignaledError) Is(target error) bool { return target == context.Canceled }

// StatusOfCause returns the status that shells have for the signal that ended a context, and otherwise another one.
func StatusOfCause(ctx context.Context, other int) int {
	if s, ok := errors.AsType[SignaledError](context.Cause(ctx)); ok {
		if number, ok := s.Signal.(syscall.Signal); ok {
			return 128 + int(number)
		}
	}
	return other
}
