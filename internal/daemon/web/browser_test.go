package web_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/api"
	"github.com/croft-sh/croft/internal/browsertest"
)

// onslaught is what a page of another origin tries, in every way in which a browser sends
// something by itself. It has the address of the daemon, the paths that change something and
// those that read.
const onslaught = `async (U, posts, gets, repo) => {
  const got = [], left = ms => new Promise(r => setTimeout(r, ms));
  const note = (what, how) => got.push(what + ': ' + how);
  const sent = async (what, p) => { try { const r = await p; if (r.type != 'opaque' && r.status < 400) note(what, 'answered ' + r.status + ' ' + (await r.text()).slice(0, 80)) } catch (e) {} };
  const body = JSON.stringify({repo: 'path:' + repo, name: 'forged'});
  const framed = (make) => new Promise(done => {
    const f = document.createElement('iframe'); f.name = 'f' + Math.random(); let n = 0;
    f.onload = () => { if (n++ == 0 && make) return make(f); try { if (f.contentDocument && f.contentDocument.body.innerText) note('iframe', f.contentDocument.body.innerText.slice(0, 80)) } catch (e) {} f.remove(); done() };
    document.body.append(f); setTimeout(() => { f.remove(); done() }, 3000);
  });
  const form = (path, method, enctype) => framed(f => {
    const m = document.createElement('form'), i = document.createElement('input');
    m.method = method; m.enctype = enctype; m.action = U + path; m.target = f.name;
    i.name = enctype == 'text/plain' ? body.slice(0, -1) + ',"x":"' : 'name'; i.value = enctype == 'text/plain' ? '"}' : 'forged'; m.append(i);
    document.body.append(m); m.submit(); m.remove();
  });
  const loaded = (tag, attr, path) => new Promise(done => {
    const e = document.createElement(tag); e.onload = () => { note(tag + ' ' + path, 'loaded'); e.remove(); done() }; e.onerror = () => { e.remove(); done() };
    if (tag == 'link') e.rel = 'stylesheet';
    e[attr] = U + path; document.body.append(e); setTimeout(done, 3000);
  });
  const todo = [];
  for (const path of posts) {
    for (const enctype of ['application/x-www-form-urlencoded', 'multipart/form-data', 'text/plain']) todo.push(() => form(path, 'POST', enctype));
    todo.push(() => form(path, 'GET', 'application/x-www-form-urlencoded'));
    for (const credentials of ['include', 'omit']) {
      todo.push(() => sent('no-cors ' + path, fetch(U + path, {method: 'POST', mode: 'no-cors', credentials, headers: {'Content-Type': 'text/plain'}, body})));
      todo.push(() => sent('cors ' + path, fetch(U + path, {method: 'POST', credentials, headers: {'Content-Type': 'application/json'}, body})));
      todo.push(() => sent('get ' + path, fetch(U + path, {mode: 'no-cors', credentials})));
    }
    for (const method of ['PUT', 'PATCH', 'DELETE']) todo.push(() => sent(method + ' ' + path, fetch(U + path, {method, credentials: 'include', body})));
    todo.push(async () => { navigator.sendBeacon(U + path, body); navigator.sendBeacon(U + path, new Blob([body], {type: 'application/x-www-form-urlencoded'})) });
    todo.push(() => loaded('img', 'src', path)); todo.push(() => loaded('script', 'src', path));
  }
  for (const path of gets) {
    todo.push(() => sent('no-cors ' + path, fetch(U + path, {mode: 'no-cors', credentials: 'include'})));
    todo.push(() => sent('cors ' + path, fetch(U + path, {credentials: 'include'})));
    todo.push(() => framed(f => { f.src = U + path }));
    todo.push(() => loaded('img', 'src', path)); todo.push(() => loaded('script', 'src', path)); todo.push(() => loaded('link', 'href', path));
    todo.push(() => new Promise(done => { const e = new EventSource(U + path, {withCredentials: true}); e.onopen = () => { note('EventSource ' + path, 'open'); e.close(); done() }; e.onerror = () => { e.close(); done() }; setTimeout(() => { e.close(); done() }, 3000) }));
    todo.push(() => new Promise(done => { const w = new WebSocket(U.replace('http', 'ws') + path); w.onopen = () => { note('WebSocket ' + path, 'open'); w.close(); done() }; w.onerror = done; setTimeout(done, 3000) }));
  }
  const total = todo.length;
  await Promise.all(Array.from({length: 12}, async () => { for (let next; next = todo.pop();) await next() }));
  await left(300);
  return {total, got};
}`

// evil is a server of pages that attack, and notes the cookies that browsers send to it.
type evil struct {
	*httptest.Server
	port string

	mu      sync.Mutex
	cookies []string
}

func newEvil(t *testing.T) *evil {
	t.Helper()
	e := &evil{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		e.cookies = append(e.cookies, r.Header.Get("Cookie"))
		e.mu.Unlock()
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<!doctype html><title>evil</title><body>evil</body>")
	}))
	t.Cleanup(e.Close)
	_, e.port, _ = net.SplitHostPort(e.Listener.Addr().String())
	return e
}

// logIn gives a tab a session of the victim's.
func (v *victim) logIn(p *browsertest.Page) {
	v.t.Helper()
	p.Go(v.server.Once())
	if path := p.Path(); path != "/" {
		v.t.Fatalf("logged in at %s", path)
	}
}

// changing and reading are the paths of the API and of the pages that change something, and
// some of those that read.
func (v *victim) changing(ws croft.Workspace) []string {
	v.t.Helper()
	paths := []string{"/login", "/logout", "/api/agents", "/api/agents/" + string(ws.ID) + "/merge", "/api/agents/" + string(ws.ID) + "/discard", "/api/projects/" + string(ws.RepoID) + "/trash", "/daemon/stop"}
	for _, c := range api.Calls() {
		if c.Method != http.MethodGet {
			paths = append(paths, pathOf(c.Path, string(ws.ID)))
		}
	}
	source, err := os.ReadFile("../../dashboard/routes.go")
	if err != nil {
		v.t.Fatal(err)
	}
	pages := 0
	for _, m := range regexp.MustCompile(`(?m)^\t\t(ws \+ )?"(/?[a-z/{}-]+)":`).FindAllStringSubmatch(string(source), -1) {
		path := m[2]
		if m[1] != "" {
			path = "/r/{repo}/w/{ws}/" + path
		}
		path = strings.ReplaceAll(path, "{repo}", string(ws.RepoID))
		paths, pages = append(paths, pathOf(path, string(ws.ID))), pages+1
	}
	if pages < 30 {
		v.t.Fatalf("only %d forms of pages were found", pages)
	}
	return paths
}

func reading(ws croft.Workspace) []string {
	return []string{"/", "/healthz", "/metrics", "/v1/workspaces?repos=all", "/v1/events", "/v1/events/socket", "/api/events", "/api/agents", "/live?page=%2F", "/v1/openapi.json", "/login", "/r/" + string(ws.RepoID) + "/w/" + string(ws.ID)}
}

// attackFrom runs the onslaught on a page, and fails if anything of it reached a handler.
func (v *victim) attackFrom(p *browsertest.Page, name, target string, paths []string, ws croft.Workspace) {
	t := v.t
	t.Helper()
	posts, err := json.Marshal(paths)
	if err != nil {
		t.Fatal(err)
	}
	gets, err := json.Marshal(reading(ws))
	if err != nil {
		t.Fatal(err)
	}
	from, at := len(v.since(0)), len(v.operations())
	p.Eval(fmt.Sprintf("void (globalThis.over = null, (%s)(%q, %s, %s, %q).then(r => over = r, e => over = {got: [String(e)]}))", onslaught, target, posts, gets, v.git.Dir), nil)
	var is bool
	for deadline := time.Now().Add(5 * time.Minute); !is && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		p.Eval("over !== null", &is)
	}
	var over struct {
		Total int
		Got   []string
	}
	p.Eval("over", &over)
	if over.Total < 10*len(paths) || len(over.Got) > 0 {
		t.Errorf("%s: %d attempts; a page got %.2000q", name, over.Total, over.Got)
	}
	reached := v.since(from)
	if len(reached) > 0 {
		t.Errorf("%s: %d requests reached a handler: %.2000q", name, len(reached), reached)
	}
	if now := v.operations(); len(now) != at {
		t.Errorf("%s: done: %+v", name, now[:len(now)-at])
	}
	t.Logf("%s: %d attempts, %d reached a handler", name, over.Total, len(reached))
}

// TestPagesOfOthers: in a browser with a session, no page of another origin reaches a handler of
// the daemon: not one at another port of the same address, to which the browser sends the
// session's cookie, not one of another name, and not one whose name leads to the daemon.
func TestPagesOfOthers(t *testing.T) {
	if every > 1 {
		t.Skip("it takes minutes with the race detector, and is run without")
	}
	b := browsertest.Launch(t, "--host-resolver-rules=MAP evil.test 127.0.0.1, MAP rebound.test 127.0.0.2")
	v := newVictim(t)
	ws := v.make("mine", "mine\n")
	e := newEvil(t)
	all := v.changing(ws)
	for name, address := range map[string]string{"same address": "http://127.0.0.1:" + e.port, "localhost": "http://localhost:" + e.port, "another name": "http://evil.test:" + e.port} {
		p := b.OpenHostile(t)
		v.logIn(p)
		p.Go(address + "/")
		paths := all
		if name != "same address" {
			paths = some(all)
		}
		v.attackFrom(p, name, v.url, paths, ws)
		if name == "another name" {
			v.attackFrom(p, "a name that leads here", fmt.Sprintf("http://evil.test:%d", v.port), some(all), ws)
		}
		// The session was not ended, and what the onslaught does works in a page of the daemon's.
		p.Go(v.url + "/")
		var status int
		p.Eval("fetch('/v1/workspaces?repos=all').then(r => r.status)", &status)
		if status != http.StatusOK || p.Path() != "/" {
			t.Errorf("%s: the session has ended: %d at %s", name, status, p.Path())
		}
		p.Go("about:blank") // a page of the daemon's asks it again while the next one is tried
	}
	if !slices.ContainsFunc(e.cookies, func(c string) bool { return strings.Contains(c, "croft_session_") }) {
		t.Error("no page had a session in its browser: nothing was tested")
	}
	v.rebind(b, some(all), ws)
}

// some are enough of the paths where all of them are refused for the same reason as in the first
// onslaught. All of them take minutes.
func some(paths []string) []string {
	if os.Getenv("CROFT_LONG") != "" {
		return paths
	}
	var every []string
	for i := 0; i < len(paths); i += 6 {
		every = append(every, paths[i])
	}
	return every
}

// rebind has a page of another name come from another server first, and what it asks then go to
// the daemon, as a browser does whose name server has changed its mind.
func (v *victim) rebind(b *browsertest.Browser, paths []string, ws croft.Workspace) {
	t := v.t
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", fmt.Sprintf("127.0.0.2:%d", v.port))
	if err != nil {
		t.Logf("not tried: %v", err) // other systems have one loopback address
		return
	}
	var isRebound atomic.Bool
	proxy := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isRebound.Load() {
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Connection", "close")
			_, _ = io.WriteString(w, "<!doctype html><body>evil</body>")
			return
		}
		v.forward(w, r)
	}), ReadHeaderTimeout: time.Minute}
	go func() { _ = proxy.Serve(l) }()
	t.Cleanup(func() { _ = proxy.Close() })
	p := b.OpenHostile(t)
	v.logIn(p)
	address := fmt.Sprintf("http://rebound.test:%d", v.port)
	p.Go(address + "/")
	isRebound.Store(true)
	v.attackFrom(p, "a name that was rebound", address, paths, ws)
}

// forward sends a request to the daemon as it came, and the answer back, until one of both ends.
func (v *victim) forward(w http.ResponseWriter, r *http.Request) {
	from, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer from.Close()
	to, err := new(net.Dialer).DialContext(r.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", v.port))
	if err != nil {
		return
	}
	defer to.Close()
	_ = to.SetDeadline(time.Now().Add(20 * time.Second))
	fmt.Fprintf(to, "%s %s HTTP/1.1\r\nHost: %s\r\n", r.Method, r.RequestURI, r.Host)
	r.Header.Set("Connection", "close")
	if r.Header.Get("Upgrade") != "" {
		r.Header.Set("Connection", "Upgrade")
	}
	_ = r.Header.Write(to)
	if r.ContentLength > 0 {
		fmt.Fprintf(to, "Content-Length: %d\r\n", r.ContentLength)
	}
	_, _ = io.WriteString(to, "\r\n")
	_, _ = io.CopyN(to, buffered, max(r.ContentLength, 0))
	_, _ = io.Copy(from, to)
}
