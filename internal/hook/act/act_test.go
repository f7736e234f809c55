package act

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/hook"
)

// service records reports, after it was let go.
type service struct {
	croft.UnimplementedService
	free chan struct{}

	mu      sync.Mutex
	reports []croft.ReportRequest
	err     error
}

func (s *service) Close() error { return nil }

func (s *service) ReportAgent(_ context.Context, req croft.ReportRequest) (*croft.Activity, error) {
	<-s.free
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reports = append(s.reports, req)
	return &croft.Activity{State: req.State}, s.err
}

// hooked is a hook with an input, and what it said and handed over.
func hooked(s *service, input string) (h Hook, said, later *[]string) {
	said, later = new([]string), new([]string)
	return Hook{
		Agent: hook.Claude, Stdin: strings.NewReader(input), Dir: "/here",
		Open:  func(context.Context, string) (croft.Service, error) { return s, nil },
		Later: func(report string) error { *later = append(*later, report); return nil },
		Say:   func(sentence string) { *said = append(*said, sentence) },

		patience: time.Minute,
	}, said, later
}

const permission = `{"session_id": "s", "cwd": "/ws", "hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": {"command": "ls"}}`

// TestBusy: a state that cannot be written in time is handed over, and is reported as it was then.
func TestBusy(t *testing.T) {
	s := &service{free: make(chan struct{})}
	h, said, later := hooked(s, permission)
	h.patience = 0
	began := time.Now()
	h.State(t.Context())
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("the agent waited for %v", took)
	}
	if len(*later) != 1 || len(*said) != 0 {
		t.Fatalf("handed over %q, said %q", *later, *said)
	}
	close(s.free)
	h.Late(t.Context(), (*later)[0])
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.reports[len(s.reports)-1]
	if last.State != croft.AgentWaiting || last.Note != "Bash: ls" || last.Repo != croft.ByPath("/ws") || last.At.Before(began) || last.At.After(began.Add(time.Second)) {
		t.Errorf("reported %+v", last)
	}
}

// TestSilent: outside of workspaces nothing is said; other trouble is.
func TestSilent(t *testing.T) {
	free := make(chan struct{})
	close(free)
	for code, wantSaid := range map[croft.Code]int{croft.WorktreeNotFound: 0, croft.NotARepo: 0, croft.ReadOnly: 0, croft.StateUnavailable: 1} {
		h, said, _ := hooked(&service{free: free, err: &croft.Error{Code: code, Message: "no"}}, permission)
		if h.State(t.Context()); len(*said) != wantSaid {
			t.Errorf("%s: said %q", code, *said)
		}
	}
}

// TestUnchanged: news without a state open nothing.
func TestUnchanged(t *testing.T) {
	for _, event := range []string{"SubagentStart", "PreCompact", "FutureEvent"} {
		input, err := json.Marshal(map[string]string{"cwd": "/ws", "hook_event_name": event})
		if err != nil {
			t.Fatal(err)
		}
		h, said, _ := hooked(nil, string(input))
		h.Open = func(context.Context, string) (croft.Service, error) {
			t.Errorf("%s opened the state", event)
			return nil, croft.StateUnavailable
		}
		if h.State(t.Context()); len(*said) != 0 {
			t.Errorf("%s: said %q", event, *said)
		}
	}
}

// settingUp is a Service with one workspace whose commands take longer than any patience.
type settingUp struct {
	croft.Service
	dir string
}

func (s settingUp) Close() error { return nil }

func (s settingUp) Workspace(context.Context, croft.WorkspaceRequest) (*croft.Workspace, error) {
	return &croft.Workspace{ID: "i", Name: "w", Path: s.dir, State: croft.Ready, Provision: &croft.Provision{State: croft.ProvisionPending}}, nil
}

func (s settingUp) Provision(ctx context.Context, _ croft.ProvisionRequest) (*croft.Provision, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestSetUpEnds: an agent gets its worktree also if the commands that set it up take longer than it waits, and it is said.
func TestSetUpEnds(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h, said, _ := hooked(&service{}, `{"name":"w","cwd":"`+dir+`"}`)
	h.Open = func(context.Context, string) (croft.Service, error) { return settingUp{dir: dir}, nil }
	h.setUpPatience = time.Millisecond
	path, err := h.Create(t.Context())
	if err != nil || path != dir {
		t.Fatalf("%q, %v", path, err)
	}
	if text := strings.Join(*said, "\n"); !strings.Contains(text, "croft provision w") {
		t.Errorf("said %q", text)
	}
}
