package rest_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/api"
	"github.com/croft-sh/croft/internal/caller"
	"github.com/croft-sh/croft/internal/daemon/rest"
)

// stub answers some calls, and records who made them.
type stub struct {
	croft.UnimplementedService
	actor   croft.Actor
	created croft.CreateRequest
	locked  croft.LockRequest
	merge   croft.Merge
	until   chan struct{} // closed when the merge ends
	blocked chan error    // gets the end of the context of a Doctor
}

func (s *stub) Create(ctx context.Context, req croft.CreateRequest) (*croft.Workspace, error) {
	s.actor, s.created = croft.ActorFrom(ctx), req
	return &croft.Workspace{ID: "w1", RepoID: "r1", Name: req.Name, Revision: 3}, nil
}

func (s *stub) Lock(_ context.Context, req croft.LockRequest) (*croft.Workspace, error) {
	s.locked = req
	if req.IfRevision != 3 {
		return nil, &croft.Error{Code: croft.RevisionChanged, Op: "lock", Message: "it is at another revision", Err: io.EOF}
	}
	return &croft.Workspace{ID: "w1", Revision: 4}, nil
}

func (s *stub) SubmitMerge(context.Context, croft.MergeRequest) (*croft.Merge, error) {
	m := s.merge
	return &m, nil
}

func (s *stub) Merge(context.Context, croft.GetRequest) (*croft.Merge, error) {
	m := s.merge
	return &m, nil
}

func (s *stub) WaitMerge(ctx context.Context, _ croft.WaitRequest) (*croft.Merge, error) {
	select {
	case <-s.until:
		m := s.merge
		m.State = croft.MergeDone
		return &m, nil
	case <-ctx.Done():
		return nil, croft.AsError("wait", ctx.Err())
	}
}

func (s *stub) Doctor(ctx context.Context, _ croft.DoctorRequest) (*croft.DoctorResult, error) {
	<-ctx.Done()
	s.blocked <- ctx.Err()
	return nil, croft.AsError("doctor", ctx.Err())
}

// serve serves a stub to a caller.
func serve(t *testing.T, svc croft.Service, by caller.Caller) string {
	t.Helper()
	h := rest.New(rest.Options{
		ServiceFor: func(c caller.Caller) (croft.Service, error) {
			if c.Access == "" {
				return nil, &croft.Error{Code: croft.NotWritable, Message: "no access"}
			}
			return svc, nil
		},
		Notices: func() []string { return []string{"a notice\n"} },
		About:   func() api.About { return api.About{Version: "v"} }, Document: []byte("{}"),
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(caller.With(r.Context(), by)))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// do makes a request and returns the answer with its body.
func do(t *testing.T, method, url, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(text)
}

var everything = caller.Caller{Access: croft.AccessAll, Name: "ada"}

// TestCreated: what was made has a location and a revision, and notices come as headers.
func TestCreated(t *testing.T) {
	svc := &stub{}
	r, body := do(t, "POST", serve(t, svc, everything)+"/v1/workspaces", `{"name":"a"}`, "Idempotency-Key", "k")
	if r.StatusCode != http.StatusCreated || r.Header.Get("Location") != "/v1/workspaces/w1?repo=id%3Ar1" || r.Header.Get("ETag") != `"3"` || r.Header.Get(api.HeaderNotice) != "a%20notice%0A" {
		t.Errorf("%s %v %s", r.Status, r.Header, body)
	}
	if svc.created.Key != "k" || svc.created.Name != "a" || svc.actor.Name != "ada" {
		t.Errorf("%+v by %+v", svc.created, svc.actor)
	}
}

// TestRevision: If-Match is the revision that the caller has seen, and a failure is a
// problem without its cause.
func TestRevision(t *testing.T) {
	url := serve(t, &stub{}, everything) + "/v1/workspaces/a/lock"
	if r, body := do(t, "POST", url, "", "If-Match", `"3"`); r.StatusCode != http.StatusOK || r.Header.Get("ETag") != `"4"` {
		t.Errorf("%s %s", r.Status, body)
	}
	r, body := do(t, "POST", url, `{}`, "If-Match", `"2"`)
	var p api.Problem
	if err := json.Unmarshal([]byte(body), &p); err != nil || r.StatusCode != http.StatusPreconditionFailed || p.Code != croft.RevisionChanged || p.Status != 412 ||
		p.Type != "urn:croft:error:REVISION_CHANGED" || strings.Contains(body, "EOF") || r.Header.Get("Content-Type") != api.ProblemType {
		t.Errorf("%s %s: %v", r.Status, body, err)
	}
}

// TestPreferWait: a merge that has not ended is accepted; a caller may prefer to wait for
// its end, and the wait has one.
func TestPreferWait(t *testing.T) {
	svc := &stub{merge: croft.Merge{ID: "m1", State: croft.MergeQueued}, until: make(chan struct{})}
	url := serve(t, svc, everything)
	if r, body := do(t, "POST", url+"/v1/workspaces/a/merge", ""); r.StatusCode != http.StatusAccepted || r.Header.Get("Location") != "/v1/merges/m1" {
		t.Errorf("%s %s", r.Status, body)
	}
	began := time.Now()
	for _, row := range [][2]string{{"POST", "/v1/workspaces/a/merge"}, {"GET", "/v1/merges/m1/wait"}} {
		if r, body := do(t, row[0], url+row[1], "", "Prefer", "respond-async, wait=1"); r.StatusCode != http.StatusAccepted || r.Header.Get("Preference-Applied") != "wait" {
			t.Errorf("%v: %s %s", row, r.Status, body)
		}
	}
	if took := time.Since(began); took < 2*time.Second || took > 20*time.Second {
		t.Errorf("two waits of a second took %v", took)
	}
	close(svc.until)
	for _, row := range [][2]string{{"POST", "/v1/workspaces/a/merge"}, {"GET", "/v1/merges/m1/wait"}} {
		if r, body := do(t, row[0], url+row[1], "", "Prefer", "wait=30"); r.StatusCode != http.StatusOK || !strings.Contains(body, `"state":"done"`) {
			t.Errorf("%v: %s %s", row, r.Status, body)
		}
	}
}

// TestCanceled: a call is canceled by its name, by its own caller only, and when the caller
// is gone.
func TestCanceled(t *testing.T) {
	svc := &stub{blocked: make(chan error, 2)}
	url := serve(t, svc, everything)
	answered := make(chan int)
	go func() {
		r, _ := do(t, "POST", url+"/v1/upkeep/doctor", "", api.HeaderCall, "c1")
		answered <- r.StatusCode
	}()
	// A call that has not begun is not said to be canceled.
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		r, body := do(t, "DELETE", url+"/v1/calls/c1", "")
		if r.StatusCode == http.StatusNoContent {
			break
		}
		if r.StatusCode != http.StatusNotFound || time.Now().After(deadline) {
			t.Fatalf("%s %s", r.Status, body)
		}
	}
	select {
	case status := <-answered:
		if status != 499 {
			t.Errorf("a canceled call answered %d", status)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the call was not canceled")
	}
	<-svc.blocked
	ctx, gone := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/upkeep/doctor", nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		time.Sleep(50 * time.Millisecond)
		gone()
	}()
	if response, err := http.DefaultClient.Do(r); err == nil {
		_ = response.Body.Close()
		t.Error("it answered")
	}
	select {
	case <-svc.blocked:
	case <-time.After(20 * time.Second):
		t.Error("the call of a caller who is gone goes on")
	}
}

// TestActors: who may do everything acts for whom it says, an agent for itself only, and who
// only reads for nobody else.
func TestActors(t *testing.T) {
	for _, row := range []struct {
		by   caller.Caller
		want croft.Actor
	}{
		{everything, croft.Actor{Name: "bob", Workspace: "w9", Dir: "/x"}},
		{caller.Caller{Access: croft.AccessWorkspace, Workspace: "w1", Name: "t"}, croft.Actor{Workspace: "w1"}},
		{caller.Caller{Access: croft.AccessRead, Name: "t"}, croft.Actor{Name: "t", Dir: "/x"}},
	} {
		svc := &stub{}
		do(t, "POST", serve(t, svc, row.by)+"/v1/workspaces", `{}`, api.HeaderActor, "name=bob&workspace=w9&dir=%2Fx")
		if svc.actor != row.want {
			t.Errorf("%+v acts as %+v", row.by, svc.actor)
		}
	}
}

// running is a check whose output grows with every look, and that ends.
type running struct {
	croft.UnimplementedService
	parts []string
}

func (s *running) CheckLog(_ context.Context, req croft.CheckLogRequest) (*croft.CheckLog, error) {
	if req.Merge != "m1" || req.Offset > 0 && req.Check != "c1" {
		return nil, &croft.Error{Code: croft.CheckNotFound, Message: "no such check"}
	}
	text := strings.Join(s.parts[:min(1+int(req.Offset), len(s.parts))], "")
	log := croft.CheckLog{Merge: "m1", Check: croft.Check{ID: "c1", State: croft.TryRunning}, Data: []byte(text[min(int(req.Offset), len(text)):]), Next: int64(len(text)), Size: int64(len(text))}
	if len(text) == len(strings.Join(s.parts, "")) {
		log.Check.State = croft.TryPassed
	}
	return &log, nil
}

// TestFollowLog: the output of a check comes as it is printed, and the stream ends with it.
func TestFollowLog(t *testing.T) {
	url := serve(t, &running{parts: []string{"a", "b", "<script>\x1b[31m"}}, everything)
	r, body := do(t, "GET", url+"/v1/merges/m1/log?follow", "")
	if r.StatusCode != http.StatusOK || body != "ab<script>\x1b[31m" || r.Header.Get("Content-Type") != "text/plain; charset=utf-8" || r.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%s %q %v", r.Status, body, r.Header)
	}
	if r, _ := do(t, "GET", url+"/v1/merges/m2/log?follow", ""); r.StatusCode != http.StatusNotFound {
		t.Errorf("%s", r.Status)
	}
}

// lost is a check whose output cannot be read to its end.
type lost struct{ running }

func (s *lost) CheckLog(ctx context.Context, req croft.CheckLogRequest) (*croft.CheckLog, error) {
	if req.Offset > 1 {
		return nil, &croft.Error{Code: croft.CheckNotFound, Message: "its output is not kept any more"}
	}
	return s.running.CheckLog(ctx, req)
}

// TestFollowLogBreaksOff: a reader does not take the part that it got for the whole output.
func TestFollowLogBreaksOff(t *testing.T) {
	url := serve(t, &lost{running{parts: []string{"a", "b", "c", "d"}}}, everything)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/v1/merges/m1/log?follow", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, err := io.ReadAll(response.Body); err == nil || string(text) != "ab" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestNoAccess: a caller without access gets nothing, also where there is nothing.
func TestNoAccess(t *testing.T) {
	url := serve(t, &stub{}, caller.Caller{})
	for _, c := range append(api.Calls(), api.Call{Method: "GET", Path: api.AboutPath}, api.Call{Method: "DELETE", Path: api.CancelPath}, api.Call{Method: "GET", Path: "/v1/none"}) {
		if r, body := do(t, c.Method, url+strings.NewReplacer("{", "", "}", "").Replace(c.Path), ""); r.StatusCode != http.StatusForbidden {
			t.Errorf("%s %s: %s %s", c.Method, c.Path, r.Status, body)
		}
	}
}

// nowhere is a Service that stands in no project.
type nowhere struct{ croft.UnimplementedService }

func (nowhere) Workspaces(context.Context, croft.WorkspacesRequest) (*croft.List[croft.Workspace], error) {
	return nil, &croft.Error{Code: croft.NotARepo, Op: "list", Message: "not in a git repository", Hint: "git init"}
}

// TestNameless: a request that names no project is told to name one; one that does, what is
// wrong with it.
func TestNameless(t *testing.T) {
	url := serve(t, nowhere{}, everything) + "/v1/workspaces"
	if _, body := do(t, "GET", url, ""); !strings.Contains(body, "names no project") || !strings.Contains(body, "repos=all") {
		t.Error(body)
	}
	if _, body := do(t, "GET", url+"?repo=path:/x", ""); !strings.Contains(body, "git init") {
		t.Error(body)
	}
}

// TestUnknown: a path or a method that is not there is a problem, too, and a path that is there
// says which methods it takes.
func TestUnknown(t *testing.T) {
	url := serve(t, &stub{}, everything)
	for _, row := range []struct {
		method, path string
		status       int
		allow        string
	}{
		{"GET", "/v1/none", http.StatusNotFound, ""},
		{"POST", "/v1/", http.StatusNotFound, ""},
		{"PUT", "/v1/workspaces", http.StatusMethodNotAllowed, "GET, POST, HEAD"},
		{"DELETE", "/v1/workspaces", http.StatusMethodNotAllowed, "GET, POST, HEAD"},
		{"PUT", "/v1/workspaces/a%2Fb", http.StatusMethodNotAllowed, "GET, PATCH, HEAD"},
		{"GET", "/v1/workspaces/a/merge", http.StatusMethodNotAllowed, "POST"},
		{"GET", "/v1/calls/a", http.StatusMethodNotAllowed, "DELETE"},
		{"POST", "/v1/events", http.StatusMethodNotAllowed, "GET, HEAD"},
		{"POST", "/v1/events/socket", http.StatusMethodNotAllowed, "GET, HEAD"},
	} {
		r, body := do(t, row.method, url+row.path, "")
		if r.StatusCode != row.status || r.Header.Get("Allow") != row.allow || !strings.Contains(body, "INVALID_REQUEST") || r.Header.Get("Content-Type") != api.ProblemType {
			t.Errorf("%+v: %s, Allow: %s, %s", row, r.Status, r.Header.Get("Allow"), body)
		}
	}
}

// TestLongNameOfCall: a name that could not be called off is refused, not forgotten.
func TestLongNameOfCall(t *testing.T) {
	svc := &stub{}
	url := serve(t, svc, everything) + "/v1/workspaces"
	if r, body := do(t, "POST", url, `{"name":"a"}`, api.HeaderCall, strings.Repeat("x", 101)); r.StatusCode != http.StatusBadRequest || !strings.Contains(body, "longer than 100 bytes") || svc.created.Name != "" {
		t.Errorf("%s %s", r.Status, body)
	}
	if r, body := do(t, "POST", url, `{"name":"a"}`, api.HeaderCall, strings.Repeat("x", 100)); r.StatusCode != http.StatusCreated {
		t.Errorf("%s %s", r.Status, body)
	}
}

// FuzzRequests: no request makes a handler panic.
func FuzzRequests(f *testing.F) {
	f.Add("GET", "/v1/workspaces?limit=1&meta[a]=b", "", "")
	f.Add("POST", "/v1/workspaces/all", `{"workspaces":[{"name":"a"}]}`, `"1"`)
	f.Add("POST", "/v1/reviews/x/apply", `{"hunks":{"a":[1]}}`, "")
	h := rest.New(rest.Options{ServiceFor: func(caller.Caller) (croft.Service, error) { return croft.UnimplementedService{}, nil }, Notices: func() []string { return nil }})
	f.Fuzz(func(t *testing.T, method, target, body, header string) {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://croft"+target, strings.NewReader(body))
		if err != nil {
			return
		}
		r.Header[api.HeaderRevision], r.Header[api.HeaderActor], r.Header["Prefer"] = []string{header}, []string{header}, []string{header}
		h.ServeHTTP(httptest.NewRecorder(), r)
	})
}

// TestNoticesAreFew: an answer has few headers, however much there is to say.
func TestNoticesAreFew(t *testing.T) {
	many := make([]string, 500)
	for i := range many {
		many[i] = strings.Repeat("é", 5000)
	}
	h := rest.New(rest.Options{ServiceFor: func(caller.Caller) (croft.Service, error) { return &stub{}, nil }, Notices: func() []string { return many }})
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/v1/merges/m1", nil)
	h.ServeHTTP(w, r.WithContext(caller.With(r.Context(), caller.Caller{Access: croft.AccessAll})))
	list := w.Header().Values(api.HeaderNotice)
	if w.Code != http.StatusAccepted && w.Code != http.StatusOK || len(list) != 21 || list[20] != "480%20more%20notes%20are%20left%20out" {
		t.Fatalf("%d, %d sentences: %q", w.Code, len(list), list[len(list)-1])
	}
	if len(list[0]) > 4000 {
		t.Errorf("a sentence has %d bytes", len(list[0]))
	}
}
