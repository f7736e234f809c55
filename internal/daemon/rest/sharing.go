package rest

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/api"
	"github.com/croft-sh/croft/internal/caller"
)

// isShared has the reading calls whose answers are shared by callers who ask for the same at
// the same time. They read much, and dashboards and orchestrators ask for them again and again.
var isShared = map[string]bool{"Workspaces": true, "Merges": true, "History": true, "Lanes": true, "Repos": true, "Trash": true, "Sessions": true}

// shareKey returns a key that two requests have in common only if they ask for the same, may see
// the same and have the same actor: a call whose actor is no valid one fails. It is empty if the
// answer is not shared: a request that lets files be looked at has a time limit of its own.
func shareKey(c api.Call, r *http.Request, actor croft.Actor) string {
	if !isShared[c.Name] || r.URL.Query().Has("look") {
		return ""
	}
	by := caller.From(r.Context())
	key := []string{c.Name, r.URL.RequestURI(), string(by.Access), string(by.Workspace), string(by.Token), actor.Name, string(actor.Workspace), actor.Dir, actor.From}
	if actor.Author != nil {
		key = append(key, actor.Author.Name, actor.Author.Email)
	}
	return fmt.Sprintf("%q", key)
}

// answerShared answers a call with what callers with the same key share.
func (s *server) answerShared(ctx context.Context, w http.ResponseWriter, op string, req any, key string, call func(context.Context) (any, error)) {
	answer, err := s.sharing.do(ctx, key, func(ctx context.Context) ([]byte, error) {
		out, err := call(ctx)
		if err != nil {
			return nil, err
		}
		return api.Encode(out)
	})
	s.addNotices(ctx, w)
	if err = stopped(ctx, err); err != nil {
		api.WriteError(w, op, nameless(ctx, req, err))
		return
	}
	api.WriteEncoded(w, answer)
}

// sharing lets callers share a reading whose key is the same. Each gets an answer that was begun
// after it asked: who comes while one is read waits for the next one, with all who come in the
// meantime. So under a load of equal requests one list is at work, or one more for each time that
// patience was over before it was done, and nobody gets an answer older than the question.
type sharing struct {
	mu    sync.Mutex
	byKey map[string]*readings
}

// readings are those of one key: at most one that has begun and one that has not.
type readings struct{ begun, next *reading }

// reading is the work for some callers, and its answer once done is closed.
type reading struct {
	read    func(context.Context) ([]byte, error)
	ctx     context.Context
	cancel  context.CancelFunc
	callers int
	done    chan struct{}

	answer []byte
	err    error
	panic  string // with which read ended, if it did
}

// patience is how long a reading waits for the one before it. One that hangs must not hold up
// the others.
const patience = time.Second

// do returns the answer of read, of which one is shared by the callers with a key. The context of
// read has the values of that of its first caller, and ends when no caller is left.
func (s *sharing) do(ctx context.Context, key string, read func(context.Context) ([]byte, error)) ([]byte, error) {
	one := s.join(ctx, key, read)
	select {
	case <-one.done:
		if one.panic != "" {
			panic(one.panic)
		}
		return one.answer, one.err
	case <-ctx.Done():
		s.leave(one)
		return nil, ctx.Err()
	}
}

func (s *sharing) join(ctx context.Context, key string, read func(context.Context) ([]byte, error)) *reading {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byKey == nil {
		s.byKey = map[string]*readings{}
	}
	all := s.byKey[key]
	if all != nil && all.next != nil && all.next.ctx.Err() == nil {
		all.next.callers++
		return all.next
	}
	one := &reading{read: read, callers: 1, done: make(chan struct{})}
	one.ctx, one.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if all == nil {
		s.byKey[key] = &readings{begun: one}
		go s.work(key, one)
		return one
	}
	all.next = one
	go s.workAfter(key, all.begun, one)
	return one
}

// leave takes a caller off a reading, which is given up if it was the last one.
func (s *sharing) leave(one *reading) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one.callers--; one.callers == 0 {
		one.cancel()
	}
}

// workAfter works on a reading once the one before it is done, or takes too long.
func (s *sharing) workAfter(key string, before, one *reading) {
	wait := time.NewTimer(patience)
	defer wait.Stop()
	select {
	case <-before.done:
	case <-wait.C:
	}
	s.mu.Lock()
	if all := s.byKey[key]; all != nil && all.next == one { // no: its callers had all left, and another one took its place
		all.begun, all.next = one, nil
	}
	s.mu.Unlock()
	s.work(key, one)
}

func (s *sharing) work(key string, one *reading) {
	defer one.cancel()
	defer close(one.done)
	defer s.end(key, one)
	defer func() {
		if p := recover(); p != nil {
			one.panic = fmt.Sprintf("%v\n%s", p, debug.Stack())
		}
	}()
	if one.err = one.ctx.Err(); one.err == nil {
		one.answer, one.err = one.read(one.ctx)
	}
}

// end forgets a reading, unless another one has begun or waits for it.
func (s *sharing) end(key string, one *reading) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if all := s.byKey[key]; all != nil && all.begun == one && all.next == nil {
		delete(s.byKey, key)
	}
}
