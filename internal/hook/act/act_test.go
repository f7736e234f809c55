package act

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
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
		Open:  func(context.Context, string, map[string]string) (croft.Service, error) { return s, nil },
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
		h.Open = func(context.Context, string, map[string]string) (croft.Service, error) {
			t.Errorf("%s opened the state", event)
			return nil, croft.StateUnavailable
		}
		if h.State(t.Context()); len(*said) != 0 {
			t.Errorf("%s: said %q", event, *said)
		}
	}
}

// Workspaces are those of a session, of its subagent, and of another session.
func (s *service) Workspaces(context.Context, croft.WorkspacesRequest) (*croft.List[croft.Workspace], error) {
	list := &croft.List[croft.Workspace]{}
	for id, a := range map[croft.ID]croft.Activity{
		"own": {State: croft.AgentIdle, AgentSession: "s"}, "over": {State: croft.AgentEnded, AgentSession: "s"},
		"sub": {State: croft.AgentWorking, AgentSession: "s/a1"}, "other": {State: croft.AgentWorking, AgentSession: "s2"},
	} {
		list.Items = append(list.Items, croft.Workspace{ID: id, Activity: &a})
	}
	list.Items = append(list.Items, croft.Workspace{ID: "none"})
	return list, nil
}

// TestSessionEnds: a session that ends, wherever it is then, ends in its workspaces and in those of its subagents; the end of a
// subagent ends nothing else.
func TestSessionEnds(t *testing.T) {
	free := make(chan struct{})
	close(free)
	for input, want := range map[string]string{
		`{"session_id": "s", "cwd": "/app", "hook_event_name": "SessionEnd", "reason": "other"}`:       ", id:own, id:sub",
		`{"session_id": "s", "cwd": "/agent-a1", "agent_id": "a1", "hook_event_name": "SubagentStop"}`: "",
		`{"session_id": "s", "cwd": "/app", "hook_event_name": "SessionEnd", "reason": "clear"}`:       "none",
		`{"session_id": "", "cwd": "/app", "hook_event_name": "SessionEnd", "reason": "other"}`:        "",
		`{"session_id": "s", "cwd": "/app", "hook_event_name": "Stop", "background_tasks": []}`:        "",
	} {
		s := &service{free: free}
		h, said, _ := hooked(s, input)
		h.State(t.Context())
		got := []string{}
		for _, r := range s.reports {
			got = append(got, string(r.Workspace))
		}
		slices.Sort(got)
		text := strings.Join(got, ", ")
		if len(got) == 0 {
			text = "none"
		}
		if text != want || len(*said) > 0 {
			t.Errorf("%s: reported for %q, said %q", input, text, *said)
		}
	}
}

// settingUp is a Service with one workspace whose commands have not run.
type settingUp struct {
	croft.Service
	dir   string
	state *croft.ProvisionState
}

func (s settingUp) Close() error { return nil }

func (s settingUp) Workspace(context.Context, croft.WorkspaceRequest) (*croft.Workspace, error) {
	return &croft.Workspace{ID: "i", Name: "w", Path: s.dir, State: croft.Ready, Provision: &croft.Provision{State: *s.state, Why: "deps: exit status 3"}}, nil
}

func (s settingUp) Repo(context.Context, croft.RepoRequest) (*croft.Repo, error) {
	return &croft.Repo{Path: s.dir}, nil
}

func (s settingUp) Provision(_ context.Context, req croft.ProvisionRequest) (*croft.Provision, error) {
	*s.state = croft.ProvisionFailed
	if req.Workspace != croft.ByID("i") || req.Mode != croft.ProvisionSteps {
		*s.state = ""
	}
	return &croft.Provision{State: *s.state}, nil
}

// TestSetUp: the commands that set a worktree up run in a process of their own. An agent waits for it, but not longer than it can,
// and not at all where the project says so.
func TestSetUp(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		wait Wait
		ends bool
		want string
	}{
		{"it ends", WaitAll, true, "w is not set up: deps: exit status 3; croft provision w"},
		{"it takes too long", WaitAll, false, "w is being set up in the background; croft show w tells how far it is"},
		{"nobody waits", WaitFiles, true, "w is being set up in the background; croft show w tells how far it is"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			state := croft.ProvisionPending
			h, said, _ := hooked(&service{}, `{"name":"w","cwd":"`+dir+`"}`)
			h.Open = func(context.Context, string, map[string]string) (croft.Service, error) {
				return settingUp{dir: dir, state: &state}, nil
			}
			h.SettingsOf = func(string) Settings { return Settings{Wait: tt.wait, Foreign: "off"} }
			if h.setUpPatience = time.Minute; !tt.ends && tt.wait == WaitAll {
				h.setUpPatience = time.Millisecond
			}
			h.SetUp = func(task string) (<-chan struct{}, error) {
				ended := make(chan struct{})
				if tt.ends {
					h.SetUpNow(t.Context(), task)
					close(ended)
				}
				return ended, nil
			}
			path, err := h.Create(t.Context())
			if text := strings.Join(*said, "\n"); err != nil || path != dir || text != tt.want {
				t.Errorf("%q, said %q, %v", path, text, err)
			}
		})
	}
}
