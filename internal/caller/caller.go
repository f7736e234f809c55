// Package caller says who makes an HTTP request to the daemon, and what they may do. The
// daemon finds that out before a handler runs; handlers read it from the context.
package caller

import (
	"context"

	"github.com/croft-sh/croft"
)

// Caller is who makes a request. The zero value may do nothing.
type Caller struct {
	// Access is what the caller may do: everything for the user on the daemon's own
	// socket, otherwise what the token says.
	Access croft.Access
	// Workspace is the one workspace of a caller with AccessWorkspace.
	Workspace croft.ID
	// Name is the caller's name for the history: that of the user, or of the token.
	Name string
	// Token is the token that the caller showed. It is empty on the socket.
	Token croft.ID
	// Form is the token against forgery that each form of a page has to carry. It is empty
	// unless a browser has logged in.
	Form string
}

type key struct{}

// With returns a context whose request is made by a caller.
func With(ctx context.Context, c Caller) context.Context { return context.WithValue(ctx, key{}, c) }

// From returns the caller of a context. Without one it is the zero value.
func From(ctx context.Context) Caller {
	c, _ := ctx.Value(key{}).(Caller)
	return c
}

type validity struct{}

// WithValidity returns a context of a request that lasts: isValid says whether its caller would
// still be let in.
func WithValidity(ctx context.Context, isValid func() bool) context.Context {
	return context.WithValue(ctx, validity{}, isValid)
}

// IsValid reports whether the caller of a request that lasts would still be let in.
func IsValid(ctx context.Context) bool {
	isValid, ok := ctx.Value(validity{}).(func() bool)
	return !ok || isValid()
}
