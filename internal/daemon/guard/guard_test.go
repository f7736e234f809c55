package guard

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/api"
	"github.com/croft-sh/croft/internal/caller"
)

const port = 7450

// fakeTokens has one token for each kind of access, called as its secret.
type fakeTokens struct {
	mu      sync.Mutex
	revoked map[string]bool
}

func (f *fakeTokens) Find(secret string) (croft.Token, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, access := range []croft.Access{croft.AccessAll, croft.AccessRead, croft.AccessWorkspace} {
		if secret == "croft_"+string(access) && !f.revoked[secret] {
			return croft.Token{ID: croft.ID(access), Name: string(access), Access: access, Workspace: "w"}, nil
		}
	}
	return croft.Token{}, &croft.Error{Code: croft.Unauthenticated, Message: "unknown"}
}

func (f *fakeTokens) Has(id croft.ID) bool {
	_, err := f.Find("croft_" + string(id))
	return err == nil
}

// counting is a handler that acts on everything, and counts that it was reached.
type counting struct {
	mu    sync.Mutex
	calls int
	last  caller.Caller
}

func (c *counting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	c.last = caller.From(r.Context())
	_, _ = io.Copy(io.Discard, r.Body)
	fmt.Fprintln(w, "acted")
}

type clock struct{ now time.Time }

func newGuard(tokens Tokens) (*Guard, *clock) {
	c := &clock{time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	return New(Options{Tokens: tokens, User: "ada", IsPublic: func(path string) bool { return path == "/assets/croft.css" }, Now: func() time.Time { return c.now }}), c
}

// header makes a header from names and values in turn.
func header(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i+1 < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

type attempt struct {
	name   string
	method string
	path   string
	host   string // default: 127.0.0.1:7450
	header http.Header
	body   string
	want   int
}

func (a attempt) request() *http.Request {
	method, path, host := a.method, a.path, a.host
	if method == "" {
		method = http.MethodGet
	}
	if path == "" {
		path = "/"
	}
	r := httptest.NewRequest(method, path, strings.NewReader(a.body))
	if a.body == "" {
		r.Body, r.ContentLength = http.NoBody, 0
	}
	r.Host = "127.0.0.1:7450"
	if host == "none" {
		r.Host = ""
	} else if host != "" {
		r.Host = host
	}
	maps.Copy(r.Header, a.header)
	return r
}

// logIn gets the cookie and the token against forgery of a session of the user.
func logIn(t *testing.T, g *Guard, next http.Handler, seen *counting) (cookie, form string) {
	t.Helper()
	link, err := url.Parse(g.Once(port))
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	next.ServeHTTP(w, attempt{path: link.RequestURI()}.request())
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/" {
		t.Fatalf("login: %d %s", w.Code, w.Body)
	}
	set := w.Result().Cookies()
	if len(set) != 1 || !set[0].HttpOnly || set[0].SameSite != http.SameSiteStrictMode || set[0].Path != "/" || set[0].Domain != "" {
		t.Fatalf("cookie %+v", set)
	}
	cookie = set[0].Name + "=" + set[0].Value
	w = httptest.NewRecorder()
	next.ServeHTTP(w, attempt{header: header("Cookie", cookie)}.request())
	if w.Code != http.StatusOK || seen.last.Form == "" || seen.last.Access != croft.AccessAll || seen.last.Name != "ada" {
		t.Fatalf("page: %d, %+v", w.Code, seen.last)
	}
	return cookie, seen.last.Form
}

// TestRefusedOverTCP: none of these requests reaches a handler, although each has a valid
// token or session as well.
func TestRefusedOverTCP(t *testing.T) {
	tokens := &fakeTokens{}
	g, _ := newGuard(tokens)
	seen := &counting{}
	door := g.TCP(port, seen)
	cookie, form := logIn(t, g, door, seen)
	const good = "http://127.0.0.1:7450"
	bearer := func(pairs ...string) http.Header {
		return header(append(pairs, "Authorization", "Bearer croft_all")...)
	}
	session := func(pairs ...string) http.Header { return header(append(pairs, "Cookie", cookie)...) }

	attempts := []attempt{
		// Host: rebinding, other names and addresses, other ports.
		{name: "rebinding", host: "evil.example:7450", header: bearer()},
		{name: "rebinding without a port", host: "evil.example", header: bearer()},
		{name: "looks like an address", host: "127.evil.com:7450", header: bearer()},
		{name: "begins with the address", host: "127.0.0.1.evil.com:7450", header: bearer()},
		{name: "begins with localhost", host: "localhost.evil.com:7450", header: bearer()},
		{name: "subdomain of localhost", host: "evil.localhost:7450", header: bearer()},
		{name: "dot", host: "localhost.:7450", header: bearer()},
		{name: "capitals", host: "LOCALHOST:7450", header: bearer()},
		{name: "0.0.0.0", host: "0.0.0.0:7450", header: bearer()},
		{name: "other loopback", host: "127.0.0.2:7450", header: bearer()},
		{name: "short address", host: "127.1:7450", header: bearer()},
		{name: "decimal address", host: "2130706433:7450", header: bearer()},
		{name: "octal address", host: "0177.0.0.1:7450", header: bearer()},
		{name: "unspecified v6", host: "[::]:7450", header: bearer()},
		{name: "mapped v4", host: "[::ffff:127.0.0.1]:7450", header: bearer()},
		{name: "v6 with zone", host: "[::1%25lo]:7450", header: bearer()},
		{name: "long v6", host: "[0:0:0:0:0:0:0:1]:7450", header: bearer()},
		{name: "v6 without brackets", host: "::1:7450", header: bearer()},
		{name: "other port", host: "127.0.0.1:7451", header: bearer()},
		{name: "no port", host: "127.0.0.1", header: bearer()},
		{name: "two ports", host: "127.0.0.1:80:7450", header: bearer()},
		{name: "user", host: "evil@127.0.0.1:7450", header: bearer()},
		{name: "no host", host: "none", header: bearer()},
		{name: "of the socket", host: "croft", header: bearer()},

		// Origin, also of reading requests, streams and WebSockets.
		{name: "origin", header: bearer("Origin", "http://evil.example")},
		{name: "origin null", header: bearer("Origin", "null")},
		{name: "origin of another port", header: bearer("Origin", "http://127.0.0.1:3000")},
		{name: "origin of another name", header: bearer("Origin", "http://localhost:7450")},
		{name: "origin with https", header: bearer("Origin", "https://127.0.0.1:7450")},
		{name: "origin with a tail", header: bearer("Origin", good+".evil.example")},
		{name: "origin with a slash", header: bearer("Origin", good+"/")},
		{name: "origin empty", header: bearer("Origin", "")},
		{name: "two origins", header: bearer("Origin", good, "Origin", "http://evil.example")},
		{name: "csrf post", method: "POST", path: "/merge", header: session("Origin", "http://evil.example", "Content-Type", "application/x-www-form-urlencoded"), body: "csrf=" + form},
		{name: "websocket", path: "/v1/events", header: session("Origin", "http://evil.example", "Connection", "Upgrade", "Upgrade", "websocket")},
		{name: "websocket of another port", path: "/v1/events", header: session("Origin", "http://127.0.0.1:3000", "Upgrade", "websocket")},
		{name: "websocket without origin", path: "/v1/events", header: session("Upgrade", "websocket")},
		{name: "stream", path: "/v1/events", header: session("Origin", "http://evil.example", "Accept", "text/event-stream")},

		// What a browser says of where a request comes from.
		{name: "cross-site fetch", header: session("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty")},
		{name: "cross-site image", header: session("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image")},
		{name: "cross-site script", header: session("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "script")},
		{name: "cross-site frame", header: session("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe")},
		{name: "cross-site API", path: "/v1/repos", header: session("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document")},
		{name: "cross-site stream", path: "/events", header: session("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document", "Accept", "text/event-stream")},
		{name: "cross-site websocket", path: "/events", header: session("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "websocket", "Upgrade", "websocket", "Origin", good)},
		{name: "another port's page", header: session("Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "cors")},
		{name: "another port's form", method: "POST", path: "/merge", header: session("Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document", "Content-Type", "application/x-www-form-urlencoded"), body: "csrf=" + form},
		{name: "cross-site post with a token", method: "POST", path: "/v1/x", header: bearer("Sec-Fetch-Site", "cross-site", "Content-Type", "application/json"), body: "{}"},

		// No caller.
		{name: "nobody", path: "/v1/repos", want: 401},
		{name: "wrong token", path: "/v1/repos", header: header("Authorization", "Bearer croft_wrong"), want: 401},
		{name: "token in the query", path: "/v1/repos?token=croft_all&access_token=croft_all", want: 401},
		{name: "token as password", path: "/v1/repos", header: header("Authorization", "Basic Y3JvZnRfYWxs"), want: 401},
		{name: "token without a scheme", path: "/v1/repos", header: header("Authorization", "croft_all"), want: 401},
		{name: "two tokens", path: "/v1/repos", header: header("Authorization", "Bearer croft_all", "Authorization", "Bearer croft_all"), want: 401},
		{name: "wrong token beside a session", path: "/v1/repos", header: session("Authorization", "Bearer croft_wrong"), want: 401},
		{name: "no session", path: "/v1/repos", header: header("Cookie", "croft_session_7450=x"), want: 401},
		{name: "session of another port", path: "/v1/repos", header: header("Cookie", strings.Replace(cookie, "7450", "7451", 1)), want: 401},
		{name: "two sessions", path: "/v1/repos", header: header("Cookie", cookie+"; croft_session_7450=x"), want: 401},
		{name: "public path with a wrong token", path: "/assets/croft.css", header: header("Authorization", "Bearer croft_wrong"), want: 401},

		// A session without its form.
		{name: "no form token", method: "POST", path: "/merge", header: session("Content-Type", "application/x-www-form-urlencoded"), body: "x=1"},
		{name: "wrong form token", method: "POST", path: "/merge", header: session("Content-Type", "application/x-www-form-urlencoded"), body: "csrf=" + form[1:]},
		{name: "form token in the query", method: "POST", path: "/merge?csrf=" + form, header: session("Content-Type", "application/x-www-form-urlencoded"), body: "x=1"},
		{name: "empty form token", method: "POST", path: "/merge", header: session("Content-Type", "application/x-www-form-urlencoded"), body: "csrf="},
		{name: "no form token with JSON", method: "POST", path: "/v1/x", header: session("Content-Type", "application/json"), body: `{"csrf":"` + form + `"}`},
		{name: "no form token, delete", method: "DELETE", path: "/v1/x", header: session()},
		{name: "no form token, put", method: "PUT", path: "/v1/x", header: session("Content-Type", "application/json"), body: "{}"},
		{name: "logout without a form token", method: "POST", path: "/logout", header: session()},

		// Shapes.
		{name: "get with a body", header: bearer(), body: "x", want: 400},
		{name: "post of a form to the API", method: "POST", path: "/v1/x", header: bearer("Content-Type", "application/x-www-form-urlencoded"), body: "a=b", want: 400},
		{name: "post of text to the API", method: "POST", path: "/api/agents", header: bearer("Content-Type", "text/plain"), body: "{}", want: 400},
		{name: "post without a type to the API", method: "POST", path: "/v1/x", header: bearer(), body: "{}", want: 400},
		{name: "post that hides its type", method: "POST", path: "/v1/x", header: bearer("Content-Type", "text/plain; application/json"), body: "{}", want: 400},
		{name: "upgrade of a post", method: "POST", path: "/v1/x", header: bearer("Upgrade", "websocket", "Content-Type", "application/json"), body: "{}", want: 400},
		{name: "trace", method: "TRACE", header: bearer()},
		{name: "connect", method: "CONNECT", path: "/", header: bearer()},
		{name: "options", method: "OPTIONS", header: bearer()},
		{name: "unknown method", method: "PROPFIND", header: bearer()},
		{name: "long path", path: "/" + strings.Repeat("x", maxURL), header: bearer(), want: 400},
	}
	before := seen.calls
	for _, a := range attempts {
		want := a.want
		if want == 0 {
			want = http.StatusForbidden
		}
		w := httptest.NewRecorder()
		door.ServeHTTP(w, a.request())
		if w.Code != want && w.Code != http.StatusTooManyRequests {
			t.Errorf("%s: status %d, want %d: %s", a.name, w.Code, want, w.Body)
		}
		if seen.calls != before {
			t.Errorf("%s: a handler was reached", a.name)
			before = seen.calls
		}
		checkHeaders(t, a.name, w.Header())
	}
}

func checkHeaders(t *testing.T, name string, h http.Header) {
	t.Helper()
	for key, want := range map[string]string{
		"Content-Security-Policy": Policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Access-Control-Allow-Origin": "",
	} {
		if got := h.Get(key); got != want {
			t.Errorf("%s: %s is %q", name, key, got)
		}
	}
}

// TestTaken: what a user, a program and a page do reaches the handler, as whom it should.
func TestTaken(t *testing.T) {
	g, _ := newGuard(&fakeTokens{})
	seen := &counting{}
	door := g.TCP(port, seen)
	cookie, form := logIn(t, g, door, seen)
	for _, a := range []attempt{
		{name: "program", path: "/v1/repos", header: header("Authorization", "Bearer croft_read")},
		{name: "small letters", path: "/v1/repos", header: header("Authorization", "bearer croft_read")},
		{name: "by name", host: "localhost:7450", path: "/v1/repos", header: header("Authorization", "Bearer croft_read")},
		{name: "v6", host: "[::1]:7450", path: "/v1/repos", header: header("Authorization", "Bearer croft_read")},
		{name: "program that writes", method: "POST", path: "/v1/x", header: header("Authorization", "Bearer croft_all", "Content-Type", "application/json; charset=utf-8"), body: "{}"},
		{name: "write without a body", method: "POST", path: "/api/agents/x/merge", header: header("Authorization", "Bearer croft_all")},
		{name: "page", header: header("Cookie", cookie, "Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document")},
		{name: "link of another site", header: header("Cookie", cookie, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document")},
		{name: "form", method: "POST", path: "/merge", header: header("Cookie", cookie, "Origin", "http://127.0.0.1:7450", "Sec-Fetch-Site", "same-origin", "Content-Type", "application/x-www-form-urlencoded"), body: "csrf=" + form},
		{name: "script", method: "POST", path: "/v1/x", header: header("Cookie", cookie, "Origin", "http://127.0.0.1:7450", FormHeader, form, "Content-Type", "application/json"), body: "{}"},
		{name: "stream", path: "/events", header: header("Cookie", cookie, "Sec-Fetch-Site", "same-origin", "Accept", "text/event-stream")},
		{name: "websocket", path: "/events", header: header("Cookie", cookie, "Origin", "http://127.0.0.1:7450", "Sec-Fetch-Site", "same-origin", "Upgrade", "websocket")},
		{name: "websocket of a program", path: "/events", header: header("Authorization", "Bearer croft_all", "Upgrade", "websocket")},
		{name: "style", path: "/assets/croft.css"},
		{name: "health", path: "/healthz"},
	} {
		before := seen.calls
		w := httptest.NewRecorder()
		door.ServeHTTP(w, a.request())
		if w.Code != http.StatusOK || seen.calls != before+1 {
			t.Errorf("%s: %d %s", a.name, w.Code, w.Body)
		}
		checkHeaders(t, a.name, w.Header())
		if (a.path == "/healthz" || a.path == "/assets/croft.css") && seen.last != (caller.Caller{}) {
			t.Errorf("%s: as %+v", a.name, seen.last)
		}
	}
	w := httptest.NewRecorder()
	door.ServeHTTP(w, attempt{path: "/v1/x", header: header("Authorization", "Bearer croft_workspace")}.request())
	if want := (caller.Caller{Access: croft.AccessWorkspace, Workspace: "w", Name: "workspace", Token: "workspace"}); seen.last != want {
		t.Errorf("%+v", seen.last)
	}
}

func TestRefusedOnTheSocket(t *testing.T) {
	g, _ := newGuard(&fakeTokens{})
	seen := &counting{}
	door := g.Unix(seen)
	for _, a := range []attempt{
		{name: "origin", host: "croft", header: header("Origin", "http://croft")},
		{name: "origin empty", host: "croft", header: header("Origin", "")},
		{name: "referer", host: "croft", header: header("Referer", "http://localhost/")},
		{name: "host", host: "127.0.0.1:7450"},
		{name: "host with a port", host: "localhost:80"},
		{name: "other host", host: "evil.example"},
		{name: "no host", host: "none"},
		{name: "get with a body", host: "croft", body: "x", want: 400},
		{name: "form to the API", host: "croft", method: "POST", path: "/v1/x", header: header("Content-Type", "application/x-www-form-urlencoded"), body: "a=b", want: 400},
		{name: "method", host: "croft", method: "TRACE"},
	} {
		want := a.want
		if want == 0 {
			want = http.StatusForbidden
		}
		w := httptest.NewRecorder()
		door.ServeHTTP(w, a.request())
		if w.Code != want || seen.calls > 0 {
			t.Errorf("%s: %d, reached: %d", a.name, w.Code, seen.calls)
		}
		checkHeaders(t, a.name, w.Header())
		if strings.HasPrefix(a.path, "/v1/") && w.Header().Get("Content-Type") != api.ProblemType {
			t.Errorf("%s: the API answers with %s", a.name, w.Header().Get("Content-Type"))
		}
	}
	for _, host := range []string{"croft", "localhost"} {
		w := httptest.NewRecorder()
		door.ServeHTTP(w, attempt{host: host}.request())
		if w.Code != http.StatusOK || seen.last.Access != croft.AccessAll || seen.last.Name != "ada" || seen.last.Token != "" {
			t.Errorf("%s: %d, %+v", host, w.Code, seen.last)
		}
	}
}

func TestOnceIsOnce(t *testing.T) {
	g, clock := newGuard(&fakeTokens{})
	seen := &counting{}
	door := g.TCP(port, seen)
	try := func(a attempt) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		door.ServeHTTP(w, a.request())
		return w
	}
	link, _ := url.Parse(g.Once(port))
	if w := try(attempt{method: "HEAD", path: link.RequestURI()}); w.Code != http.StatusOK || len(w.Result().Cookies()) > 0 {
		t.Errorf("a look uses the link up: %d", w.Code)
	}
	first := try(attempt{path: link.RequestURI()})
	if first.Code != http.StatusSeeOther || len(first.Result().Cookies()) != 1 {
		t.Fatalf("first: %d", first.Code)
	}
	again := attempt{path: link.RequestURI()}.request()
	again.AddCookie(first.Result().Cookies()[0])
	w := httptest.NewRecorder()
	if door.ServeHTTP(w, again); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/" || len(w.Result().Cookies()) > 0 {
		t.Errorf("again, by the browser that has logged in: %d", w.Code)
	}
	if w := try(attempt{path: link.RequestURI()}); w.Code != http.StatusUnauthorized || len(w.Result().Cookies()) > 0 {
		t.Errorf("second: %d", w.Code)
	}
	late, _ := url.Parse(g.Once(port))
	clock.now = clock.now.Add(onceTime + time.Second)
	if w := try(attempt{path: late.RequestURI()}); w.Code != http.StatusUnauthorized {
		t.Errorf("late: %d", w.Code)
	}
	if seen.calls > 0 {
		t.Error("a handler was reached")
	}
}

func TestLoginWithToken(t *testing.T) {
	tokens := &fakeTokens{revoked: map[string]bool{}}
	g, clock := newGuard(tokens)
	seen := &counting{}
	door := g.TCP(port, seen)
	form := header("Content-Type", "application/x-www-form-urlencoded", "Origin", "http://127.0.0.1:7450")
	post := func(body string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		door.ServeHTTP(w, attempt{method: "POST", path: "/login", header: form, body: body}.request())
		return w
	}
	if w := post("token=wrong"); w.Code != http.StatusUnauthorized || len(w.Result().Cookies()) > 0 {
		t.Errorf("wrong: %d", w.Code)
	}
	w := post("token=croft_read&next=/queue")
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/queue" {
		t.Fatalf("right: %d %s", w.Code, w.Header().Get("Location"))
	}
	cookie, _, _ := strings.Cut(w.Header().Get("Set-Cookie"), ";")
	get := func() int {
		w := httptest.NewRecorder()
		door.ServeHTTP(w, attempt{path: "/v1/x", header: header("Cookie", cookie)}.request())
		return w.Code
	}
	if code := get(); code != http.StatusOK || seen.last.Access != croft.AccessRead || seen.last.Token != "read" {
		t.Errorf("%d, %+v", code, seen.last)
	}
	tokens.mu.Lock()
	tokens.revoked["croft_read"] = true
	tokens.mu.Unlock()
	if code := get(); code != http.StatusUnauthorized {
		t.Errorf("the session outlives its token: %d", code)
	}
	cookie, _, _ = strings.Cut(post("token=croft_all").Header().Get("Set-Cookie"), ";")
	if code := get(); code != http.StatusOK {
		t.Errorf("%d", code)
	}
	clock.now = clock.now.Add(idleTime + time.Second)
	if code := get(); code != http.StatusUnauthorized {
		t.Errorf("the session does not end: %d", code)
	}
	many := 0
	for range 20 {
		if post("token=wrong").Code == http.StatusTooManyRequests {
			many++
		}
	}
	if many != 20-maxFailures {
		t.Errorf("%d of 20 wrong tokens were too many", many)
	}
	if w := post("token=croft_all"); w.Code != http.StatusSeeOther {
		t.Errorf("wrong tokens keep the right one out: %d", w.Code)
	}
	calls := seen.calls
	if w := httptest.NewRecorder(); true {
		door.ServeHTTP(w, attempt{path: "/queue?x=1", header: header("Accept", "text/html")}.request())
		if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/login?next=%2Fqueue%3Fx%3D1" || seen.calls != calls {
			t.Errorf("%d %s", w.Code, w.Header().Get("Location"))
		}
	}
}

func TestLogout(t *testing.T) {
	g, _ := newGuard(&fakeTokens{})
	seen := &counting{}
	door := g.TCP(port, seen)
	cookie, form := logIn(t, g, door, seen)
	w := httptest.NewRecorder()
	door.ServeHTTP(w, attempt{method: "POST", path: "/logout", header: header("Cookie", cookie, "Content-Type", "application/x-www-form-urlencoded"), body: "csrf=" + form}.request())
	if w.Code != http.StatusSeeOther {
		t.Errorf("%d", w.Code)
	}
	w = httptest.NewRecorder()
	door.ServeHTTP(w, attempt{path: "/v1/x", header: header("Cookie", cookie)}.request())
	if w.Code != http.StatusUnauthorized {
		t.Errorf("the session goes on: %d", w.Code)
	}
}

func TestNextStaysHere(t *testing.T) {
	for next, want := range map[string]string{
		"/queue?a=b": "/queue?a=b", "": "/", "//evil.example": "/", "/\\evil.example": "/", "http://evil.example": "/", "evil": "/",
		"/%2fevil.example": "/", "/login": "/", "/logout": "/", "/a\r\nb": "/", "/\tevil": "/", "///evil": "/", "javascript:alert(1)": "/",
	} {
		r := httptest.NewRequest(http.MethodGet, "/login?next="+url.QueryEscape(next), nil)
		if got := nextPath(r); got != want {
			t.Errorf("%q: %q, want %q", next, got, want)
		}
	}
}

// TestBodies: a body that is too long ends with an error, and one that does not come ends in
// time; an answer may take longer than that.
func TestBodies(t *testing.T) {
	g, _ := newGuard(&fakeTokens{})
	var read error
	server := httptest.NewServer(g.Unix(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, read = io.Copy(io.Discard, r.Body) })))
	defer server.Close()
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/x", strings.NewReader(strings.Repeat("x", maxBody+1)))
	r.Host = "croft"
	res, err := server.Client().Do(r)
	if err == nil {
		_ = res.Body.Close()
	}
	if _, ok := errors.AsType[*http.MaxBytesError](read); !ok {
		t.Errorf("%v", read)
	}
}

// FuzzOurs: whatever a browser or a program sends as Host and Origin, only this machine by its
// address and port is taken.
func FuzzOurs(f *testing.F) {
	for _, host := range []string{"127.0.0.1:7450", "localhost:7450", "[::1]:7450", "evil:7450", "127.0.0.1.:7450", "[::1", "::1]:7450", "0x7f.1:7450", "127.0.0.1:07450", "localhost:7450\x00"} {
		f.Add(host, "http://"+host)
	}
	f.Fuzz(func(t *testing.T, host, origin string) {
		ours := map[string]bool{"127.0.0.1:7450": true, "localhost:7450": true, "[::1]:7450": true}
		if isOurHost(host, port) != ours[host] {
			t.Errorf("host %q", host)
		}
		if ours[host] && isOurOrigin(origin, host) != (origin == "http://"+host) {
			t.Errorf("origin %q at %q", origin, host)
		}
		g, _ := newGuard(&fakeTokens{})
		seen := &counting{}
		r := attempt{host: host, header: header("Authorization", "Bearer croft_all")}.request()
		r.Host, r.Header["Origin"] = host, []string{origin}
		g.TCP(port, seen).ServeHTTP(httptest.NewRecorder(), r)
		if seen.calls > 0 && (!ours[host] || origin != "http://"+host) {
			t.Errorf("host %q, origin %q reach a handler", host, origin)
		}
	})
}
