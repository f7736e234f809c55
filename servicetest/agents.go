package servicetest

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

// agentScenarios hold the preset agents to the system of per-agent workspaces that it
// imitates: creation and the data model.
type agentScenarios struct{}

func agent(id string) croft.CreateRequest {
	return croft.CreateRequest{Agent: id, Name: id, Layout: "agents"}
}

func (agentScenarios) PathAndBranch(t *testing.T, f *fixture) {
	w := f.create(agent("abc123"))
	if w.Path != filepath.Join(f.Dir, ".worktrees", "abc123") || w.Branch != "agent/abc123" || w.Agent != "abc123" {
		t.Errorf("path %s, branch %s, agent %s", w.Path, w.Branch, w.Agent)
	}
	// Without an ID of the caller's, Croft's own is used.
	w = f.create(croft.CreateRequest{Name: "feat/x", Layout: "agents"})
	if w.Path != filepath.Join(f.Dir, ".worktrees", string(w.ID)) || w.Branch != "agent/"+string(w.ID[:8]) {
		t.Errorf("path %s, branch %s of %s", w.Path, w.Branch, w.ID)
	}
}

func (agentScenarios) ShortID(t *testing.T, f *fixture) {
	w := f.create(agent("0195f3a2-7c1e-7bbb-8aaa-0123456789ab"))
	if w.Branch != "agent/0195f3a2" || filepath.Base(w.Path) != "0195f3a2-7c1e-7bbb-8aaa-0123456789ab" {
		t.Errorf("branch %s, path %s", w.Branch, w.Path)
	}
}

// SharedPrefix: IDs that begin with the time of their creation have a common prefix.
func (agentScenarios) SharedPrefix(t *testing.T, f *fixture) {
	f.Git("branch", "agent/0195f3a3")
	list := f.createAll(agent("0195f3a2-7c1e-7bbb-8aaa-0123456789ab"), agent("0195f3a2-7c1e-7ccc-8aaa-0123456789ab"), agent("0195f3a2-7c1e-7ccc-8aaa-0123456789ac"))
	list = append(list, f.create(agent("0195f3a2-7c1e-7ccc-8aaa-0123456789ad")), f.create(agent("0195f3a2-7c1e-7ccc-8aaa-0123456789ae")), f.create(agent("0195f3a3-7c1e-7ccc-8aaa-0123456789ae")))
	for i, want := range []string{
		"agent/0195f3a2", "agent/0195f3a2-7c1e", "agent/0195f3a2-7c1e-7ccc", "agent/0195f3a2-7c1e-7ccc-8aaa", "agent/0195f3a2-7c1e-7ccc-8aaa-0123456789ae",
		"agent/0195f3a3-7c1e",
	} {
		if list[i].Branch != want || filepath.Base(list[i].Path) != list[i].Agent {
			t.Errorf("branch %s of %s, want %s", list[i].Branch, list[i].Agent, want)
		}
	}
}

func (agentScenarios) OffMain(t *testing.T, f *fixture) {
	main := f.Git("rev-parse", "main")
	f.Git("checkout", "--quiet", "-b", "topic")
	f.commitIn(f.Dir, "topic.txt", "x\n")
	wantStart(t, f.create(agent("a")), main, "main", "main")
}

func (agentScenarios) MasterForMain(t *testing.T, f *fixture) {
	f.Git("branch", "--quiet", "-m", "main", "master")
	tip := f.Git("rev-parse", "master")
	wantStart(t, f.create(agent("a")), tip, "master", "master")
	f.Git("branch", "--quiet", "-m", "master", "trunk")
	wantCode(t, errOf(f.Create(t.Context(), agent("b"))), croft.BaseNotFound)
}

// fields decodes a workspace's JSON as a program in another language would.
func fields(t *testing.T, w croft.Workspace) map[string]any {
	t.Helper()
	b, err := json.Marshal(w)
	must(t, err)
	var m map[string]any
	must(t, json.Unmarshal(b, &m))
	return m
}

func (agentScenarios) JSON(t *testing.T, f *fixture) {
	w := f.create(agent("a"))
	m := fields(t, w)
	for _, key := range []string{"mergeStatus", "mergeCommitSha"} {
		if v, ok := m[key]; !ok || v != nil {
			t.Errorf("%s = %v, there: %v; want null", key, v, ok)
		}
	}
	for _, key := range []string{"round", "label", "lockReason", "scratch", "session", "role", "lease"} {
		if v, ok := m[key]; ok {
			t.Errorf("%s = %v; want it absent", key, v)
		}
	}
	if m["branch"] != "agent/a" || m["path"] != w.Path || m["isLocked"] != false {
		t.Errorf("branch %v, path %v, isLocked %v", m["branch"], m["path"], m["isLocked"])
	}
	f.GitIn(w.Path, "checkout", "--quiet", "--detach")
	if v, ok := fields(t, f.show("a"))["branch"]; !ok || v != "" {
		t.Errorf("branch of a detached HEAD = %v, there: %v; want an empty string", v, ok)
	}
}

func (agentScenarios) PlainDirectory(t *testing.T, f *fixture) {
	dir := filepath.Join(f.Home, "plain")
	f.WriteFile(filepath.Join(dir, "notes.txt"), "mine\n")
	f.Service = f.at(dir)
	for _, id := range []string{"a", "b"} {
		w := f.create(agent(id))
		if w.Path != dir || w.Mode != croft.ModeLegacy || w.State != croft.Ready {
			t.Errorf("workspace %+v, want the directory itself", w)
		}
		m := fields(t, w)
		if _, ok := m["branch"]; ok || m["path"] != dir || m["mergeStatus"] != nil || m["mergeCommitSha"] != nil {
			t.Errorf("JSON %v: a plain directory has its path, no branch and null merge fields", m)
		}
		if shown := f.show(id); shown.Path != dir || shown.Branch != "" {
			t.Errorf("shown as %+v", shown)
		}
	}
	if entries := f.Tree(dir, ""); len(entries) != 2 {
		t.Errorf("the plain directory holds %v", entries)
	}
	if st := f.status(f.show("a").ID); st.Dirty() {
		t.Errorf("status %+v", st)
	}
	f.removed("a")
	f.WantFile(filepath.Join(dir, "notes.txt"), "mine\n")
	// Other layouts refuse it; with this one, a request for a worktree gets a copy.
	wantCode(t, errOf(f.Create(t.Context(), croft.CreateRequest{Name: "c"})), croft.NotARepo)
	req := agent("c")
	req.Mode = croft.ModeWorktree
	w := f.create(req)
	if w.Mode != croft.ModeIsolated || len(w.Notes) != 1 || f.ReadFile(filepath.Join(w.Path, "notes.txt")) != "mine\n" {
		t.Errorf("a worktree: %+v, want a copy and a note", w)
	}
}

func (agentScenarios) ServerRestart(t *testing.T, f *fixture) {
	w := f.create(agent("a"))
	f.writeIn(w, "wip.txt", "half")
	must(t, f.Close())
	f.Service = f.at(f.Dir)
	if got := f.show("a"); got.Path != w.Path || got.Branch != w.Branch || got.State != croft.Ready {
		t.Errorf("after the restart %+v", got)
	}
	f.WantFile(filepath.Join(w.Path, "wip.txt"), "half")
}

func (agentScenarios) TwoAgentsOneFile(t *testing.T, f *fixture) {
	list := f.createAll(agent("a"), agent("b"))
	for _, w := range list {
		f.commitIn(w.Path, "README.md", w.Name+"\n")
	}
	for _, w := range list {
		if got := f.ReadFile(filepath.Join(w.Path, "README.md")); strings.TrimSpace(got) != w.Name {
			t.Errorf("%s sees %q", w.Name, got)
		}
	}
	f.WantFile(filepath.Join(f.Dir, "README.md"), "# app\n")
}
