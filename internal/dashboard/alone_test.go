package dashboard_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/dashboard"
)

// TestLoginPage: the page needs no caller and no Service, its form posts where the guard looks, and what
// failed is text.
func TestLoginPage(t *testing.T) {
	h := dashboard.New(croft.UnimplementedService{}, dashboard.Options{})
	show := func(l dashboard.Login) string {
		w := httptest.NewRecorder()
		h.Login(w, httptest.NewRequest(http.MethodGet, "/login", nil), l)
		if w.Code != http.StatusOK {
			t.Errorf("status %d", w.Code)
		}
		return w.Body.String()
	}
	first := show(dashboard.Login{Next: "/r/x/?q=a&b=c"})
	want(t, "login", first, `action="/login"`, `name="token" type="password"`, `name="next" value="/r/x/?q=a&amp;b=c"`)
	if strings.Contains(first, `role="alert"`) {
		t.Error("the first page says that something failed")
	}
	failed := show(dashboard.Login{Next: "//evil.example/", Failed: hostile})
	want(t, "failed login", failed, `role="alert"`, `aria-invalid="true"`, "&lt;img src=x", `name="next" value=""`)
	for _, bad := range []string{"evil.example", "<img", "\x1b", "\u202e"} {
		if strings.Contains(failed, bad) {
			t.Errorf("failed login has %q", bad)
		}
	}
	files := regexp.MustCompile(`(?:href|src)="(/static/[^"]+)"`).FindAllStringSubmatch(first, -1)
	if len(files) != 3 {
		t.Errorf("the page uses %v", files)
	}
	for _, f := range files {
		if !h.IsPublic(f[1]) {
			t.Errorf("%s needs a login", f[1])
		}
	}
	for _, path := range []string{"/", "/login", "/static/", "/static/../", "/r/x/", "/static/croft.css"} {
		if h.IsPublic(path) {
			t.Errorf("%s needs no login", path)
		}
	}
}

// TestErrorPageReadsNoBody: the guard shows it for requests that it refuses, whose bodies it has not limited.
func TestErrorPageReadsNoBody(t *testing.T) {
	h := dashboard.New(croft.UnimplementedService{}, dashboard.Options{})
	body := &countingReader{}
	r := httptest.NewRequest(http.MethodPost, "/r/x/undo/y", body)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	h.Error(w, r, &croft.Error{Code: croft.AccessDenied, Op: "serve", Message: "the request comes from " + hostile})
	if w.Code != http.StatusForbidden || body.reads > 0 {
		t.Errorf("status %d, %d reads", w.Code, body.reads)
	}
	want(t, "error", w.Body.String(), "ACCESS_DENIED", "&lt;img src=x", "Nothing was moved or deleted")
	if strings.Contains(w.Body.String(), "<img") {
		t.Error("the message is markup")
	}
}

type countingReader struct{ reads int }

func (c *countingReader) Read(p []byte) (int, error) {
	c.reads++
	return len(p), nil
}
