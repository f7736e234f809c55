package connect

import (
	"context"
	"errors"
	"sync"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/client"
	"github.com/croft-sh/croft/engine"
)

// Served is the Service of a daemon. A call that waits for a merge goes on without the daemon if
// that has ended and none comes in its place: it drives the queue itself.
type Served struct {
	*client.Client
	open func(context.Context) (*engine.Engine, error)

	mu     sync.Mutex
	own    *engine.Engine
	closed bool
	told   []string
}

// WaitMerge waits until a merge has ended, with the daemon or without it.
func (s *Served) WaitMerge(ctx context.Context, req croft.WaitRequest) (*croft.Merge, error) {
	m, err := s.Client.WaitMerge(ctx, req)
	if err == nil || ctx.Err() != nil || !errors.Is(err, croft.DaemonUnreachable) && !errors.Is(err, croft.Closed) {
		return m, err
	}
	own, oerr := s.engine(ctx)
	if oerr != nil {
		return nil, err
	}
	return own.WaitMerge(ctx, req)
}

// engine opens an engine in this process, once.
func (s *Served) engine(ctx context.Context) (*engine.Engine, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, &croft.Error{Code: croft.Closed, Op: "merge", Message: "the Service was closed"}
	}
	if s.own == nil {
		own, err := s.open(ctx)
		if err != nil {
			return nil, err
		}
		s.own = own
		s.told = append(s.told, "the daemon has ended; this process goes on without it")
	}
	return s.own, nil
}

// Notices returns the sentences for the user that belong to no call's result and were not
// returned before.
func (s *Served) Notices() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := append(s.Client.Notices(), s.told...)
	s.told = nil
	if s.own != nil {
		list = append(list, s.own.Notices()...)
	}
	return list
}

// Close closes the client, and the engine if there is one.
func (s *Served) Close() error {
	s.mu.Lock()
	own := s.own
	s.closed = true
	s.mu.Unlock()
	err := s.Client.Close()
	if own != nil {
		err = errors.Join(err, own.Close())
	}
	return err
}
