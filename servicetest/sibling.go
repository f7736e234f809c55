package servicetest

import (
	"errors"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/croft-sh/croft"
)

// siblingScenarios hold the preset sibling to the worktree system that it imitates.
type siblingScenarios struct{}

func sibling(name string) croft.CreateRequest {
	return croft.CreateRequest{Name: name, Layout: "sibling"}
}

func (siblingScenarios) CreateAndTeardown(t *testing.T, f *fixture) {
	w := f.create(sibling("agent/7"))
	if w.Branch != "agent/7" || filepath.Dir(w.Path) != filepath.Dir(f.Dir) || !f.Exists(w.Path) {
		t.Errorf("branch %s at %s", w.Branch, w.Path)
	}
	if got := f.removed("agent/7"); got.Branch != "agent/7" {
		t.Errorf("removed %+v, want the branch gone with it", got)
	}
	if has, _ := f.Branch(t.Context(), croft.BranchRequest{Branch: "agent/7"}); has.Exists || f.Exists(w.Path) {
		t.Errorf("branch there: %v, directory there: %v", has.Exists, f.Exists(w.Path))
	}
	if got := f.Git("worktree", "list", "--porcelain"); strings.Contains(got, w.Path) {
		t.Errorf("git still has it registered: %s", got)
	}
}

func (siblingScenarios) NamingConvention(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "seven", Branch: "feat/login-7", Layout: "sibling"})
	want := regexp.MustCompile(`^app-feat-login-7-[0-9]{10,}$`)
	if !want.MatchString(filepath.Base(w.Path)) || w.Branch != "feat/login-7" {
		t.Errorf("path %s, branch %s, want app-feat-login-7-<unix>", w.Path, w.Branch)
	}
}

func (siblingScenarios) UniqueBranches(t *testing.T, f *fixture) {
	list := f.createAll(sibling("agent-1"), sibling("agent-2"), sibling("agent-3"))
	branches, paths := map[string]bool{}, map[string]bool{}
	for _, w := range list {
		branches[w.Branch], paths[w.Path] = true, true
	}
	if len(branches) != 3 || len(paths) != 3 {
		t.Errorf("branches %v, paths %v", branches, paths)
	}
}

func (siblingScenarios) ListAndCountActive(t *testing.T, f *fixture) {
	f.createAll(sibling("agent-1"), sibling("agent-2"))
	f.wantNames("agent-1", "agent-2")
	for want := 2; want >= 0; want-- {
		if n, err := f.CountActive(t.Context(), croft.CountRequest{}); err != nil || n.Active != want {
			t.Errorf("CountActive = %d, %v, want %d", n.Active, err, want)
		}
		if want > 0 {
			f.removed(f.names()[0])
		}
	}
}

func (siblingScenarios) MaxWorkers(t *testing.T, f *fixture) {
	f.Service = f.at(f.Dir, "MAX_WORKERS=2")
	f.createAll(sibling("agent-1"), sibling("agent-2"))
	if e := wantCode(t, errOf(f.Create(t.Context(), sibling("agent-3"))), croft.LimitReached); !strings.Contains(e.Message, "2") {
		t.Errorf("message %q", e.Message)
	}
	f.removed("agent-1")
	f.create(sibling("agent-3"))
}

func (siblingScenarios) BranchCollision(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Name: "one", Branch: "topic", Layout: "sibling"})
	wantCode(t, errOf(f.Create(t.Context(), croft.CreateRequest{Name: "two", Branch: "topic", Layout: "sibling"})), croft.BranchInUse)
	wantCode(t, errOf(f.Create(t.Context(), sibling("topic"))), croft.BranchExists)
	f.wantNames("one")
}

func (siblingScenarios) BranchCollisionRace(t *testing.T, f *fixture) {
	const n = 5
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		svc := f.at(f.Dir)
		wg.Go(func() {
			_, errs[i] = svc.Create(t.Context(), croft.CreateRequest{Name: string(rune('a' + i)), Branch: "same", Layout: "sibling"})
		})
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if !errors.Is(err, croft.BranchExists) && !errors.Is(err, croft.BranchInUse) {
			t.Errorf("a loser got %v", err)
		}
	}
	if won != 1 || len(f.names()) != 1 {
		t.Errorf("%d won, workspaces %v", won, f.names())
	}
}

func (siblingScenarios) TeardownByPath(t *testing.T, f *fixture) {
	w := f.create(sibling("agent-1"))
	res := f.remove(croft.RemoveRequest{Workspaces: []string{filepath.Join(w.Path, "src")}})
	if len(res.Removed) != 1 || f.Exists(w.Path) {
		t.Errorf("Remove by a path inside = %v", describe(res))
	}
}

func (siblingScenarios) NeverTheMainWorktree(t *testing.T, f *fixture) {
	f.create(sibling("agent-1"))
	for _, mode := range []croft.RemoveMode{croft.RemoveSafe, croft.RemoveForce} {
		res := f.remove(croft.RemoveRequest{Workspaces: []string{f.Dir, "main", filepath.Join(f.Dir, "src"), filepath.Dir(f.Dir)}, Mode: mode})
		if len(res.Removed) != 0 || len(res.Unknown) != 4 {
			t.Errorf("Remove of main = %v", describe(res))
		}
	}
	must(t, errOf(f.Clean(t.Context(), croft.CleanRequest{All: croft.ScopeAll})))
	must(t, errOf(f.Reap(t.Context(), croft.ReapRequest{OlderThan: 1, Mode: croft.RemoveForce})))
	if got := f.Git("status", "--porcelain"); got != "" || f.ReadFile(filepath.Join(f.Dir, "README.md")) != "# app\n" {
		t.Errorf("main is now %q", got)
	}
}

func (siblingScenarios) MainIsUnmodified(t *testing.T, f *fixture) {
	head, index := f.Git("rev-parse", "HEAD"), f.ReadFile(filepath.Join(f.Dir, ".git", "index"))
	w := f.create(sibling("agent-1"))
	f.commitIn(w.Path, "README.md", "agent\n")
	f.removed("agent-1")
	if f.Git("rev-parse", "HEAD") != head || f.ReadFile(filepath.Join(f.Dir, ".git", "index")) != index || f.Git("status", "--porcelain") != "" {
		t.Error("work in a workspace modified the main checkout")
	}
}

func (siblingScenarios) StateFileIsTolerated(t *testing.T, f *fixture) {
	for _, ignored := range []bool{false, true} {
		if ignored {
			f.commitIn(f.Dir, ".gitignore", "/STATE.json\n")
		}
		w := f.create(sibling("agent-1"))
		f.writeIn(w, "STATE.json", `{"step":3}`)
		if st := f.status(w.ID); st.Dirty() {
			t.Errorf("ignored %v: STATE.json counts as work: %+v", ignored, st)
		}
		f.removed("agent-1")
		if f.Exists(w.Path) {
			t.Error("STATE.json did not go with its workspace")
		}
	}
	f.Git("rm", "--quiet", ".gitignore")
	f.Commit("ignore nothing")
	// git add --all in a workspace does not stage STATE.json either. In the project's own
	// checkout STATE.json is an ordinary file.
	w := f.create(sibling("agent-3"))
	for _, dir := range []string{w.Path, f.Dir} {
		f.WriteFile(filepath.Join(dir, "STATE.json"), `{"step":3}`)
	}
	f.writeIn(w, "work.txt", "work\n")
	f.GitIn(w.Path, "add", "--all")
	if got := f.GitIn(w.Path, "diff", "--cached", "--name-only"); got != "work.txt" {
		t.Errorf("git add --all staged %q", got)
	}
	f.WantStatus(f.Dir, "?? STATE.json")
	// A file of that name in a subdirectory is an ordinary file.
	w = f.create(sibling("agent-2"))
	f.WriteFile(filepath.Join(w.Path, "src", "STATE.json"), "{}")
	if st := f.status(w.ID); st.Untracked != 1 {
		t.Errorf("src/STATE.json: %+v", st)
	}
}

// StateFileIsNoCoordination writes false records to the state file, which Croft must not
// use.
func (siblingScenarios) StateFileIsNoCoordination(t *testing.T, f *fixture) {
	f.WriteFile(filepath.Join(f.Dir, "STATE.json"), `{"workers":99,"worktrees":["x"]}`)
	w := f.create(sibling("agent-1"))
	f.writeIn(w, "STATE.json", `{"id":"other","branch":"other","state":"removed"}`)
	if got := f.show("agent-1"); got.ID != w.ID || got.Branch != w.Branch || got.State != croft.Ready {
		t.Errorf("workspace %+v", got)
	}
	if n, err := f.CountActive(t.Context(), croft.CountRequest{}); err != nil || n.Active != 1 {
		t.Errorf("CountActive = %d, %v", n.Active, err)
	}
	for _, place := range []string{w.Path, f.Dir} {
		if text := f.ReadFile(filepath.Join(place, "STATE.json")); !strings.HasPrefix(text, `{"id":"other"`) && text != `{"workers":99,"worktrees":["x"]}` {
			t.Errorf("somebody wrote %s", text)
		}
	}
	fresh := f.create(sibling("agent-9"))
	must(t, errOf(f.Finish(t.Context(), croft.FinishRequest{Workspace: "agent-9"})))
	if f.Exists(filepath.Join(fresh.Path, "STATE.json")) {
		t.Error("somebody made a STATE.json")
	}
}

// ResumeAfterRestart: a worker is started again. The same call, from another Service,
// returns the workspace as the worker left it.
func (siblingScenarios) ResumeAfterRestart(t *testing.T, f *fixture) {
	req := sibling("agent-1")
	req.Key = "director/agent-1"
	w := f.create(req)
	f.writeIn(w, "STATE.json", `{"step":3}`)
	f.writeIn(w, "half.txt", "half")
	tip := f.commitIn(w.Path, "done.txt", "done\n")
	must(t, f.Close())
	again, err := f.at(f.Dir).Create(t.Context(), req)
	must(t, err)
	if again.ID != w.ID || again.Path != w.Path || again.State != croft.Ready || again.Head != tip {
		t.Errorf("after the restart %+v, want %+v at %s", again, w, tip)
	}
	f.WantFile(filepath.Join(again.Path, "STATE.json"), `{"step":3}`)
}
