// Package browsertest drives a real Chromium for tests of pages: it loads them, presses keys
// and buttons, runs expressions, takes pictures, and records every request, so that one
// to another host fails the test.
//
// One browser serves all tests of a package. It runs headless, with a profile of its own in a
// temporary directory, listens on loopback only, and is ended with the tests.
package browsertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/croft-sh/croft/internal/proc"
)

const (
	startTime = 60 * time.Second
	callTime  = 30 * time.Second
)

// Browser is a Chromium that runs.
type Browser struct {
	conn *websocket.Conn

	mu      sync.Mutex
	last    int
	answers map[int]chan reply
	pages   map[string]*Page // by the session of the protocol
}

type reply struct {
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// names are what the program is called in the distributions.
var names = []string{"chromium", "chromium-browser", "google-chrome", "chrome"}

// Find returns the path of a Chromium, or an empty one.
func Find() string {
	for _, name := range names {
		if path, err := proc.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// IsRequired reports whether a test without a browser fails instead of being skipped: .ci/run
// sets CROFT_CI.
func IsRequired() bool {
	for _, kv := range proc.Environ() {
		if strings.HasPrefix(kv, "CROFT_CI=") {
			return true
		}
	}
	return false
}

// Launch starts a browser, which ends with the test, with further flags of the program.
func Launch(t testing.TB, flags ...string) *Browser {
	t.Helper()
	path := Find()
	if path == "" {
		if IsRequired() {
			t.Fatal("there is no chromium: install the package chromium")
		}
		t.Skip("there is no chromium")
	}
	profile := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- proc.RunGroup(ctx, proc.Command{Path: path, Stdout: io.Discard, Env: environ(profile), Dir: profile, Args: append([]string{
			"--headless=new", "--remote-debugging-port=0", "--remote-debugging-address=127.0.0.1", "--user-data-dir=" + profile,
			"--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--no-default-browser-check",
			"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps",
			"--disable-extensions", "--disable-features=Translate,OptimizationHints,MediaRouter", "--mute-audio", "--hide-scrollbars",
			"--force-color-profile=srgb", "--font-render-hinting=none", "--window-size=1440,900",
		}, append(flags, "about:blank")...)})
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	b := &Browser{answers: map[int]chan reply{}, pages: map[string]*Page{}}
	b.connect(ctx, t, profile, ended)
	return b
}

// environ is the environment of the browser: what it writes lies in its profile.
func environ(profile string) []string {
	env := []string{"HOME=" + profile, "XDG_CONFIG_HOME=" + profile, "XDG_CACHE_HOME=" + profile, "TMPDIR=" + profile, "LANG=C.UTF-8", "TZ=UTC"}
	for _, kv := range proc.Environ() {
		if strings.HasPrefix(kv, "PATH=") {
			env = append(env, kv)
		}
	}
	return env
}

// connect waits until the browser has written where it listens, and connects to it.
func (b *Browser) connect(ctx context.Context, t testing.TB, profile string, ended chan error) {
	t.Helper()
	deadline := time.Now().Add(startTime)
	for {
		data, err := os.ReadFile(filepath.Join(profile, "DevToolsActivePort"))
		if port, path, ok := strings.Cut(strings.TrimSpace(string(data)), "\n"); err == nil && ok {
			conn, _, err := websocket.Dial(ctx, "ws://127.0.0.1:"+port+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			conn.SetReadLimit(64 << 20)
			b.conn = conn
			go b.read(ctx)
			return
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("the browser ended: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatal("the browser does not listen")
		}
	}
}

// read hands answers and events to those who wait for them, until the connection ends.
func (b *Browser) read(ctx context.Context) {
	for {
		_, data, err := b.conn.Read(ctx)
		if err != nil {
			b.mu.Lock()
			defer b.mu.Unlock()
			for _, c := range b.answers {
				close(c)
			}
			b.answers = nil
			return
		}
		var m struct {
			ID      int             `json:"id"`
			Method  string          `json:"method"`
			Params  json.RawMessage `json:"params"`
			Session string          `json:"sessionId"`
			reply
		}
		if json.Unmarshal(data, &m) != nil {
			continue
		}
		b.mu.Lock()
		answer, page := b.answers[m.ID], b.pages[m.Session]
		delete(b.answers, m.ID)
		b.mu.Unlock()
		if m.ID != 0 && answer != nil {
			answer <- m.reply
		} else if page != nil {
			page.handle(m.Method, m.Params)
		}
	}
}

var errGone = errors.New("the browser has gone")

// send makes a call of the protocol, and does not wait.
func (b *Browser) send(session, method string, params any) (chan reply, error) {
	b.mu.Lock()
	if b.answers == nil {
		b.mu.Unlock()
		return nil, errGone
	}
	b.last++
	id, answer := b.last, make(chan reply, 1)
	b.answers[id] = answer
	b.mu.Unlock()
	data, err := json.Marshal(map[string]any{"id": id, "method": method, "params": params, "sessionId": session})
	if session == "" {
		data, err = json.Marshal(map[string]any{"id": id, "method": method, "params": params})
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	return answer, b.conn.Write(ctx, websocket.MessageText, data)
}

// call makes a call and waits for its answer.
func (b *Browser) call(session, method string, params, result any) error {
	answer, err := b.send(session, method, params)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	select {
	case r, ok := <-answer:
		switch {
		case !ok:
			return errGone
		case r.Error != nil:
			return fmt.Errorf("%s: %s", method, r.Error.Message)
		case result != nil:
			return json.Unmarshal(r.Result, result)
		}
		return nil
	case <-time.After(callTime):
		return fmt.Errorf("%s: no answer", method)
	}
}
