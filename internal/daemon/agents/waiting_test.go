package agents_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/caller"
	"github.com/croft-sh/croft/internal/daemon/agents"
	"github.com/croft-sh/croft/internal/daemon/rest"
)

// checking is a Service whose merges never end.
type checking struct {
	croft.UnimplementedService
	began chan struct{}
}

func (c *checking) Workspaces(context.Context, croft.WorkspacesRequest) (*croft.List[croft.Workspace], error) {
	return &croft.List[croft.Workspace]{Items: []croft.Workspace{{ID: "a", Name: "a", RepoID: "r"}}}, nil
}

func (c *checking) Workspace(context.Context, croft.WorkspaceRequest) (*croft.Workspace, error) {
	return &croft.Workspace{ID: "a", Name: "a", RepoID: "r"}, nil
}

func (c *checking) Merges(context.Context, croft.MergesRequest) (*croft.List[croft.Merge], error) {
	return &croft.List[croft.Merge]{}, nil
}

func (c *checking) SubmitMerge(context.Context, croft.MergeRequest) (*croft.Merge, error) {
	return &croft.Merge{ID: "m", State: croft.MergeQueued}, nil
}

func (c *checking) WaitMerge(ctx context.Context, _ croft.WaitRequest) (*croft.Merge, error) {
	close(c.began)
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestMergeEndsWithTheDaemon: a call that waits for a merge does not hold a daemon up that
// stops, and says that the merge goes on.
func TestMergeEndsWithTheDaemon(t *testing.T) {
	svc, stopping := &checking{began: make(chan struct{})}, make(chan struct{})
	h := agents.New(agents.Options{
		ServiceFor: func(caller.Caller) (croft.Service, error) { return svc, nil }, ActorFor: rest.ActorFor, Stopping: stopping,
	})
	answer := httptest.NewRecorder()
	done := make(chan struct{})
	go func() {
		defer close(done)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/agents/a/merge", nil)
		h.ServeHTTP(answer, r.WithContext(caller.With(r.Context(), caller.Caller{Access: croft.AccessAll})))
	}()
	select {
	case <-svc.began:
	case <-done:
		t.Fatalf("%d %s", answer.Code, answer.Body)
	}
	close(stopping)
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("the call goes on")
	}
	if answer.Code != http.StatusServiceUnavailable || answer.Header().Get("Retry-After") == "" || !strings.Contains(answer.Body.String(), "stays in its queue") {
		t.Errorf("%d %v %s", answer.Code, answer.Header(), answer.Body)
	}
}
