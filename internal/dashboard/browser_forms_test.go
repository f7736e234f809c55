package dashboard_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/browsertest"
	"github.com/croft-sh/croft/internal/dashboard"
	"github.com/croft-sh/croft/internal/token"
)

// TestBrowserForms loads the pages of reviews, rounds, settings and new workspaces in a real browser.
func TestBrowserForms(t *testing.T) {
	b := browsertest.Launch(t)
	t.Run("looks", func(t *testing.T) { testFormLooks(t, b) })
	for _, script := range []browsertest.Script{browsertest.ScriptOn, browsertest.ScriptOff} {
		t.Run("review"+string(script), func(t *testing.T) { testReviewInBrowser(t, b, script) })
		t.Run("forms"+string(script), func(t *testing.T) { testFormsInBrowser(t, b, script) })
	}
	t.Run("keys", func(t *testing.T) { testReviewKeys(t, b) })
	t.Run("long", func(t *testing.T) { testLongReview(t, b) })
}

// furnishForms makes what these pages show, and returns the pages.
func (s *site) furnishForms() []namedPage {
	t := s.t
	t.Helper()
	s.git.Write("internal/cart/total.go", numbered(40))
	s.git.Write("internal/checkout/handler.go", numbered(80))
	s.git.Commit("files")
	ws := s.make("checkout-idempotency", map[string]string{
		"internal/cart/total.go": numbered(40, 20), "internal/checkout/handler.go": numbered(80, 3, 40, 75), "internal/checkout/seen.go": "package checkout\n\nconst keyTTL = 24\n",
		"web/lock.json": numbered(900),
	})
	victim := s.post(s.at(s.make("victim", map[string]string{hostileName: hostile + "\n"}), "review"))
	review := s.post(s.at(ws, "review"))
	s.git.Write("internal/cart/total.go", numbered(40, 21))
	s.git.Write("croft.toml", "[merge]\nchecks = [\"go vet ./...\", \"go test ./...\", \"curl -fsSL https://licences.example.org/check.sh | sh -s -- --fail-on=gpl\"]\n")
	s.git.Commit("elsewhere")
	session, round := s.furnishRounds()
	if _, err := s.svc.EndRound(t.Context(), croft.EndRoundRequest{Round: round.ID}); err != nil {
		t.Fatal(err)
	}
	path := s.in("rounds/" + string(session.ID))
	s.git.Git("config", "user.name", "Mallory <b>")
	return []namedPage{
		{"review", review},
		{"reviewhostile", victim},
		{"reviewfile", review + "/file?path=" + url.QueryEscape("web/lock.json")},
		{"rounds", "/rounds"},
		{"session", path},
		{"sessionnames", path + "?names=show"},
		{"endsession", path + "/end"},
		{"attempt", path + "/attempt/" + string(round.Workspaces[0].ID)},
		{"new", "/new"},
		{"settings", s.in("settings")},
		{"allsettings", "/settings"},
	}
}

// serveSettings serves the dashboard with tokens and a configuration.
func (s *site) serveSettings() {
	s.t.Helper()
	store := token.Open(s.t.TempDir())
	for _, name := range []string{"orchestrator", "ci-reader"} {
		if _, _, err := store.Make(s.t.Context(), token.Request{Name: name, Access: croft.AccessRead}); err != nil {
			s.t.Fatal(err)
		}
	}
	s.serve(dashboard.New(s.svc, dashboard.Options{
		Tokens: tokenStore{store}, About: dashboard.About{Version: "0.9.0", Socket: "/run/user/1000/croft/daemon.sock", StateDir: "/home/ada/.local/state/croft"},
		Settings: func(croft.Repo) ([]dashboard.Setting, error) {
			return []dashboard.Setting{{Key: "limits.max_workers", Value: "32", Source: "croft.toml:3"}, {Key: "commit.hold_back", Value: ".env,.env.*,*.pem,*.key", Source: "default"}}, nil
		},
	}))
}

func testFormLooks(t *testing.T, b *browsertest.Browser) {
	s := newSite(t)
	s.serveSettings()
	pages := s.furnishForms()
	lookAtPages(t, b.Open(t, s.url, browsertest.ScriptOn), s.url, pages)
}

// testReviewInBrowser leaves one hunk of a file, and takes the rest.
func testReviewInBrowser(t *testing.T, b *browsertest.Browser, script browsertest.Script) {
	s := newSite(t)
	s.git.Write("two.txt", numbered(40))
	s.git.Commit("files")
	ws := s.make("fix", map[string]string{"two.txt": numbered(40, 3, 35), "new.txt": "new\n"})
	p := b.Open(t, s.url, script)
	p.Go(s.url + s.at(ws, ""))
	p.Click(`details.menu.end summary`)
	p.Follow(`form[action$="/review"] button`)
	p.Click(`input[value="two.txt:1"]`)
	if script == browsertest.ScriptOn {
		p.WaitFor(`document.querySelector("#chosen").innerText==="2 of 2 files, 2 of 3 hunks"`)
		p.WaitFor(`document.querySelector('input[name=path][value="two.txt"]').indeterminate`)
		p.Click(`input[name=path][value="new.txt"]`)
		p.WaitFor(`!document.querySelector('input[value="new.txt:1"]').checked`)
		p.Click(`input[name=path][value="new.txt"]`)
		p.WaitFor(`document.querySelector('input[value="new.txt:1"]').checked`)
	}
	p.Follow(`#apply`)
	u, err := url.Parse(p.Path())
	if err != nil {
		t.Fatal(err)
	}
	s.wait(croft.ID(u.Query().Get("applied")))
	p.Go(s.url + p.Path())
	if text := p.Text("#applied"); !strings.Contains(text, "Applied to main") {
		t.Errorf("the page says %q", text)
	}
	if got := s.git.Git("show", "main:two.txt"); got != strings.TrimSuffix(numbered(40, 35), "\n") {
		t.Errorf("main has\n%s", got)
	}
	if s.forged > 0 {
		t.Errorf("%d forms had no token", s.forged)
	}
}

// testFormsInBrowser makes workspaces, ends and presents a round, allows checks and makes a token.
func testFormsInBrowser(t *testing.T, b *browsertest.Browser, script browsertest.Script) {
	s := newSite(t)
	s.serveSettings()
	p := b.Open(t, s.url, script)
	p.Go(s.url + "/new")
	p.Click("#n-count")
	p.Press("2")
	p.Follow(`button[value=plan]`)
	if text := p.Text("#plan"); text != "2 workspaces would be made" {
		t.Errorf("the plan says %q", text)
	}
	p.Follow(`button[value=make]`)
	if n := len(strings.Fields(s.names())); n != 2 {
		t.Errorf("%d workspaces were made", n)
	}
	session, _ := s.furnishRounds()
	p.Go(s.url + s.in("rounds"))
	p.Follow(`tbody a.name`)
	p.Follow(`a[href$="/end"].btn`)
	p.Follow(`main .btn.danger`)
	p.Click(`input[name=winner]`)
	p.Follow(`main form .btn.primary`)
	if text := p.Text("h1"); !strings.HasPrefix(text, "Review of") {
		t.Errorf("presenting leads to %q", text)
	}
	p.Go(s.url + s.in("rounds/"+string(session.ID)))
	p.Click(`details.menu.end summary`)
	p.Follow(`.menu-pop a.danger`)
	p.Follow(`main .btn.danger`)
	s.git.Write("croft.toml", "[merge]\nchecks = [\"true\"]\n")
	s.git.Commit("checks")
	p.Go(s.url + s.in("settings"))
	p.Follow(`#trust form button`)
	if text := p.Text("#trust"); !strings.Contains(text, "None asks now") {
		t.Errorf("the checks are not allowed: %q", text)
	}
	p.Click("#tn")
	p.Press("x")
	p.Follow(`#tokens .panel-foot button`)
	if text := p.Text(".callout"); !strings.Contains(text, "croft_") {
		t.Errorf("no secret: %q", text)
	}
	p.Follow(`#keys-list button`)
	if text := p.Text("#keys-list"); !strings.Contains(text, "Single keys are off") {
		t.Errorf("keys: %q", text)
	}
	if s.forged > 0 {
		t.Errorf("%d forms had no token", s.forged)
	}
}

// testReviewKeys takes a hunk with the keyboard alone.
func testReviewKeys(t *testing.T, b *browsertest.Browser) {
	s, _, review := newReview(t)
	p := b.Open(t, s.url, browsertest.ScriptOn)
	p.Go(s.url + review)
	p.Press("n")
	p.WaitFor(`document.activeElement.matches('input[name=path]')`)
	p.Press("m")
	p.WaitFor(`document.activeElement.id==="apply"`)
	p.Press("g")
	p.PressAndLoad("s")
	if path := p.Path(); path != s.in("settings") {
		t.Errorf("g s leads to %s", path)
	}
	p.Press("g")
	p.PressAndLoad("r")
	if path := p.Path(); path != s.in("rounds") {
		t.Errorf("g r leads to %s", path)
	}
}

// testLongReview opens a long file of a review on request. What it shows of it never stands for all of it.
func testLongReview(t *testing.T, b *browsertest.Browser) {
	s := newSite(t)
	ws := s.make("long", map[string]string{"long.txt": numbered(20_000)})
	review := s.post(s.at(ws, "review"))
	p := b.Open(t, s.url, browsertest.ScriptOn)
	begun := time.Now()
	p.Go(s.url + review)
	p.Click("details.more summary")
	p.WaitFor(fmt.Sprintf(`document.querySelectorAll(".pick .cd").length===%d`, linesOfPage))
	t.Logf("20,000 lines: shown after %v", time.Since(begun))
	p.Click(`input[value="long.txt:1"]`)
	p.WaitFor(`document.querySelector('input[name=path]').indeterminate && !document.querySelector('input[name=path]').checked`)
}

// TestBrowserLogin: the page of the login in a browser, and without a session.
func TestBrowserLogin(t *testing.T) {
	b := browsertest.Launch(t)
	s := newSite(t)
	s.serve(loginOnly{dashboard.New(s.svc, dashboard.Options{})})
	pages := []namedPage{{"login", "/"}, {"loginfailed", "/?failed=1"}, {"error", "/error"}}
	lookAtPages(t, b.Open(t, s.url, browsertest.ScriptOn), s.url, pages)
}

// loginOnly shows the pages of the login and of errors.
type loginOnly struct{ *dashboard.Handler }

func (l loginOnly) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case l.IsPublic(r.URL.Path):
		l.Handler.ServeHTTP(w, r)
	case r.URL.Path == "/error":
		l.Error(w, r, &croft.Error{Code: croft.AccessDenied, Op: "serve", Message: "the request comes from another web page"})
	case r.URL.Query().Get("failed") != "":
		l.Login(w, r, dashboard.Login{Next: "/", Failed: "the token is not known, or was revoked"})
	default:
		l.Login(w, r, dashboard.Login{Next: "/"})
	}
}
