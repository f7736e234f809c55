package dashboard_test

import (
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/dashboard"
)

var keyField = regexp.MustCompile(`name="key" value="([A-Z0-9]+)"`)

// acts counts the acts of a kind.
func (s *site) acts(kind string) int {
	s.t.Helper()
	list, err := s.svc.History(s.t.Context(), croft.HistoryRequest{})
	if err != nil {
		s.t.Fatal(err)
	}
	n := 0
	for _, op := range list.Items {
		if op.Kind == kind {
			n++
		}
	}
	return n
}

// TestSentTwice: a form acts once, however often it is sent: at the same time, later, and to a server that has
// been started since. Another form acts again.
func TestSentTwice(t *testing.T) {
	s := newSite(t)
	ws := s.make("fix", map[string]string{"a.txt": "a\n"})
	first := keyField.FindStringSubmatch(s.get(s.at(ws, "snapshots")))[1]
	send := func(key string) string {
		return s.post(s.at(ws, "snapshot"), "key", key, "back", s.at(ws, "snapshots"))
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { send(first) })
	}
	wg.Wait()
	if to := send(first); to != s.at(ws, "snapshots") {
		t.Errorf("a form that was sent before leads to %s", to)
	}
	s.serve(dashboard.New(s.svc, dashboard.Options{}))
	send(first)
	if n := s.acts("snapshot"); n != 1 {
		t.Errorf("%d snapshots were saved", n)
	}
	second := keyField.FindStringSubmatch(s.get(s.at(ws, "snapshots")))[1]
	if second == first {
		t.Fatal("two loads of a page have the same key")
	}
	send(second)
	if n := s.acts("snapshot"); n != 2 {
		t.Errorf("%d snapshots, another form was sent", n)
	}
}

// TestSentTwiceIsNoFailure: a second click on a button that cannot be used twice leads to where the first does.
func TestSentTwiceIsNoFailure(t *testing.T) {
	s := newSite(t)
	ws := s.make("fix", map[string]string{"a.txt": "a\n"})
	if _, err := s.svc.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: croft.ByID(ws.ID)}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s.post(s.at(ws, "cancel"), "key", "K", "back", "/")
	}
	if a := s.send(s.at(ws, "cancel"), "key", "L"); a.status != http.StatusNotFound {
		t.Errorf("another form, of a merge that does not wait: %d", a.status)
	}
	// What failed is tried again.
	if _, err := s.svc.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: croft.ByID(ws.ID)}); err != nil {
		t.Fatal(err)
	}
	s.post(s.at(ws, "cancel"), "key", "L", "back", "/")
}

// TestTokenOnce: the form of a token makes one.
func TestTokenOnce(t *testing.T) {
	s := newSite(t)
	s.serveSettings()
	one := s.send("/settings", "key", "K", "name", "mine", "access", "read")
	two := s.send("/settings", "key", "K", "name", "mine", "access", "read")
	secret := regexp.MustCompile(`croft_[A-Za-z0-9_-]+`)
	if a, b := secret.FindString(one.body), secret.FindString(two.body); a == "" || a != b {
		t.Errorf("the secrets %q and %q", a, b)
	}
	if n := strings.Count(s.get("/settings"), "<bdi>mine</bdi>"); n != 1 {
		t.Errorf("%d tokens", n)
	}
}

// TestEveryFormHasAKey: no form that posts is without one.
func TestEveryFormHasAKey(t *testing.T) {
	s := newSite(t, "true")
	s.serveSettings()
	form := regexp.MustCompile(`(?s)<form[^>]* method="post"[^>]*>.*?</form>`)
	for _, page := range append(s.furnish(), s.furnishForms()...) {
		body := s.do(http.MethodGet, page.path, nil).body
		seen := map[string]bool{}
		for _, f := range form.FindAllString(body, -1) {
			m := keyField.FindStringSubmatch(f)
			if m == nil || seen[m[1]] {
				t.Errorf("%s: a form without a key of its own: %.200s", page.name, f)
				continue
			}
			seen[m[1]] = true
		}
	}
}
