package api

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

// TestRefused: what does not fit a request is refused, and not taken for a default.
func TestRefused(t *testing.T) {
	for _, row := range []struct {
		call, target, body string
		header             http.Header
		want               croft.Code
	}{
		{"Workspaces", "/v1/workspaces?agents=x", "", nil, croft.InvalidRequest},
		{"Workspaces", "/v1/workspaces?limit=x", "", nil, croft.InvalidRequest},
		{"Workspaces", "/v1/workspaces?limit=1&limit=2", "", nil, croft.InvalidRequest},
		{"Workspaces", "/v1/workspaces?meta=x", "", nil, croft.InvalidRequest},
		{"Workspaces", "/v1/workspaces?limit[a]=x", "", nil, croft.InvalidRequest},
		{"Workspaces", "/v1/workspaces?look=1", "", nil, croft.InvalidRequest},
		{"Workspaces", "/v1/workspaces?a;b", "", nil, croft.InvalidRequest},
		{"Create", "/v1/workspaces", `{"nmae":"x"}`, nil, croft.InvalidRequest},
		{"Create", "/v1/workspaces", `{"name":1}`, nil, croft.InvalidRequest},
		{"Create", "/v1/workspaces", `{} {}`, nil, croft.InvalidRequest},
		{"Create", "/v1/workspaces", `[`, nil, croft.InvalidRequest},
		{"Create", "/v1/workspaces?name=x", `{}`, nil, croft.InvalidRequest},
		{"Create", "/v1/workspaces", `{"name":"` + strings.Repeat("x", 2000) + `"}`, nil, croft.RequestTooLarge},
		{"Create", "/v1/workspaces", `{"key":"a"}`, http.Header{HeaderKey: {"b"}}, croft.InvalidRequest},
		{"Renew", "/v1/leases/x/renew", `{}`, http.Header{HeaderKey: {"b"}}, croft.InvalidRequest},
		{"Create", "/v1/workspaces", `{}`, http.Header{HeaderRevision: {`"1"`}}, croft.InvalidRequest},
		{"Lock", "/v1/workspaces/a/lock", `{}`, http.Header{HeaderRevision: {`"x"`}}, croft.InvalidRequest},
		{"Lock", "/v1/workspaces/a/lock", `{"ifRevision":2}`, http.Header{HeaderRevision: {`"1"`}}, croft.InvalidRequest},
		{"Lock", "/v1/workspaces/a/lock", `{"workspace":"b"}`, nil, croft.InvalidRequest},
	} {
		c := ByName(row.call)
		var failure error
		mux := http.NewServeMux()
		mux.HandleFunc(c.Method+" "+c.Path, func(w http.ResponseWriter, r *http.Request) {
			r.Body = http.MaxBytesReader(w, r.Body, 1000)
			switch row.call {
			case "Workspaces":
				failure = ReadRequest(c, r, new(croft.WorkspacesRequest))
			case "Create":
				failure = ReadRequest(c, r, new(croft.CreateRequest))
			case "Renew":
				failure = ReadRequest(c, r, new(croft.RenewRequest))
			case "Lock":
				failure = ReadRequest(c, r, new(croft.LockRequest))
			}
		})
		r := httptest.NewRequest(c.Method, row.target, strings.NewReader(row.body))
		r.Header = row.header
		if r.Header == nil {
			r.Header = http.Header{}
		}
		mux.ServeHTTP(httptest.NewRecorder(), r)
		if !errors.Is(failure, row.want) {
			t.Errorf("%s %s %v: %v", row.target, row.body, row.header, failure)
		}
	}
}

// TestHeaders: a key and a revision may be headers.
func TestHeaders(t *testing.T) {
	r := httptest.NewRequest(http.MethodPost, "/v1/workspaces/a/lock", strings.NewReader(`{"reason":"x"}`))
	r.SetPathValue("workspace", "a")
	r.Header.Set(HeaderKey, "k")
	r.Header.Set(HeaderRevision, `"7"`)
	var req croft.LockRequest
	if err := ReadRequest(ByName("Lock"), r, &req); err != nil || req != (croft.LockRequest{Key: "k", Workspace: "a", Reason: "x", IfRevision: 7}) {
		t.Errorf("%+v, %v", req, err)
	}
}

// TestListsAreEncodedAlike: a list of workspaces is the same JSON as encoding/json makes of
// it.
func TestListsAreEncodedAlike(t *testing.T) {
	for _, n := range []int{0, 1, 3} {
		list := &croft.List[croft.Workspace]{Next: "<n>", Cursor: "c", Unseen: []croft.ID{"u"}}
		for range n {
			w := croft.Workspace{ID: "w", Name: "<script>\u2028\"", Meta: map[string]string{"a": "&"}, MergeStatus: croft.MergeMerged}
			list.Items = append(list.Items, w)
		}
		if n == 0 {
			list.Items = []croft.Workspace{}
		}
		want, err := json.Marshal(list)
		got, failed := encode(list)
		if err != nil || failed != nil || string(got) != string(want) {
			t.Errorf("%d: %s\n%s, %v, %v", n, got, want, err, failed)
		}
	}
}

// TestNotUTF8: a text that JSON would change is not sent.
func TestNotUTF8(t *testing.T) {
	_, err := NewRequest(t.Context(), "http://x", ByName("Create"), croft.CreateRequest{Meta: map[string]string{"a": "\xff"}})
	if !errors.Is(err, croft.InvalidName) {
		t.Error(err)
	}
}

// TestErrorsArrive: an error arrives with all that it has, but for its cause.
func TestErrorsArrive(t *testing.T) {
	for _, code := range croft.Codes() {
		sent := &croft.Error{Code: code, Op: "create", Workspace: "a", Message: "m", Details: "d", Hint: "h", Fields: map[string]string{"k": "v"}, Err: io.EOF}
		w := httptest.NewRecorder()
		WriteError(w, "x", sent)
		response := w.Result()
		var got *croft.Error
		if err := ReadAnswer(response, nil); !errors.As(err, &got) || got.Code != code || got.Op != "create" || got.Workspace != "a" || got.Message != "m" ||
			got.Details != "d" || got.Hint != "h" || got.Fields["k"] != "v" || got.Err != nil {
			t.Errorf("%s: %+v", code, err)
		}
		if response.StatusCode != code.HTTPStatus() || (response.Header.Get("Retry-After") != "") != code.Retryable() || response.Header.Get("Content-Type") != ProblemType {
			t.Errorf("%s: %s %v", code, response.Status, response.Header)
		}
	}
}
