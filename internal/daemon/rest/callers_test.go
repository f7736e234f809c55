package rest_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/api"
	"github.com/croft-sh/croft/internal/caller"
	"github.com/croft-sh/croft/internal/daemon/rest"
)

// TestCallsAreOfTheirCallers: the name of a call is its caller's. Nobody else cancels it by that, two
// calls of one caller do not have the same at once, and it is free again when the call has ended.
func TestCallsAreOfTheirCallers(t *testing.T) {
	svc := &stub{blocked: make(chan error, 100)}
	h := rest.New(rest.Options{ServiceFor: func(caller.Caller) (croft.Service, error) { return svc, nil }, Notices: func() []string { return nil }})
	call := func(ctx context.Context, token croft.ID, method, path, name string) int {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(method, path, nil)
		if name != "" {
			r.Header.Set(api.HeaderCall, name)
		}
		h.ServeHTTP(w, r.WithContext(caller.With(ctx, caller.Caller{Access: croft.AccessAll, Token: token})))
		return w.Code
	}
	begin := func(token croft.ID) (answer chan int, end func()) {
		answer = make(chan int, 1)
		ctx, end := context.WithCancel(t.Context())
		go func() { answer <- call(ctx, token, "POST", "/v1/upkeep/doctor", "c1") }()
		return answer, end
	}
	// canceled cancels a call once it has begun.
	canceled := func(token croft.ID) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); call(t.Context(), token, "DELETE", "/v1/calls/c1", "") != http.StatusNoContent; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("no call is canceled")
			}
		}
	}
	mine, end := begin("t1")
	defer end()
	theirs, endTheirs := begin("t2")
	defer endTheirs()
	canceled("t2")
	<-theirs
	for range 3 {
		if status := call(t.Context(), "t2", "DELETE", "/v1/calls/c1", ""); status != http.StatusNotFound {
			t.Errorf("a call of another is answered with %d", status)
		}
	}
	// The first call has begun by now, or the second of its name would wait in its place.
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		short, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
		status := call(short, "t1", "POST", "/v1/upkeep/doctor", "c1")
		stop()
		if status == http.StatusBadRequest {
			break
		}
		if time.Now().After(deadline) || len(mine) > 0 {
			t.Fatalf("a second call of the same name is answered with %d", status)
		}
	}
	select {
	case status := <-mine:
		t.Errorf("a call that nobody canceled is answered with %d", status)
	case <-time.After(20 * time.Millisecond):
	}
	canceled("t1")
	<-mine
	again, endAgain := begin("t1")
	defer endAgain()
	canceled("t1")
	if status := <-again; status == http.StatusBadRequest {
		t.Error("the name of a call that has ended is not free")
	}
}

// TestNoticesAreForTheUser: what is said to the user may name every project; a token that does less
// is not told.
func TestNoticesAreForTheUser(t *testing.T) {
	for access, want := range map[croft.Access]int{croft.AccessAll: 1, croft.AccessRead: 0, croft.AccessWorkspace: 0} {
		url := serve(t, &stub{merge: croft.Merge{ID: "m1"}}, caller.Caller{Access: access, Workspace: "w1"})
		if r, body := do(t, "GET", url+"/v1/merges/m1", ""); r.StatusCode >= 400 || len(r.Header.Values(api.HeaderNotice)) != want {
			t.Errorf("%s: %s %q %s", access, r.Status, r.Header.Values(api.HeaderNotice), body)
		}
	}
}
