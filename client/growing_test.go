package client_test

import (
	"context"
	"iter"
	"strconv"
	"sync"

	"github.com/croft-sh/croft"
)

// growing is a Service whose events are numbered, and grow by one at a time.
type growing struct {
	croft.UnimplementedService
	mu   sync.Mutex
	last int
	more chan struct{}
}

func number(n int) string { return strconv.Itoa(n) }

func (g *growing) grow() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last++
	close(g.more)
	g.more = make(chan struct{})
}

func (g *growing) Sessions(context.Context, croft.SessionsRequest) (*croft.List[croft.Session], error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return &croft.List[croft.Session]{Cursor: croft.Cursor(number(g.last))}, nil
}

func (g *growing) Events(ctx context.Context, req croft.EventsRequest) iter.Seq2[croft.Event, error] {
	return func(yield func(croft.Event, error) bool) {
		at, _ := strconv.Atoi(string(req.After))
		for {
			g.mu.Lock()
			last, more := g.last, g.more
			g.mu.Unlock()
			for ; at < last; at++ {
				if !yield(croft.Event{Cursor: croft.Cursor(number(at + 1)), Kind: croft.EventMergeChanged}, nil) {
					return
				}
			}
			if req.Follow == croft.FollowNone {
				return
			}
			select {
			case <-more:
			case <-ctx.Done():
				return
			}
		}
	}
}
