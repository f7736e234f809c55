package web_test

import (
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/api"
)

// belongings are what there is of a workspace, by the words with which it can be named.
type belongings struct {
	ws    croft.Workspace
	names []string
}

// furnish makes a workspace with one of everything that belongs to one.
func (v *victim) furnish(name string) belongings {
	v.t.Helper()
	ctx, t := v.t.Context(), v.t
	ws := v.make(name, "TEXT-OF-"+name+"\n")
	ref := croft.ByID(ws.ID)
	b := belongings{ws: ws}
	must := func(id croft.ID, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		b.names = append(b.names, string(id), croft.ByID(id))
	}
	snapshot, err := v.svc.TakeSnapshot(ctx, croft.SnapshotRequest{Workspace: ref, Reason: "REASON-OF-" + name})
	must(snapshot.ID, err)
	review, err := v.svc.CreateReview(ctx, croft.ReviewRequest{Workspace: ref})
	must(review.ID, err)
	lease, err := v.svc.TakeLease(ctx, croft.LeaseRequest{Workspace: ref})
	must(lease.ID, err)
	merge, err := v.svc.SubmitMerge(ctx, croft.MergeRequest{Workspace: ref})
	must(merge.ID, err)
	must(v.operations()[0].ID, nil)
	must(ws.ID, nil)
	b.names = append(b.names, name, croft.ByName(name), ws.Path, croft.ByPath(ws.Path), ws.Branch, filepath.Join(ws.Path, name+".txt"))
	return b
}

// TestAgentOnAnothersWorkspace names what belongs to another workspace in every parameter of
// every call, with the token of an agent: no answer tells of it, nothing of it changes, and no
// operation about it is journalled.
func TestAgentOnAnothersWorkspace(t *testing.T) {
	v := newVictim(t)
	theirs := v.furnish("theirs")
	mine := v.make("mine", "mine\n")
	secret := v.token("agent", croft.AccessWorkspace, mine.ID)
	before, at := v.workspace(theirs.ws.ID), len(v.operations())
	made, statuses := 0, map[int]int{}
	for _, p := range parameters(t) {
		if word, _, _ := strings.Cut(p.name, "."); slices.Contains([]string{"key", "meta", "owner", "reason"}, word) {
			continue // words of the agent's own, which later answers have
		}
		for i, value := range theirs.names {
			if (i+len(p.name)+len(p.call.Name))%every != 0 {
				continue
			}
			for _, workspace := range []string{"mine", value} {
				made++
				a := v.send(p, value, workspace, secret)
				statuses[a.status]++
				if a.status >= 500 {
					t.Errorf("%s with %s=%q: %d %.300s", p.call.Name, p.name, value, a.status, a.body)
				}
				for _, word := range []string{"TEXT-OF-theirs", "REASON-OF-theirs", theirs.ws.Branch, theirs.ws.Path, string(theirs.ws.ID), "theirs.txt"} {
					if strings.Contains(strings.ReplaceAll(a.body, value, ""), word) && !strings.Contains(value, word) {
						t.Errorf("%s with %s=%q and workspace %q tells of %s: %d %.400s", p.call.Name, p.name, value, workspace, word, a.status, a.body)
					}
				}
			}
		}
	}
	if now := v.workspace(theirs.ws.ID); now.Revision != before.Revision || now.State != before.State || now.Head != before.Head {
		t.Errorf("it was changed:\n%+v\n%+v", before, now)
	}
	all := v.operations()
	for _, op := range all[:len(all)-at] {
		if op.Workspace == theirs.ws.ID || slices.Contains(op.Workspaces, theirs.ws.ID) || op.ActorWorkspace != mine.ID {
			t.Errorf("an operation was done: %+v", op)
		}
	}
	if text, err := os.ReadFile(filepath.Join(theirs.ws.Path, "theirs.txt")); err != nil || string(text) != "TEXT-OF-theirs\n" {
		t.Errorf("%q, %v", text, err)
	}
	t.Logf("%d requests, by status %v", made, statuses)
}

func (v *victim) workspace(id croft.ID) croft.Workspace {
	v.t.Helper()
	ws, err := v.svc.Workspace(v.t.Context(), croft.WorkspaceRequest{Ref: croft.ByID(id)})
	if err != nil {
		v.t.Fatal(err)
	}
	return *ws
}

// TestRefusedCallers makes every call without a token, with a wrong one, and every call that
// changes something with a token that only reads: none does anything, and but for those of the
// reader none reaches a handler.
func TestRefusedCallers(t *testing.T) {
	v := newVictim(t)
	ws := v.make("mine", "mine\n")
	reader := v.token("reader", croft.AccessRead, "")
	at := len(v.operations())
	for _, c := range api.Calls() {
		path := pathOf(c.Path, string(ws.ID))
		body := `{"repo":"path:` + v.git.Dir + `"}`
		if c.Method == http.MethodGet {
			body = ""
		}
		reached := len(v.since(0))
		for what, secret := range map[string]string{"none": "", "wrong": "croft_" + strings.Repeat("a", 43), "half": reader[:len(reader)-1]} {
			if a := v.try(c.Method, path, secret, body); a.status != http.StatusUnauthorized && a.status != http.StatusTooManyRequests {
				t.Errorf("%s with a token that is %s: %d %.200s", c.Name, what, a.status, a.body)
			}
		}
		if got := v.since(reached); len(got) > 0 {
			t.Errorf("%s: reached %v", c.Name, got)
		}
		if c.Method == http.MethodGet {
			continue
		}
		if a := v.try(c.Method, path, reader, body); a.status < 400 && !slices.Contains(planned, c.Name) {
			t.Errorf("%s by a reader: %d %.200s", c.Name, a.status, a.body)
		}
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodOptions, "TRACE", "PROPFIND"} {
			v.try(method, path+"?repo=path:"+v.git.Dir, v.token(rename(method, c.Name), croft.AccessAll, ""), "")
		}
	}
	if now := v.operations(); len(now) != at {
		t.Errorf("done: %+v", now[:len(now)-at])
	}
}

// planned are the calls with a body that change nothing.
var planned = []string{"PlanCreate", "PlanProvision", "Doctor"}

// rename makes the name of a token from parts.
func rename(parts ...string) string { return strings.ToLower(strings.Join(parts, "-")) }

// TestHosts: a name that is not this machine's, whatever it resolves to, reaches nothing, with a
// right token too.
func TestHosts(t *testing.T) {
	v := newVictim(t)
	secret := v.token("all", croft.AccessAll, "")
	port := strings.TrimPrefix(v.url, "http://127.0.0.1:")
	hosts := map[string]string{
		"evil.test": "evil.test:" + port, "none": "127.0.0.1", "other port": "127.0.0.1:1", "zero": "0.0.0.0:" + port, "127.1": "127.1:" + port, "decimal": "2130706433:" + port,
		"suffix": "127.0.0.1.evil.test:" + port, "dot": "localhost.:" + port, "case": "LOCALHOST:" + port, "mapped": "[::ffff:127.0.0.1]:" + port, "user": "127.0.0.1:" + port + "@evil.test",
	}
	for _, what := range slices.Sorted(maps.Keys(hosts)) {
		for _, path := range []string{"/v1/workspaces?repos=all", "/", "/healthz", "/login", "/v1/events"} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, v.url+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Host = hosts[what]
			r.Header.Set("Authorization", "Bearer "+secret)
			response, err := http.DefaultTransport.RoundTrip(r)
			if err != nil {
				continue // the library refuses to send it
			}
			_ = response.Body.Close()
			if response.StatusCode != http.StatusForbidden && response.StatusCode != http.StatusBadRequest {
				t.Errorf("%s %s: %s", what, path, response.Status)
			}
		}
	}
	if got := v.since(0); len(got) > 0 {
		t.Errorf("reached: %v", got)
	}
}
