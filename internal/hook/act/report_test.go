package act

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
)

// reported calls the hook of a state, and returns what was reported and said.
func reported(t *testing.T, input string, change func(*Hook)) ([]croft.ReportRequest, []string) {
	t.Helper()
	s := &service{free: make(chan struct{})}
	close(s.free)
	h, said, _ := hooked(s, input)
	change(&h)
	h.State(t.Context())
	return s.reports, *said
}

// TestReport: a report has the time at which the agent called, and says that a session begins, also one that is taken up again:
// without that, its news would be those of one that others have followed.
func TestReport(t *testing.T) {
	began := time.Now().Add(-3 * time.Second)
	list, _ := reported(t, permission, func(h *Hook) { h.Began = began })
	if len(list) != 1 || !list[0].At.Equal(began) || list[0].Turn != "" {
		t.Errorf("a permission: %+v", list)
	}
	list, _ = reported(t, `{"session_id": "s", "cwd": "/ws", "hook_event_name": "SessionStart", "source": "resume"}`, func(*Hook) {})
	if len(list) != 1 || list[0].Turn != croft.SessionBegins || list[0].AgentSession != "s" {
		t.Errorf("a beginning: %+v", list)
	}
	list, said := reported(t, `{"method": "thread/status/changed", "params": {"threadId": "s", "status": {"type": "notLoaded"}}}`, func(h *Hook) { h.Agent = "codex" })
	if len(list) != 0 || len(said) != 0 {
		t.Errorf("nothing known: %+v, said %q", list, said)
	}
}

// TestReportOfNoDirectory: what an agent names instead of a directory is not opened.
func TestReportOfNoDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, "relative", ""} {
		list, _ := reported(t, strings.Replace(permission, "/ws", filepath.ToSlash(dir), 1), func(*Hook) {})
		if len(list) != 1 || list[0].Repo != croft.ByPath("/here") {
			t.Errorf("%q: %+v", dir, list)
		}
	}
}

// TestPanic: a hook whose report panics does not fail its agent.
func TestPanic(t *testing.T) {
	_, said := reported(t, permission, func(h *Hook) {
		h.Open = func(context.Context, string, map[string]string) (croft.Service, error) { panic("broken") }
	})
	if len(said) != 1 || !strings.Contains(said[0], "panic: broken") {
		t.Errorf("said %q", said)
	}
}
