package web_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/daemon/guard"
	"github.com/croft-sh/croft/internal/daemon/stream"
	"github.com/croft-sh/croft/internal/daemon/web"
)

type oneToken struct{}

func (oneToken) Find(secret string) (croft.Token, error) {
	if secret != "croft_right" {
		return croft.Token{}, &croft.Error{Code: croft.Unauthenticated, Message: "the token is not known, or was revoked"}
	}
	return croft.Token{ID: "t", Name: "browser", Access: croft.AccessAll}, nil
}

func (oneToken) Has(croft.ID) bool { return true }

// TestLoginThroughTheGuard: a browser without a session gets the page of the login with its files and nothing
// else, a wrong token is said, a right one leads to the page that was asked for, and logging out ends that.
func TestLoginThroughTheGuard(t *testing.T) {
	h := web.New(stream.NewHub(croft.UnimplementedService{}), web.Options{})
	g := guard.New(guard.Options{Tokens: oneToken{}, IsPublic: h.IsPublic, Login: h.Login, Error: h.Error})
	door := g.TCP(7450, h.Pages)
	try := func(method, path, cookie string, form url.Values) *httptest.ResponseRecorder {
		var body io.Reader
		if form != nil {
			body = strings.NewReader(form.Encode())
		}
		r := httptest.NewRequest(method, path, body)
		r.Host = "127.0.0.1:7450"
		r.Header.Set("Accept", "text/html")
		if form != nil {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		if cookie != "" {
			r.Header.Set("Cookie", cookie)
		}
		w := httptest.NewRecorder()
		door.ServeHTTP(w, r)
		return w
	}
	const asked = "/settings?names=show"
	w := try(http.MethodGet, asked, "", nil)
	login := w.Header().Get("Location")
	if w.Code != http.StatusSeeOther || !strings.HasPrefix(login, "/login?next=") {
		t.Fatalf("without a session: %d to %q", w.Code, login)
	}
	page := try(http.MethodGet, login, "", nil).Body.String()
	for _, f := range regexp.MustCompile(`"(/static/[^"]+)"`).FindAllStringSubmatch(page, -1) {
		if w := try(http.MethodGet, f[1], "", nil); w.Code != http.StatusOK {
			t.Errorf("%s: %d", f[1], w.Code)
		}
	}
	next := regexp.MustCompile(`name="next" value="([^"]*)"`).FindStringSubmatch(page)
	if next == nil || next[1] != asked {
		t.Fatalf("the form leads to %v", next)
	}
	if w := try(http.MethodPost, "/login", "", url.Values{"token": {"croft_wrong"}, "next": {asked}}); w.Code != http.StatusUnauthorized ||
		!strings.Contains(w.Body.String(), "was revoked") || !strings.Contains(w.Body.String(), `value="`+asked+`"`) {
		t.Errorf("a wrong token: %d\n%s", w.Code, w.Body)
	}
	w = try(http.MethodPost, "/login", "", url.Values{"token": {"croft_right"}, "next": {asked}})
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != asked || len(w.Result().Cookies()) != 1 {
		t.Fatalf("the right token: %d to %q", w.Code, w.Header().Get("Location"))
	}
	cookie := w.Result().Cookies()[0].Name + "=" + w.Result().Cookies()[0].Value
	if w := try(http.MethodPost, "/logout", cookie, url.Values{"csrf": {"wrong"}}); w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "<h1>") {
		t.Errorf("a forged form: %d\n%s", w.Code, w.Body)
	}
	if w := try(http.MethodGet, "/nothing", cookie, nil); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "There is no such page") {
		t.Errorf("no page: %d\n%s", w.Code, w.Body)
	}
}
