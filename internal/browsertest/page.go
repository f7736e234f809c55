package browsertest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Page is a tab of a browser, with cookies of its own.
type Page struct {
	t       testing.TB
	b       *Browser
	session string
	jar     string // the context of the browser: its cookies and connections
	host    string // the only one that may be asked

	mu       sync.Mutex
	loaded   chan struct{}
	requests []string
	problems []string
}

// Look is how a page is shown.
type Look struct {
	Width, Height int
	Theme         string // light or dark: what the system prefers
	IsTouch       bool
}

// The looks that pages are tested with.
var (
	Desktop = Look{Width: 1440, Height: 900, Theme: "light"}
	Dark    = Look{Width: 1440, Height: 900, Theme: "dark"}
	Phone   = Look{Width: 390, Height: 844, Theme: "light", IsTouch: true}
)

// Script says whether pages may run scripts.
type Script string

// The modes of scripts.
const (
	ScriptOn  Script = ""
	ScriptOff Script = "off"
)

// Open opens a tab that may ask one server only. At the end of the test it fails if the page
// asked another one, if its console has an error, or if the policy of the page refused something.
func (b *Browser) Open(t testing.TB, server string, script Script) *Page {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	return b.open(t, u.Host, script)
}

// OpenHostile opens a tab for pages that attack: it may ask every server, and what a browser
// complains of is no failure.
func (b *Browser) OpenHostile(t testing.TB) *Page {
	t.Helper()
	return b.open(t, "", ScriptOn)
}

// Beside opens a further tab with the cookies and the connections of this one. It ends with this one.
func (p *Page) Beside() *Page {
	p.t.Helper()
	beside := &Page{t: p.t, b: p.b, host: p.host, jar: p.jar, loaded: make(chan struct{}, 1)}
	beside.attach(ScriptOn)
	return beside
}

// Front shows the tab. Those beside it are hidden.
func (p *Page) Front() {
	p.t.Helper()
	p.call("Page.bringToFront", nil, nil)
}

func (b *Browser) open(t testing.TB, host string, script Script) *Page {
	t.Helper()
	p := &Page{t: t, b: b, host: host, loaded: make(chan struct{}, 1)}
	var jar struct{ BrowserContextID string }
	p.must(b.call("", "Target.createBrowserContext", map[string]any{}, &jar))
	p.jar = jar.BrowserContextID
	p.attach(script)
	t.Cleanup(func() {
		if err := b.call("", "Target.disposeBrowserContext", map[string]any{"browserContextId": p.jar}, nil); err != nil {
			t.Logf("the browser keeps a tab: %v", err) // it is ended after the tests
		}
	})
	return p
}

// attach makes the tab. At the end of the test it fails for what the page should not have done.
func (p *Page) attach(script Script) {
	p.t.Helper()
	b := p.b
	var target struct{ TargetID string }
	p.must(b.call("", "Target.createTarget", map[string]any{"url": "about:blank", "browserContextId": p.jar}, &target))
	var attached struct{ SessionID string }
	p.must(b.call("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached))
	p.session = attached.SessionID
	b.mu.Lock()
	b.pages[p.session] = p
	b.mu.Unlock()
	for _, domain := range []string{"Page", "Network", "Runtime", "Log"} {
		p.call(domain+".enable", nil, nil)
	}
	if script == ScriptOff {
		p.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	}
	p.Show(Desktop)
	p.t.Cleanup(func() {
		for _, problem := range p.Problems() {
			if p.host != "" {
				p.t.Error(problem)
			}
		}
	})
}

func (p *Page) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *Page) call(method string, params map[string]any, result any) {
	p.t.Helper()
	if params == nil {
		params = map[string]any{}
	}
	p.must(p.b.call(p.session, method, params, result))
}

// handle notes what the browser tells of the page.
func (p *Page) handle(method string, params json.RawMessage) {
	var e struct {
		Request          struct{ URL string }
		Entry            struct{ Level, Text, URL, Source string }
		ExceptionDetails struct {
			Text      string
			Exception struct{ Description string }
		}
		Type string
	}
	if json.Unmarshal(params, &e) != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch method {
	case "Page.loadEventFired":
		select {
		case p.loaded <- struct{}{}:
		default:
		}
	case "Network.requestWillBeSent":
		p.requests = append(p.requests, e.Request.URL)
		u, err := url.Parse(e.Request.URL)
		if err != nil || u.Host != p.host && u.Scheme != "about" && u.Scheme != "data" && u.Scheme != "blob" {
			p.problems = append(p.problems, "a request to another host: "+e.Request.URL)
		}
	case "Log.entryAdded":
		if e.Entry.Level == "error" && e.Entry.Source != "network" {
			p.problems = append(p.problems, "console: "+e.Entry.Text+" "+e.Entry.URL)
		}
	case "Runtime.exceptionThrown":
		p.problems = append(p.problems, "exception: "+e.ExceptionDetails.Text+" "+e.ExceptionDetails.Exception.Description)
	case "Page.javascriptDialogOpening":
		p.problems = append(p.problems, "a dialog was opened by a script")
	}
}

// Problems are what was noticed so far.
func (p *Page) Problems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.problems...)
}

// Requests are the addresses that the page asked so far.
func (p *Page) Requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.requests...)
}

// Show sets the size of the page and what its system prefers.
func (p *Page) Show(l Look) {
	p.t.Helper()
	p.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": l.Width, "height": l.Height, "deviceScaleFactor": 1, "mobile": l.IsTouch}, nil)
	p.call("Emulation.setTouchEmulationEnabled", map[string]any{"enabled": l.IsTouch}, nil)
	p.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{
		{"name": "prefers-color-scheme", "value": l.Theme}, {"name": "prefers-reduced-motion", "value": "reduce"},
	}}, nil)
}

// Go loads an address, and waits until it is loaded.
func (p *Page) Go(address string) {
	p.t.Helper()
	p.wait(func() {
		var nav struct{ ErrorText string }
		p.call("Page.navigate", map[string]any{"url": address}, &nav)
		if nav.ErrorText != "" {
			p.t.Fatalf("%s: %s", address, nav.ErrorText)
		}
	})
}

// wait does something that loads a page, and waits for that.
func (p *Page) wait(do func()) {
	p.t.Helper()
	select {
	case <-p.loaded:
	default:
	}
	do()
	select {
	case <-p.loaded:
	case <-time.After(callTime):
		p.t.Fatal("no page was loaded")
	}
}

// Eval evaluates an expression in the page. That works without scripts, too.
func (p *Page) Eval(expression string, result any) {
	p.t.Helper()
	p.must(p.eval(expression, result))
}

func (p *Page) eval(expression string, result any) error {
	var out struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	err := p.b.call(p.session, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true, "userGesture": true}, &out)
	if err != nil {
		return err
	}
	if out.ExceptionDetails != nil {
		return fmt.Errorf("%.200s: %s %s", expression, out.ExceptionDetails.Text, out.ExceptionDetails.Exception.Description)
	}
	if result != nil && len(out.Result.Value) > 0 {
		return json.Unmarshal(out.Result.Value, result)
	}
	return nil
}

// Text is the visible text of the first element that a selector finds, or of nothing.
func (p *Page) Text(selector string) string {
	p.t.Helper()
	var text string
	p.Eval(fmt.Sprintf("(document.querySelector(%s)||{innerText:''}).innerText", quote(selector)), &text)
	return text
}

// Has reports whether a selector finds something.
func (p *Page) Has(selector string) bool {
	p.t.Helper()
	var has bool
	p.Eval(fmt.Sprintf("!!document.querySelector(%s)", quote(selector)), &has)
	return has
}

// Path is the path and the query of the page's address.
func (p *Page) Path() string {
	p.t.Helper()
	var path string
	p.Eval("location.pathname+location.search", &path)
	return path
}

// WaitFor waits until an expression is true. The page may be loaded again meanwhile.
func (p *Page) WaitFor(expression string) {
	p.t.Helper()
	var err error
	for deadline := time.Now().Add(callTime); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		var ok bool
		if err = p.eval("!!("+expression+")", &ok); err == nil && ok {
			return
		}
	}
	p.t.Fatalf("never true: %s (%v)\n%s", expression, err, p.Text("body"))
}

// Click presses the mouse on the first element that a selector finds.
func (p *Page) Click(selector string) {
	p.t.Helper()
	var at []float64
	p.Eval(fmt.Sprintf(`(()=>{const e=document.querySelector(%s);if(!e)return null;e.scrollIntoView({block:'center',behavior:'instant'});const r=e.getBoundingClientRect();return [r.left+r.width/2,r.top+r.height/2]})()`, quote(selector)), &at)
	if len(at) != 2 {
		p.t.Fatalf("nothing to press: %s on %s", selector, p.Path())
	}
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		p.call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at[0], "y": at[1], "button": "left", "clickCount": 1}, nil)
	}
}

// Follow presses an element, and waits for the page that it leads to.
func (p *Page) Follow(selector string) {
	p.t.Helper()
	p.wait(func() { p.Click(selector) })
}

// Press presses a key: a character, or Enter, Tab, Escape.
func (p *Page) Press(key string) {
	p.t.Helper()
	down := map[string]any{"type": "keyDown", "key": key}
	switch key {
	case "Enter":
		down["text"], down["code"], down["windowsVirtualKeyCode"] = "\r", "Enter", 13
	case "Tab":
		down["code"], down["windowsVirtualKeyCode"] = "Tab", 9
	case "Escape":
		down["code"], down["windowsVirtualKeyCode"] = "Escape", 27
	default:
		down["text"] = key
	}
	p.call("Input.dispatchKeyEvent", down, nil)
	p.call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key}, nil)
}

// PressAndLoad presses a key, and waits for the page that it leads to.
func (p *Page) PressAndLoad(key string) {
	p.t.Helper()
	p.wait(func() { p.Press(key) })
}

// Screenshot writes a picture of the whole page, if CROFT_SCREENSHOTS names a directory.
func (p *Page) Screenshot(dir, name string) {
	p.t.Helper()
	if dir == "" {
		return
	}
	var shot struct{ Data string }
	p.call("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true}, &shot)
	data, err := base64.StdEncoding.DecodeString(shot.Data)
	p.must(err)
	p.must(os.WriteFile(filepath.Join(dir, strings.ReplaceAll(name, "/", "_")+".png"), data, 0o644))
}

// quote is a string as an expression.
func quote(s string) string {
	data, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(data)
}
