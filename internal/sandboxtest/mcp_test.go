//go:build linux

package sandboxtest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// tools calls tools of croft mcp outside of the sandbox, one after the other, and returns what
// it printed.
func (h host) tools(t *testing.T, workspace string, calls ...string) string {
	t.Helper()
	out := ""
	for i, call := range calls {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		cmd := exec.CommandContext(ctx, h.croft, "mcp", "--workspace", workspace)
		cmd.Dir, cmd.Env = h.repo.Dir, h.repo.Env
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		var printed bytes.Buffer
		cmd.Stdout = &answered{b: &printed, marker: fmt.Sprintf(`"id":%d,`, i+10), close: func() { _ = in.Close() }}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"h","version":"1"}}}`+"\n"+
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"+`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%s}`+"\n", i+10, call)
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%s: %v: %s", call, err, printed.String())
		}
		cancel()
		out += printed.String()
	}
	return out
}

// answered closes the input of a server once it has answered.
type answered struct {
	b      *bytes.Buffer
	marker string
	close  func()
}

// Write keeps what was printed.
func (a *answered) Write(p []byte) (int, error) {
	n, err := a.b.Write(p)
	if strings.Contains(a.b.String(), a.marker) {
		a.close()
	}
	return n, err
}

// TestSavedFromOutside: an agent that cannot commit in its sandbox edits, adds, removes and
// renames files; its host calls save and submit outside. All is committed, and git inside
// says so.
func TestSavedFromOutside(t *testing.T) {
	h := newHost(t)
	for _, workspace := range []string{"w", "iso"} {
		t.Run(workspace, func(t *testing.T) {
			s := h.sandbox(Codex, workspace)
			git := func(line string) (string, error) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				out, err := s.Command(ctx, t, "sh", "-c", line).CombinedOutput()
				return strings.TrimSpace(string(out)), err
			}
			if out, err := git("git commit --quiet --allow-empty -m no"); err == nil {
				t.Fatalf("the sandbox lets the agent commit: %s", out)
			}
			if out, err := git("echo more >> README.md && mkdir deep && echo d > deep/d.txt && mv src/main.txt moved.txt && echo x > gone && rm gone"); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			out := h.tools(t, workspace, `{"name":"save","arguments":{"message":"half of it","key":"k"}}`, `{"name":"save","arguments":{"message":"half of it","key":"k"}}`)
			if strings.Contains(out, "isError") || strings.Count(out, `"files":5`) != 2 {
				t.Fatalf("%s", out)
			}
			if out, err := git("git status --porcelain && git log --format=%s -2"); err != nil || out != "half of it\nfirst commit" && !strings.HasPrefix(out, "half of it\n") {
				t.Errorf("%v: %s", err, out)
			}
			if out, err := git("echo last > last.txt"); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if out := h.tools(t, workspace, `{"name":"submit","arguments":{"outcome":"done","summary":"all of it"}}`); strings.Contains(out, "isError") || !strings.Contains(out, "pending") {
				t.Errorf("%s", out)
			}
			if out, err := git("git status --porcelain && git ls-files"); err != nil || out != "README.md\ndeep/d.txt\nlast.txt\nmoved.txt\nnew.txt" {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// TestServerInside: a server that is started inside of a sandbox reads, and refuses what has to
// be written with READ_ONLY.
func TestServerInside(t *testing.T) {
	h := newHost(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s := h.sandbox(Codex, "w")
	cmd := s.Command(ctx, t, h.croft, "mcp")
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"h","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"diff","arguments":{}}}` + "\n" +
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"save","arguments":{"message":"m"}}}` + "\n")
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), `"path":"new.txt"`) || !strings.Contains(string(out), "READ_ONLY") || !strings.Contains(string(out), "this host cannot") {
		t.Errorf("%v: %s\n%s", err, out, stderrOf(err))
	}
}

// TestManySaved: many agents, each a shell in Codex's sandbox that edits, adds, deletes and
// renames files twice, have their work saved and submitted from outside. Nothing is lost, and git
// inside says that nothing is uncommitted.
func TestManySaved(t *testing.T) {
	agents := 4
	if os.Getenv("CROFT_LONG") != "" {
		agents = 100
	}
	h := newHost(t)
	names := make([]string, agents)
	for i := range names {
		names[i] = fmt.Sprintf("agent-%d", i)
	}
	h.outside(t, append([]string{"new"}, names...)...)
	turns := make(chan struct{}, 2)
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			s := h.sandbox(Codex, name)
			inside := func(line string) string {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				out, err := s.Command(ctx, t, "sh", "-c", line).CombinedOutput()
				if err != nil {
					t.Errorf("%s: %s: %v: %s", name, line, err, out)
				}
				return strings.TrimSpace(string(out))
			}
			inside(fmt.Sprintf("echo %d >> README.md && mkdir -p deep/%d && echo n > deep/%d/new && echo t > third", i, i, i))
			saved := h.tools(t, name, fmt.Sprintf(`{"name":"save","arguments":{"message":"first of %s","key":"k"}}`, name))
			inside(fmt.Sprintf("rm README.md && mv src/main.txt moved && mv third fourth && echo e >> deep/%d/new && echo l > last", i))
			done := h.tools(t, name, `{"name":"submit","arguments":{"outcome":"done"}}`)
			if strings.Contains(saved+done, "isError") {
				t.Errorf("%s: %s%s", name, saved, done)
			}
			want := fmt.Sprintf("deep/%d/new\nfourth\nlast\nmoved\n2\nn\ne", i)
			if got := inside("git status --porcelain; git ls-tree -r --name-only HEAD; git rev-list --count main..HEAD; git show HEAD:" + fmt.Sprintf("deep/%d/new", i)); got != want {
				t.Errorf("%s:\n%s\nwant:\n%s", name, got, want)
			}
		})
	}
	wg.Wait()
}
