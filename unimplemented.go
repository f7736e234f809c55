package croft

import (
	"context"
	"iter"
)

// UnimplementedService refuses every call with Unsupported. An implementation embeds
// it, so that it goes on to compile when Service gets a method.
type UnimplementedService struct{ refusing }

// refusing has the calls of a Service and refuses all of them; unimplemented_calls.go is
// generated from Service.
type refusing struct{}

type ctx = context.Context

// no refuses a call.
func no[T any](call string) (*T, error) {
	return nil, &Error{Code: Unsupported, Op: call, Message: "this implementation does not have the call " + call}
}

func (refusing) Close() error { return nil }

func (refusing) Events(ctx, EventsRequest) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		_, err := no[Event]("Events")
		yield(Event{}, err)
	}
}
