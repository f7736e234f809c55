// Package scope narrows a Service to the calls that a token allows ([croft.Access]). What is
// not allowed here is refused, also a method that Service gets later: both kinds of narrowed
// Service embed one that refuses every call.
//
// A Service for one workspace answers in two ways for what it does not give. Calls that it
// does not have at all are AccessDenied. A thing that is not the workspace's is not found,
// with the same code, message and fields as one that does not exist.
package scope

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"github.com/croft-sh/croft"
)

// Scopes makes narrowed Services of one Service, and keeps those of workspaces, which
// remember in which project their workspace is.
type Scopes struct {
	svc  croft.Service
	read croft.Service

	mu         sync.Mutex
	workspaces map[croft.ID]croft.Service
}

// maxKept is how many Services of workspaces are kept.
const maxKept = 4096

// New returns the Scopes of a Service.
func New(svc croft.Service) *Scopes {
	return &Scopes{svc: svc, read: ReadOnly(svc), workspaces: map[croft.ID]croft.Service{}}
}

// For returns the Service for an access. One that is not known is refused every call. Close
// of a narrowed Service does nothing; with AccessAll it is the Service itself.
func (s *Scopes) For(access croft.Access, workspace croft.ID) croft.Service {
	switch access {
	case croft.AccessAll:
		return s.svc
	case croft.AccessRead:
		return s.read
	case croft.AccessWorkspace:
		s.mu.Lock()
		defer s.mu.Unlock()
		svc := s.workspaces[workspace]
		if svc == nil {
			if len(s.workspaces) >= maxKept {
				clear(s.workspaces)
			}
			svc = Workspace(s.svc, workspace)
			s.workspaces[workspace] = svc
		}
		return svc
	default:
		return denied{}
	}
}

// denied is a Service that refuses every call with AccessDenied; denied.go is generated from
// Service, so that a call that nobody has decided about is refused in the same words.
type denied struct{}

type ctx = context.Context

func no[T any](call string) (*T, error) { return nil, deniedError(call) }

func deniedError(call string) error {
	return &croft.Error{
		Code: croft.AccessDenied, Op: call, Message: fmt.Sprintf("the token does not allow the call %s", call), Hint: "croft token list",
	}
}

func (denied) Close() error { return nil }

func (denied) Events(ctx, croft.EventsRequest) iter.Seq2[croft.Event, error] {
	return func(yield func(croft.Event, error) bool) { yield(croft.Event{}, deniedError("Events")) }
}
