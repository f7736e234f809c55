package guard

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/caller"
)

// TestValidityEnds: a request that lasts learns that its token was revoked, and that its session
// has ended.
func TestValidityEnds(t *testing.T) {
	tokens := &fakeTokens{revoked: map[string]bool{}}
	g, clock := newGuard(tokens)
	var lasting context.Context
	door := g.TCP(port, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { lasting = r.Context() }))
	begin := func(name, value string) context.Context {
		t.Helper()
		lasting = nil
		door.ServeHTTP(httptest.NewRecorder(), attempt{path: "/v1/events", header: header(name, value)}.request())
		if lasting == nil || !caller.IsValid(lasting) {
			t.Fatalf("%s: it was not let in, or not for long", name)
		}
		return lasting
	}
	byToken := begin("Authorization", "Bearer croft_read")
	form := header("Content-Type", "application/x-www-form-urlencoded", "Origin", "http://127.0.0.1:7450")
	logIn := func(token string) string {
		w := httptest.NewRecorder()
		door.ServeHTTP(w, attempt{method: "POST", path: "/login", header: form, body: "token=" + token}.request())
		cookie, _, _ := strings.Cut(w.Header().Get("Set-Cookie"), ";")
		return cookie
	}
	ofToken, own := begin("Cookie", logIn("croft_read")), begin("Cookie", logIn("croft_all"))
	tokens.mu.Lock()
	tokens.revoked["croft_read"] = true
	tokens.mu.Unlock()
	if caller.IsValid(byToken) || caller.IsValid(ofToken) || !caller.IsValid(own) {
		t.Errorf("after a revocation: %v, %v, %v", caller.IsValid(byToken), caller.IsValid(ofToken), caller.IsValid(own))
	}
	clock.now = clock.now.Add(idleTime + time.Second)
	if caller.IsValid(own) {
		t.Error("the session has ended, and its stream has not")
	}
}
