package servicetest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

type placeScenarios struct{}

// lifecycle creates a workspace through svc, works in it, and removes it.
func lifecycle(t *testing.T, f *fixture, svc croft.Service, req croft.CreateRequest) croft.Workspace {
	t.Helper()
	w, err := svc.Create(t.Context(), req)
	must(t, err)
	if got := f.GitIn(w.Path, "status", "--porcelain"); got != "" || w.State != croft.Ready {
		t.Fatalf("the workspace is %s, its status %q", w.State, got)
	}
	tip := f.commitIn(w.Path, "work.txt", "work\n")
	now, err := svc.Workspace(t.Context(), croft.WorkspaceRequest{Ref: w.Path})
	if err != nil || now.ID != w.ID || now.Head != tip {
		t.Fatalf("Workspace(%s) = %+v, %v, want head %s", w.Path, now, err, tip)
	}
	res, err := svc.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{w.Name}})
	if err != nil || len(res.Removed) != 1 {
		t.Fatalf("Remove = %+v, %v", res, err)
	}
	if f.Exists(w.Path) {
		t.Errorf("%s is still there", w.Path)
	}
	return *w
}

func (placeScenarios) SpacesAndUnicode(t *testing.T, f *fixture) {
	dir := filepath.Join(filepath.Dir(f.Dir), "my prøject – 日本")
	f.GitIn(filepath.Dir(f.Dir), "clone", "--quiet", f.Dir, dir)
	f.Dir = dir
	f.Roles("a")
	f.Commit("roles")
	for _, layout := range []string{"default", "agents", "swarm", "sibling"} {
		w := lifecycle(t, f, f.at(dir), croft.CreateRequest{Name: "a", Role: "a", Session: "1", Layout: layout})
		if !strings.Contains(w.Path, "my prøject – 日本") {
			t.Errorf("%s: path %s", layout, w.Path)
		}
	}
}

func (placeScenarios) Bare(t *testing.T, f *fixture) {
	bare := filepath.Join(filepath.Dir(f.Dir), "lib.git")
	f.Git("clone", "--quiet", "--bare", f.Dir, bare)
	svc := f.at(bare)
	r, err := svc.Repo(t.Context(), croft.RepoRequest{})
	if err != nil || !r.IsBare || r.Path != bare || r.Name != "lib" || r.Branch != "main" {
		t.Errorf("Repo = %+v, %v, want the bare lib on main", r, err)
	}
	for _, layout := range []string{"default", "agents"} {
		w := lifecycle(t, f, svc, croft.CreateRequest{Name: "a", Layout: layout})
		if w.Target != "main" {
			t.Errorf("%s: target %q", layout, w.Target)
		}
	}
	// The branch that HEAD names is not checked out in a bare repository.
	w, err := svc.Create(t.Context(), croft.CreateRequest{Name: "b", Branch: "main"})
	if err != nil || w.Branch != "main" {
		t.Errorf("Create on main = %+v, %v", w, err)
	}
}

func (placeScenarios) Submodule(t *testing.T, f *fixture) {
	lib := filepath.Join(f.Home, "lib")
	f.Git("clone", "--quiet", f.Dir, lib)
	f.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib, "vendor/lib")
	f.Commit("submodule")
	sub := filepath.Join(f.Dir, "vendor", "lib")
	f.GitIn(sub, "checkout", "--quiet", "-B", "main")
	svc := f.at(sub)
	r, err := svc.Repo(t.Context(), croft.RepoRequest{})
	if err != nil || r.Path != sub || r.Name != "lib" {
		t.Errorf("Repo = %+v, %v, want the submodule %s", r, err, sub)
	}
	w := lifecycle(t, f, svc, croft.CreateRequest{Name: "a"})
	if w.Repo != sub {
		t.Errorf("workspace of %s, want %s", w.Repo, sub)
	}
	// A workspace of the superproject can be used, without the submodule.
	lifecycle(t, f, f.Service, croft.CreateRequest{Name: "a"})
}

func (placeScenarios) UsersOwnWorktree(t *testing.T, f *fixture) {
	own := filepath.Join(filepath.Dir(f.Dir), "own")
	f.Git("worktree", "add", "--quiet", "-b", "mine", own)
	tip := f.commitIn(own, "mine.txt", "x\n")
	w, err := f.at(own).Create(t.Context(), croft.CreateRequest{Name: "a"})
	must(t, err)
	wantStart(t, *w, tip, "mine", "mine")
	if w.Repo != f.Dir || w.Path != filepath.Join(filepath.Dir(f.Dir), "app.croft", "a") {
		t.Errorf("repo %s, path %s", w.Repo, w.Path)
	}
	f.removed("a")
	f.WantClean(own)
}

func (placeScenarios) SeparateGitDir(t *testing.T, f *fixture) {
	dir := filepath.Join(filepath.Dir(f.Dir), "sep")
	f.Git("clone", "--quiet", "--separate-git-dir="+filepath.Join(f.Home, "sep-git"), f.Dir, dir)
	w := lifecycle(t, f, f.at(dir), croft.CreateRequest{Name: "a"})
	if w.Repo != dir {
		t.Errorf("workspace of %s, want %s", w.Repo, dir)
	}
}

func (placeScenarios) PackedRefs(t *testing.T, f *fixture) {
	f.Git("pack-refs", "--all", "--prune")
	w := f.create(croft.CreateRequest{Name: "a"})
	f.Git("pack-refs", "--all", "--prune")
	if got := f.show("a"); got.Head != w.Base || got.State != croft.Ready {
		t.Errorf("after pack-refs: %+v", got)
	}
	f.removed("a")
}

func (placeScenarios) SHA256(t *testing.T, f *fixture) {
	dir := filepath.Join(filepath.Dir(f.Dir), "wide")
	f.Git("init", "--quiet", "--initial-branch=main", "--object-format=sha256", dir)
	f.commitIn(dir, "a.txt", "x\n")
	w := lifecycle(t, f, f.at(dir), croft.CreateRequest{Name: "a"})
	if len(w.Base) != 64 {
		t.Errorf("base %s, want 64 digits", w.Base)
	}
}

func (placeScenarios) FreeTemplate(t *testing.T, f *fixture) {
	f.commitIn(f.Dir, "croft.toml", "path = \"../trees/{repo}/{session}/{slug}\"\nbranch = \"bot/{session}/{name}\"\n")
	svc := f.at(f.Dir)
	w := lifecycle(t, f, svc, croft.CreateRequest{Name: "fix/it", Session: "s1"})
	if w.Path != filepath.Join(filepath.Dir(f.Dir), "trees", "app", "s1", "fix-it") || w.Branch != "bot/s1/fix/it" {
		t.Errorf("path %s, branch %s", w.Path, w.Branch)
	}
	wantCode(t, errOf(svc.Create(t.Context(), croft.CreateRequest{Name: "x"})), croft.SessionRequired)
}

func (placeScenarios) NestedIsExcludedOnce(t *testing.T, f *fixture) {
	exclude := filepath.Join(f.Dir, ".git", "info", "exclude")
	own := "# mine\n*.local" // no newline at the end
	f.WriteFile(exclude, own)
	f.create(croft.CreateRequest{Name: "a", Layout: "agents"})
	f.create(croft.CreateRequest{Name: "b", Layout: "agents"})
	f.WantFile(exclude, own+"\n/.worktrees/\n")
	f.WantClean(f.Dir)
}

func (placeScenarios) MissingBaseIsMade(t *testing.T, f *fixture) {
	base := filepath.Join(f.Dir, ".worktrees")
	if f.Exists(base) {
		t.Fatal("the base directory is there before")
	}
	w := f.create(croft.CreateRequest{Name: "a", Layout: "agents"})
	if filepath.Dir(w.Path) != base || !f.Exists(w.Path) {
		t.Errorf("path %s, want one below %s", w.Path, base)
	}
}
