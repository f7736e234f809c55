//go:build linux

package sandboxtest

import (
	"context"
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/proc"
)

// screen is a program on a terminal: what it has printed, and keys for it.
type screen struct {
	*proc.Process
	ended chan error

	mu   sync.Mutex
	text strings.Builder
}

// startScreen starts a program on a terminal.
func startScreen(ctx context.Context, t *testing.T, c proc.Command) *screen {
	t.Helper()
	c.Args = append([]string{"-c", `stty rows 40 cols 140; exec "$@"`, "sh", c.Path}, c.Args...)
	c.Path = "/bin/sh"
	p, err := proc.StartTerminal(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{Process: p, ended: make(chan error, 1)}
	go func() {
		buffer := make([]byte, 1<<14)
		for {
			n, err := p.Stdout.Read(buffer)
			s.mu.Lock()
			s.text.Write(buffer[:n])
			s.mu.Unlock()
			if err != nil {
				s.ended <- p.Wait()
				return
			}
		}
	}()
	t.Cleanup(p.Kill)
	return s
}

// escapes are what a terminal does not show. Programs move the cursor instead of printing spaces, so that those do not count.
var escapes = regexp.MustCompile(`\x1b\[[0-9;?<>]*[a-zA-Z]|\x1b\][^\x07]*\x07|\x1b.|\s`)

// shown returns all that was shown, without spaces.
func (s *screen) shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return escapes.ReplaceAllString(s.text.String(), "")
}

// press types keys again and again, with a pause, until something is so.
func (s *screen) press(t *testing.T, keys, what string, isSo func() bool) {
	t.Helper()
	for range 6 {
		for key := range strings.SplitSeq(keys, " ") {
			if _, err := s.Stdin.Write([]byte(key)); err != nil {
				t.Fatalf("%s: %v\n%s", what, err, s.shown())
			}
			time.Sleep(time.Second) // pasted keys mean something else
		}
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			if isSo() {
				return
			}
		}
	}
	t.Fatalf("%s does not happen\n%s", what, s.shown())
}

// TestClaudeAsks: a session on a terminal asks for a permission, then a question, and waits. Croft says so, and what is asked. The
// answers are given on the terminal. At the end the user has the worktree removed, and it stays, because it has work.
func TestClaudeAsks(t *testing.T) {
	h := newClaudeHost(t)
	m := newTalks(t, map[string][]turn{"ask me": {
		{bash("touch asked")},
		{{"AskUserQuestion", `{"questions":[{"question":"Postgres or SQLite?","header":"Database","multiSelect":false,"options":[{"label":"Postgres","description":"big"},{"label":"SQLite","description":"small"}]}]}`}},
		{bash("sleep 3")}, // the hooks of a tool and of the end of a turn run at once, and the older news are dropped
	}})
	home := agentHome(t)
	config, err := json.Marshal(object{
		"hasCompletedOnboarding": true, "theme": "dark", "customApiKeyResponses": object{"approved": []string{"scripted"}},
		"projects": object{h.repo.Dir: object{"hasTrustDialogAccepted": true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(home, ".claude.json"), string(config))
	ctx, cancel := context.WithTimeout(t.Context(), agentTime)
	defer cancel()
	s := startScreen(ctx, t, proc.Command{
		Path: filepath.Join(h.programs, "node_modules", ".bin", "claude"), Args: []string{"--worktree", "ask", "--permission-mode", "default", "--allowedTools=Bash(sleep:*)", "ask me"},
		Dir: h.repo.Dir, Env: slices.Concat(h.repo.Env, []string{"TMPDIR=" + h.temp, "TERM=xterm-256color"}, m.env(home)),
	})
	asked := func() croft.Activity {
		if a := h.workspaces(t, "--needs-me")["ask"].Activity; a != nil {
			return *a
		}
		return croft.Activity{}
	}
	waitFor := func(need croft.AgentNeed, note string) {
		t.Helper()
		var a croft.Activity
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			if a = asked(); a.WaitingFor == need && a.Note == note {
				return
			}
		}
		t.Fatalf("it does not wait for %s: %+v, %v\n%s", need, a, h.states(t, "ask"), s.shown())
	}
	waitFor(croft.NeedPermission, "Bash: touch asked")
	s.press(t, "1", "the question", func() bool { return asked().WaitingFor == croft.NeedAnswer })
	waitFor(croft.NeedAnswer, "Postgres or SQLite?")
	is := func(state croft.AgentState) func() bool {
		return func() bool { a := h.workspaces(t)["ask"].Activity; return a != nil && a.State == state }
	}
	s.press(t, "2", "the end of the turn", is(croft.AgentIdle))
	if answers := m.answers("ask me"); !strings.Contains(answers, "SQLite") {
		t.Errorf("the agent was told %s", answers)
	}
	s.press(t, "/exit \r", "the question about the worktree", func() bool { return strings.Contains(s.shown(), "Exitingworktreesession") })
	s.press(t, "2", "the end of the session", is(croft.AgentEnded))
	select {
	case <-s.ended:
	case <-ctx.Done():
		t.Errorf("it goes on\n%s", s.shown())
	}
	got := strings.Join(h.states(t, "ask"), ", ")
	want := "idle, working, waiting permission: Bash: touch asked, working, waiting answer: Postgres or SQLite?, working, idle, ended"
	if got != want {
		t.Errorf("the states:\n%s, want\n%s", got, want)
	}
	if ws := h.workspaces(t)["ask"]; ws.Path == "" || !slices.Contains(h.events(t, "ask"), croft.EventWorkspaceLeft) {
		t.Errorf("%+v, %v", ws, h.events(t, "ask"))
	}
}
