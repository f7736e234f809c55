package rest_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/caller"
	"github.com/croft-sh/croft/internal/daemon/rest"
)

// driving is a stub whose queues are driven until the caller is gone.
type driving struct{ *stub }

func (driving) DriveLanes(ctx context.Context, req croft.DriveRequest) (*croft.QueueResult, error) {
	if req.Until == croft.UntilStopped {
		<-ctx.Done()
	} else {
		time.Sleep(300 * time.Millisecond)
	}
	return &croft.QueueResult{}, nil
}

// TestWaitsEndAtAStop: calls that only wait end when the daemon stops, so that their callers ask
// again; calls that act go on to their end.
func TestWaitsEndAtAStop(t *testing.T) {
	stopping := make(chan struct{})
	svc := driving{&stub{merge: croft.Merge{ID: "m1", State: croft.MergeQueued}, until: make(chan struct{})}}
	h := rest.New(rest.Options{
		ServiceFor: func(caller.Caller) (croft.Service, error) { return svc, nil }, Notices: func() []string { return nil }, Stopping: stopping,
	})
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	type result struct {
		name, prefer, method, path, body string
		want                             int
	}
	rows := []result{
		{"wait", "", "GET", "/v1/merges/m1/wait", "", http.StatusServiceUnavailable},
		{"preferred wait", "wait=30", "GET", "/v1/merges/m1/wait", "", http.StatusAccepted},
		{"merge", "wait=30", "POST", "/v1/workspaces/a/merge", "{}", http.StatusAccepted},
		{"drive", "", "POST", "/v1/queues/run", `{"until":"` + string(croft.UntilStopped) + `"}`, http.StatusServiceUnavailable},
		{"act", "", "POST", "/v1/queues/run", `{}`, http.StatusOK},
	}
	ended := make(chan string, len(rows))
	for _, row := range rows {
		go func() {
			r, err := http.NewRequestWithContext(t.Context(), row.method, server.URL+row.path, strings.NewReader(row.body))
			if err != nil {
				ended <- err.Error()
				return
			}
			r.Header.Set("Prefer", row.prefer)
			response, err := http.DefaultClient.Do(r)
			if err != nil {
				ended <- err.Error()
				return
			}
			defer response.Body.Close()
			text, _ := io.ReadAll(response.Body)
			isAgain := response.Header.Get("Retry-After") != "" && strings.Contains(string(text), `"code":"CLOSED"`)
			if response.StatusCode != row.want || isAgain != (row.want == http.StatusServiceUnavailable) {
				ended <- row.name + ": " + response.Status + " " + string(text)
				return
			}
			ended <- ""
		}()
	}
	time.Sleep(100 * time.Millisecond)
	select {
	case problem := <-ended:
		t.Fatalf("one did not wait: %s", problem)
	default:
	}
	close(stopping)
	for range rows {
		select {
		case problem := <-ended:
			if problem != "" {
				t.Error(problem)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("a call goes on")
		}
	}
}
