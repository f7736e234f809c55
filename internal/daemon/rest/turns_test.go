package rest_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/caller"
	"github.com/croft-sh/croft/internal/daemon/rest"
)

// busy counts the calls that are at work on it.
type busy struct {
	stub
	entered chan struct{}
	end     chan struct{}
	mu      sync.Mutex
	at      int
	most    int
}

func (b *busy) Diff(context.Context, croft.DiffRequest) (*croft.Review, error) {
	b.mu.Lock()
	b.at++
	b.most = max(b.most, b.at)
	b.mu.Unlock()
	b.entered <- struct{}{}
	<-b.end
	b.mu.Lock()
	b.at--
	b.mu.Unlock()
	return &croft.Review{}, nil
}

// TestTurns: of one agent's token eight calls are worked on at once, and the others after them; calls
// that only wait go on beside them, and so do the calls of another agent and of the user.
func TestTurns(t *testing.T) {
	svc := &busy{entered: make(chan struct{}, 100), end: make(chan struct{})}
	svc.until, svc.merge = make(chan struct{}), croft.Merge{ID: "m1"}
	close(svc.until)
	h := rest.New(rest.Options{ServiceFor: func(caller.Caller) (croft.Service, error) { return svc, nil }, Notices: func() []string { return nil }})
	call := func(ctx context.Context, by caller.Caller, path string) int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil).WithContext(caller.With(ctx, by)))
		return w.Code
	}
	agent := caller.Caller{Access: croft.AccessWorkspace, Workspace: "w1", Token: "t1"}
	var calls sync.WaitGroup
	ask := func(by caller.Caller) {
		calls.Go(func() {
			if status := call(t.Context(), by, "/v1/diff"); status != http.StatusOK {
				t.Errorf("the answer is %d", status)
			}
		})
	}
	wait := func(n int) {
		t.Helper()
		for range n {
			select {
			case <-svc.entered:
			case <-time.After(10 * time.Second):
				t.Fatal("a call is not made")
			}
		}
	}
	for range 20 {
		ask(agent)
	}
	wait(8)
	select {
	case <-svc.entered:
		t.Error("a ninth call is worked on")
	case <-time.After(100 * time.Millisecond):
	}
	if status := call(t.Context(), agent, "/v1/merges/m1/wait"); status != http.StatusOK {
		t.Errorf("a wait is answered with %d", status)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	call(gone, agent, "/v1/diff") // returns, although there is no turn for it
	ask(caller.Caller{Access: croft.AccessWorkspace, Workspace: "w2", Token: "t2"})
	ask(caller.Caller{Access: croft.AccessAll})
	wait(2)
	close(svc.end)
	wait(12)
	calls.Wait()
	if svc.most > 10 {
		t.Errorf("%d calls at once", svc.most)
	}
}
