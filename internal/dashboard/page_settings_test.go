package dashboard_test

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/dashboard"
	"github.com/croft-sh/croft/internal/token"
)

// tokenStore is the tokens of a state directory, as the daemon gives them to the dashboard.
type tokenStore struct{ *token.Store }

func (s tokenStore) Make(ctx context.Context, name string, access croft.Access, workspace croft.ID) (croft.Token, string, error) {
	return s.Store.Make(ctx, token.Request{Name: name, Access: access, Workspace: workspace})
}

// newSettings serves a dashboard that has tokens and a configuration.
func newSettings(t *testing.T) (*site, *token.Store) {
	t.Helper()
	s := newSite(t)
	store := token.Open(t.TempDir())
	s.serve(dashboard.New(s.svc, dashboard.Options{
		Tokens: tokenStore{store}, About: dashboard.About{Version: "1.2.3", Socket: "/run/croft.sock", StateDir: "/var/croft"},
		Settings: func(croft.Repo) ([]dashboard.Setting, error) {
			return []dashboard.Setting{{Key: "merge.batch", Value: "<b>16", Source: "croft.toml"}}, nil
		},
	}))
	return s, store
}

// field is the value of a hidden field of the form with an action.
func field(t *testing.T, page, action, name string) string {
	t.Helper()
	form := regexp.MustCompile(`(?s)<form [^>]*action="` + regexp.QuoteMeta(action) + `".*?</form>`).FindString(page)
	m := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(form)
	if m == nil {
		t.Fatalf("no field %s in a form of %s:\n%s", name, action, mainOf(page))
	}
	return m[1]
}

// TestAllowChecks: the commands that were shown are allowed, and no others.
func TestAllowChecks(t *testing.T) {
	s, _ := newSettings(t)
	s.git.Write("croft.toml", "[merge]\nchecks = [\"true '<b>'\", \"true 2\"]\n")
	s.git.Commit("checks")
	page := s.get("/settings")
	want(t, "settings", page, "1 to look at", "true &#39;&lt;b&gt;&#39;", "Allow these 2 commands")
	old := field(t, page, s.in("trust"), "hash")
	s.git.Write("croft.toml", "[merge]\nchecks = [\"curl evil\"]\n")
	s.git.Commit("others")
	if a := s.send(s.in("trust"), "target", "main", "hash", old); a.status < 400 || !strings.Contains(a.body, "These are not the checks that you saw") {
		t.Errorf("other checks were allowed: %d\n%s", a.status, mainOf(a.body))
	}
	for _, fields := range [][]string{{"target", "main"}, {"hash", old}, {"target", "%zz", "hash", old}} {
		if a := s.send(s.in("trust"), fields...); a.status < 400 {
			t.Errorf("%v: %d", fields, a.status)
		}
	}
	s.post(s.in("trust"), "target", "main", "hash", field(t, s.get("/settings"), s.in("trust"), "hash"))
	want(t, "settings", s.get(s.in("settings")), "None asks now", "curl evil", "ada")
}

// TestAcceptTarget: the commit that was shown is accepted, and no other.
func TestAcceptTarget(t *testing.T) {
	s, _ := newSettings(t)
	s.merge(s.make("first", map[string]string{"a.txt": "a\n"}))
	if strings.Contains(s.get("/settings"), "moved by themselves") {
		t.Error("only the lane moved the target")
	}
	s.git.Write("by-hand.txt", "x\n")
	s.git.Commit("<script>by hand")
	page := s.get("/settings")
	want(t, "settings", page, "Targets that moved by themselves", "&lt;script&gt;by hand")
	shown := field(t, page, s.in("accept"), "commit")
	s.git.Write("by-hand.txt", "y\n")
	s.git.Commit("again")
	if a := s.send(s.in("accept"), "target", "main", "commit", shown); a.status != http.StatusConflict && a.status != http.StatusPreconditionFailed {
		t.Errorf("another commit was accepted: %d", a.status)
	}
	s.post(s.in("accept"), "target", "main", "commit", field(t, s.get("/settings"), s.in("accept"), "commit"))
	if strings.Contains(s.get("/settings"), "moved by themselves") {
		t.Error("the target was not accepted")
	}
}

// TestAcceptGitConfig: a change is shown with its values to whom may accept it, and without to a reader.
func TestAcceptGitConfig(t *testing.T) {
	s, _ := newSettings(t)
	s.make("first", nil)
	s.git.Git("config", "user.name", "<b>Mallory")
	page := s.get("/settings")
	want(t, "settings", page, "Git configuration that changed", "user.name", "&lt;b&gt;Mallory", "Accept 1 change")
	hash := field(t, page, s.in("git-config"), "hash")
	s.who.Access = croft.AccessRead
	if reader := s.get("/settings"); strings.Contains(reader, "Mallory") || !strings.Contains(reader, "user.name") {
		t.Error("a reader sees the values, or no keys")
	}
	s.who.Access = croft.AccessAll
	s.git.Git("config", "user.name", "Eve")
	if a := s.send(s.in("git-config"), "hash", hash); a.status < 400 {
		t.Errorf("another change was accepted: %d", a.status)
	}
	s.post(s.in("git-config"), "hash", field(t, s.get("/settings"), s.in("git-config"), "hash"))
	if strings.Contains(s.get("/settings"), "Git configuration that changed") {
		t.Error("the change was not accepted")
	}
}

// TestTokens: a secret is shown once, by the answer that made it, and a token that is revoked is gone.
func TestTokens(t *testing.T) {
	s, store := newSettings(t)
	ws := s.make("fix", nil)
	a := s.send("/settings", "name", "ci", "access", "read")
	if a.status != http.StatusOK || a.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d, %s", a.status, a.header.Get("Cache-Control"))
	}
	secret := regexp.MustCompile(`data-copy="(croft_[^"]+)"`).FindStringSubmatch(a.body)
	if secret == nil {
		t.Fatalf("no secret:\n%s", mainOf(a.body))
	}
	if got, err := store.Find(secret[1]); err != nil || got.Name != "ci" || got.Access != croft.AccessRead {
		t.Errorf("%+v, %v", got, err)
	}
	page := s.get("/settings")
	want(t, "settings", page, "<bdi>ci</bdi>", "look only")
	if strings.Contains(page, "croft_") {
		t.Error("the secret is shown twice")
	}
	s.send("/settings", "name", "agent", "access", "workspace:"+string(ws.ID))
	want(t, "settings", s.get("/settings"), "only <bdi>fix</bdi>")
	for _, fields := range [][]string{{"name", "ci", "access", "read"}, {"name", "<b>", "access", "read"}, {"name", "x", "access", "root"}, {"name", "y", "access", "workspace:"}} {
		if a := s.send("/settings", fields...); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, `id="tw"`) || strings.Contains(a.body, "croft_") {
			t.Errorf("%v: %d\n%s", fields, a.status, mainOf(a.body))
		}
	}
	id := regexp.MustCompile(`action="(/tokens/[^"]+)"`).FindStringSubmatch(page)[1]
	s.post(id)
	if _, err := store.Find(secret[1]); err == nil {
		t.Error("the token was not revoked")
	}
	if a := s.send(id); a.status != http.StatusNotFound {
		t.Errorf("revoked twice: %d", a.status)
	}
}

// TestSettingsForAReader: no tokens, and no form but the one that signs out.
func TestSettingsForAReader(t *testing.T) {
	s, store := newSettings(t)
	if _, _, err := store.Make(t.Context(), token.Request{Name: "hidden", Access: croft.AccessAll}); err != nil {
		t.Fatal(err)
	}
	want(t, "settings", s.get(s.in("settings")), "merge.batch", "&lt;b&gt;16", "croft.toml", "1.2.3", "/run/croft.sock", "/var/croft", "Turn single keys off", `action="/logout"`)
	s.who.Access = croft.AccessRead
	page := withoutTheme(s.get(s.in("settings")))
	for _, form := range regexp.MustCompile(`<form [^>]*method="post"[^>]*>`).FindAllString(page, -1) {
		if !strings.Contains(form, `action="/logout"`) {
			t.Errorf("a reader sees %s", form)
		}
	}
	if strings.Contains(page, "hidden<") {
		t.Error("a reader sees tokens")
	}
	for _, path := range []string{"/settings", s.in("settings"), "/tokens/x", s.in("trust"), s.in("accept"), s.in("git-config")} {
		if a := s.send(path, "name", "mine", "access", "all"); a.status != http.StatusForbidden {
			t.Errorf("%s: %d", path, a.status)
		}
	}
}

// TestKeysAreTurnedOff: a cookie, without the script.
func TestKeysAreTurnedOff(t *testing.T) {
	s, _ := newSettings(t)
	a := s.send("/keys", "keys", "off", "back", "/settings")
	if a.status != http.StatusSeeOther || a.header.Get("Location") != "/settings" || !strings.Contains(a.header.Get("Set-Cookie"), "keys=off") {
		t.Errorf("%d %v", a.status, a.header)
	}
}

// TestWithdrawChecks: what was allowed can be withdrawn, and asks again.
func TestWithdrawChecks(t *testing.T) {
	s := newSite(t, "true")
	s.serveSettings()
	page := s.get("/settings")
	want(t, "settings", page, "None asks now", "Withdraw the checks of")
	hash := field(t, page, s.in("withdraw"), "hash")
	if a := s.send(s.in("withdraw"), "target", "main", "hash", strings.Repeat("0", 64)); a.status < 400 {
		t.Errorf("other checks were withdrawn: %d", a.status)
	}
	s.post(s.in("withdraw"), "target", "main", "hash", hash, "back", "/settings")
	want(t, "settings", s.get("/settings"), "1 to look at", "Allow this command")
	s.who.Access = croft.AccessRead
	if strings.Contains(s.get("/settings"), "withdraw") {
		t.Error("a reader is shown the form")
	}
}
