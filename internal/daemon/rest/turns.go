package rest

import (
	"context"
	"net/http"
	"sync"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/caller"
)

// maxTurns is how many calls of one agent's token are worked on at once, their answers included:
// each may take a processor and, for a workspace with very many files, much memory. Others of the
// same token wait. Calls that only wait need no turn.
const maxTurns = 8

// turns bounds the calls that are worked on at once, for each token of an agent. Its zero value is
// ready for use, and a token without calls takes no memory.
type turns struct {
	mu      sync.Mutex
	byToken map[croft.ID]*line
}

// line is where the calls of a token wait for their turns.
type line struct {
	places chan struct{}
	users  int // calls that have a turn or wait for one
}

// take waits for the turn of a call and returns the function that ends it, which may be called
// more than once.
func (t *turns) take(ctx context.Context, r *http.Request) (func(), error) {
	by := caller.From(r.Context())
	if by.Access != croft.AccessWorkspace {
		return func() {}, nil
	}
	l := t.enter(by.Token)
	select {
	case l.places <- struct{}{}:
		return sync.OnceFunc(func() {
			<-l.places
			t.leave(by.Token)
		}), nil
	case <-ctx.Done():
		t.leave(by.Token)
		return nil, ctx.Err()
	}
}

func (t *turns) enter(token croft.ID) *line {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byToken == nil {
		t.byToken = map[croft.ID]*line{}
	}
	l := t.byToken[token]
	if l == nil {
		l = &line{places: make(chan struct{}, maxTurns)}
		t.byToken[token] = l
	}
	l.users++
	return l
}

func (t *turns) leave(token croft.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l := t.byToken[token]; l != nil {
		if l.users--; l.users == 0 {
			delete(t.byToken, token)
		}
	}
}
