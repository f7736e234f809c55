package daemon

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// arrivals counts the connections whose first request has not reached a handler. net/http drops
// a request that it reads after Shutdown was called, also one that was on its way before: so a
// server that stops waits for these first.
type arrivals struct {
	waiting atomic.Int64
	byConn  sync.Map // net.Conn → *arrival
}

// arrival is one such connection.
type arrival struct {
	over    sync.Once
	waiting *atomic.Int64
}

func (a *arrival) end() { a.over.Do(func() { a.waiting.Add(-1) }) }

type arrivalKey struct{}

// accept notes a connection that was accepted. It is for http.Server.ConnContext.
func (s *arrivals) accept(ctx context.Context, conn net.Conn) context.Context {
	a := &arrival{waiting: &s.waiting}
	s.waiting.Add(1)
	s.byConn.Store(conn, a)
	return context.WithValue(ctx, arrivalKey{}, a)
}

// change notes that a connection has ended. It is for http.Server.ConnState.
func (s *arrivals) change(conn net.Conn, state http.ConnState) {
	if state != http.StateClosed && state != http.StateHijacked {
		return
	}
	if a, ok := s.byConn.LoadAndDelete(conn); ok {
		a.(*arrival).end()
	}
}

// reach notes that a request has reached a handler.
func reach(ctx context.Context) {
	if a, ok := ctx.Value(arrivalKey{}).(*arrival); ok {
		a.end()
	}
}
