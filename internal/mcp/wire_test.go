package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/croft-sh/croft"
)

// exchange writes lines to a server and returns the answers to those with an ID.
func (f *fixture) exchange(scope Scope, lines ...string) map[float64]object {
	f.t.Helper()
	send, receive, _ := f.start(scope, nil)
	go func() { _, _ = io.WriteString(send, strings.Join(lines, "\n")+"\n") }()
	want := 0
	for _, line := range lines {
		if strings.Contains(line, `"id"`) {
			want++
		}
	}
	out := map[float64]object{}
	read := bufio.NewScanner(receive)
	read.Buffer(nil, 1<<20)
	for len(out) < want && read.Scan() {
		var answer object
		if err := json.Unmarshal(read.Bytes(), &answer); err != nil {
			f.t.Fatalf("%v: %.200s", err, read.Bytes())
		}
		out[answer["id"].(float64)] = answer
	}
	if len(out) < want {
		f.t.Fatalf("%d answers of %d: %v, %v", len(out), want, out, read.Err())
	}
	return out
}

// TestHandshake: hosts of the first generation, which begin with initialize.
func TestHandshake(t *testing.T) {
	f := newFixture(t)
	for asked, given := range map[string]string{"2025-11-25": "2025-11-25", "2025-06-18": "2025-06-18", "2024-11-05": "2024-11-05", "2026-07-28": "2025-11-25"} {
		got := f.exchange(f.scopeOf(KindAgent),
			fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"h","version":"1"}}}`, asked),
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
			`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"status"}}`,
			`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"undo","arguments":{}}}`,
			`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"status","arguments":{"x":1}}}`)
		if v := got[1]["result"].(object)["protocolVersion"]; v != given {
			t.Errorf("%s: %v", asked, v)
		}
		if n := len(got[2]["result"].(object)["tools"].([]any)); n != 7 {
			t.Errorf("%s: %d tools", asked, n)
		}
		if got[3]["result"].(object)["structuredContent"].(object)["name"] != "a" {
			t.Errorf("%s: %v", asked, got[3])
		}
		for _, id := range []float64{4, 5} {
			if got[id]["error"].(object)["code"] != -32602.0 {
				t.Errorf("%s: %v", asked, got[id])
			}
		}
	}
}

// TestWithoutHandshake: hosts of the second generation, whose requests say who they are.
func TestWithoutHandshake(t *testing.T) {
	f := newFixture(t)
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"h","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	got := f.exchange(f.scopeOf(KindAgent),
		`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{`+meta+`}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{`+meta+`}}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"status","arguments":{},`+meta+`}}`)
	versions := got[1]["result"].(object)["supportedVersions"].([]any)
	if !slices.Contains(versions, any("2026-07-28")) || !slices.Contains(versions, any("2025-11-25")) {
		t.Errorf("%v", got[1])
	}
	if n := len(got[2]["result"].(object)["tools"].([]any)); n != 7 {
		t.Errorf("%d tools", n)
	}
	if got[3]["result"].(object)["structuredContent"].(object)["name"] != "a" {
		t.Errorf("%v", got[3])
	}
}

// TestEnds: a server whose input ends answers what it has read, and ends within a second,
// also with a call at work.
func TestEnds(t *testing.T) {
	f := newFixture(t)
	send, receive, ended := f.start(f.scopeOf(KindOrchestrator), nil)
	begun := time.Now()
	go func() {
		_, _ = io.WriteString(send, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"h","version":"1"}}}`+"\n"+
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list","arguments":{}}}`+"\n"+
			`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"wait","arguments":{"seconds":300}}}`+"\n")
		begun = time.Now()
		_ = send.Close()
	}()
	all, err := io.ReadAll(receive)
	if err != nil || !strings.Contains(string(all), `"id":2`) {
		t.Errorf("%v: %s", err, all)
	}
	if err := <-ended; err != nil || time.Since(begun) > time.Second {
		t.Errorf("ended after %v: %v", time.Since(begun), err)
	}
}

// TestParallel: 200 calls at once over one connection, with one Service for all of them.
func TestParallel(t *testing.T) {
	f := newFixture(t)
	f.write(f.a, "new.txt", "one\n")
	c := f.connect(f.scopeOf(KindAgent))
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			switch i % 4 {
			case 0:
				if s := c.call("status", object{}); s["name"] != "a" {
					t.Errorf("%v", s)
				}
			case 1:
				c.call("diff", object{"path": "new.txt"})
			case 2:
				if s := c.call("save", object{"message": "m", "key": "one"}); s["commit"] == nil {
					t.Errorf("%v", s)
				}
			case 3:
				if _, failed := c.try("status", object{"workspace": "b"}); failed == nil || failed.Code != croft.WorktreeNotFound {
					t.Errorf("%+v", failed)
				}
			}
		})
	}
	wg.Wait()
	if n := f.repo.GitIn(f.a.Path, "rev-list", "--count", "main..HEAD"); n != "1" {
		t.Errorf("%s commits", n)
	}
}

// failing is a Service whose Workspace fails.
type failing struct {
	croft.Service
	err error
}

func (s failing) Workspace(context.Context, croft.WorkspaceRequest) (*croft.Workspace, error) {
	if s.err == nil {
		panic("lost")
	}
	return nil, s.err
}

func (failing) Repos(context.Context, croft.ReposRequest) (*croft.List[croft.Repo], error) {
	return &croft.List[croft.Repo]{Items: []croft.Repo{{ID: "r"}}}, nil
}

func (failing) Close() error { return nil }

// TestErrors: every code as the model reads it.
func TestErrors(t *testing.T) {
	f := newFixture(t)
	retryable := []croft.Code{
		croft.WorkspaceBusy, croft.WorkspaceLocked, croft.InProgress, croft.RoundBusy, croft.MergeHeld, croft.TargetMoved, croft.LimitReached, croft.NoSpace,
	}
	host := []croft.Code{croft.ReadOnly, croft.StateUnavailable, croft.NotWritable, croft.GitNotFound, croft.GitTooOld, croft.ConfigInvalid}
	inside := []croft.Code{croft.Internal, croft.GitFailed, croft.DiskError}
	for _, code := range croft.Codes() {
		err := &croft.Error{Code: code, Op: "x", Message: "cannot write /home/me/.secret/x: \x1b[31mno", Details: strings.Repeat("y", 9000) + "\nend", Hint: "croft show", Fields: map[string]string{"field": "workspace"}}
		c := f.connectTo(f.scopeOf(KindOrchestrator), func(context.Context) (croft.Service, error) { return failing{err: err}, nil })
		_, failed := c.try("status", object{"workspace": "a"})
		if failed == nil || failed.Code != code {
			t.Errorf("%s: %+v", code, failed)
			continue
		}
		if failed.Retryable != slices.Contains(retryable, code) || strings.Contains(failed.Message, "\x1b") || len(failed.Details) > maxLog+10 {
			t.Errorf("%s: %+v", code, failed)
		}
		if isHost := strings.HasPrefix(failed.Message, "this host cannot: "); isHost != slices.Contains(host, code) {
			t.Errorf("%s: %q", code, failed.Message)
		}
		isInside := slices.Contains(inside, code)
		if isInside != (failed.LogID != "") || isInside && (strings.Contains(failed.Message, "/home") || failed.Details != "") {
			t.Errorf("%s: %+v", code, failed)
		}
		if isInside && !strings.Contains(f.log.String(), failed.LogID) {
			t.Errorf("%s: the log lacks %s", code, failed.LogID)
		}
		if code == croft.ChecksUntrusted && !strings.Contains(failed.Message, "a person must approve") {
			t.Errorf("%s: %+v", code, failed)
		}
		if code == croft.Conflict && failed.Next == nil || code == croft.WorktreeNotFound && failed.Next.Tool != "list" {
			t.Errorf("%s: %+v", code, failed)
		}
		_ = c.Close()
	}
}

// TestPanics: a panic is an error of one call; the server goes on, and writes nothing else to
// its output.
func TestPanics(t *testing.T) {
	f := newFixture(t)
	c := f.connectTo(f.scopeOf(KindOrchestrator), func(context.Context) (croft.Service, error) { return failing{}, nil })
	for range 2 {
		if _, failed := c.try("status", object{"workspace": "a"}); failed == nil || failed.Code != croft.Internal {
			t.Errorf("%+v", failed)
		}
	}
	if !strings.Contains(f.log.String(), "panic: lost") {
		t.Errorf("log %q", f.log.String())
	}
	away := f.connectTo(f.scopeOf(KindAgent), func(context.Context) (croft.Service, error) { return nil, errors.New("no disk") })
	if _, failed := away.try("status", object{}); failed == nil || failed.Code == "" {
		t.Errorf("%+v", failed)
	}
}
