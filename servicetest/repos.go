package servicetest

import (
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/servicetest/harness"
)

type repoScenarios struct{}

// EnvironmentIsIgnored: variables with which a hook or an agent redirects git do not
// redirect Croft.
func (repoScenarios) EnvironmentIsIgnored(t *testing.T, f *fixture) {
	other := f.makeRepo("other")
	svc := f.at(f.Dir, "GIT_DIR="+filepath.Join(other.Dir, ".git"), "GIT_WORK_TREE="+other.Dir, "GIT_INDEX_FILE="+filepath.Join(other.Dir, "x"))
	r, err := svc.Repo(t.Context(), croft.RepoRequest{})
	if err != nil || r.Path != f.Dir {
		t.Fatalf("%+v, %v", r, err)
	}
	w, err := svc.Create(t.Context(), croft.CreateRequest{Name: "a"})
	if err != nil || w.Repo != f.Dir || f.GitIn(w.Path, "rev-parse", "--git-common-dir") != filepath.Join(f.Dir, ".git") {
		t.Errorf("%+v, %v", w, err)
	}
}

func (repoScenarios) Inside(t *testing.T, f *fixture) {
	r, err := f.Repo(t.Context(), croft.RepoRequest{})
	must(t, err)
	want := croft.Repo{
		ID: r.ID, Path: f.Dir, Name: "app", GitDir: filepath.Join(f.Dir, ".git"), Branch: "main",
		Head: f.Git("rev-parse", "HEAD"), Version: r.Version,
	}
	if *r != want || r.ID == "" || r.Version == "" {
		t.Errorf("Repo = %+v, want %+v", *r, want)
	}
	again, err := f.at(f.Dir).Repo(t.Context(), croft.RepoRequest{})
	if err != nil || again.ID != r.ID {
		t.Errorf("another Service sees ID %v, %v, want %s", again, err, r.ID)
	}
}

func (repoScenarios) FromSubdirectory(t *testing.T, f *fixture) {
	r, err := f.at(filepath.Join(f.Dir, "src")).Repo(t.Context(), croft.RepoRequest{})
	if err != nil || r.Path != f.Dir || r.Branch != "main" {
		t.Errorf("Repo = %+v, %v, want %s on main", r, err, f.Dir)
	}
	r, err = f.Repo(t.Context(), croft.RepoRequest{Repo: "src"}) // relative to the directory in which the Service was opened
	if err != nil || r.Path != f.Dir {
		t.Errorf("Repo(src) = %+v, %v, want %s", r, err, f.Dir)
	}
}

func (repoScenarios) FromWorkspace(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	r, err := f.Repo(t.Context(), croft.RepoRequest{Repo: w.Path})
	if err != nil || r.Path != f.Dir || r.Branch != w.Branch {
		t.Errorf("Repo = %+v, %v, want %s on %s", r, err, f.Dir, w.Branch)
	}
}

func (repoScenarios) Outside(t *testing.T, f *fixture) {
	outside := f.at(f.Home)
	if r, err := outside.Repo(t.Context(), croft.RepoRequest{}); err == nil {
		t.Errorf("Repo outside = %+v, want an error", r)
	} else {
		wantCode(t, err, croft.NotARepo)
	}
	wantCode(t, errOf(outside.CheckRepo(t.Context(), croft.RepoRequest{})), croft.NotARepo)
	wantCode(t, errOf(outside.Branch(t.Context(), croft.BranchRequest{Branch: "main"})), croft.NotARepo)
	wantCode(t, errOf(outside.Create(t.Context(), croft.CreateRequest{Name: "a"})), croft.NotARepo)
	wantCode(t, errOf(outside.Worktrees(t.Context(), croft.WorktreesRequest{})), croft.NotARepo)
}

func (repoScenarios) MissingDirectory(t *testing.T, f *fixture) {
	gone := filepath.Join(f.Home, "gone")
	wantCode(t, errOf(f.CheckRepo(t.Context(), croft.RepoRequest{Repo: gone})), croft.NotARepo)
	wantCode(t, errOf(f.Create(t.Context(), croft.CreateRequest{Repo: gone})), croft.NotARepo)
	if f.Exists(gone) {
		t.Error("the missing directory was made")
	}
}

func (repoScenarios) NoCommits(t *testing.T, f *fixture) {
	empty := harness.NewEmptyProject(t, f.Host, f.elsewhere())
	svc := f.at(empty.Dir)
	r, err := svc.Repo(t.Context(), croft.RepoRequest{})
	if err != nil || r.Head != "" || r.Branch != "main" {
		t.Errorf("Repo = %+v, %v, want main without a commit", r, err)
	}
	wantCode(t, errOf(svc.CheckRepo(t.Context(), croft.RepoRequest{})), croft.NotARepo)
	for _, layout := range []string{"default", "agents", "swarm", "sibling"} {
		_, err := svc.Create(t.Context(), croft.CreateRequest{Name: "a", Session: "1", Layout: layout, RoleFiles: croft.RoleFilesSkip})
		if layout == "agents" {
			// There is no main yet: both codes for that are right.
			if err == nil {
				t.Errorf("%s: a workspace without a commit was made", layout)
			}
			continue
		}
		if e := wantCode(t, err, croft.NotARepo); e.Hint == "" {
			t.Errorf("%s: no hint what to do about an empty repository", layout)
		}
	}
	if list := f.Tree(filepath.Dir(empty.Dir), empty.Dir); len(list) != 1 {
		t.Errorf("something was made beside an empty repository: %v", list)
	}
}

func (repoScenarios) DetachedHead(t *testing.T, f *fixture) {
	f.Git("checkout", "--quiet", "--detach")
	r, err := f.Repo(t.Context(), croft.RepoRequest{})
	if err != nil || r.Branch != "" || r.Head != f.Git("rev-parse", "HEAD") {
		t.Errorf("Repo = %+v, %v, want no branch and the commit", r, err)
	}
}

func (repoScenarios) BranchExists(t *testing.T, f *fixture) {
	f.Git("branch", "feat/x")
	f.Git("tag", "v1")
	f.Git("pack-refs", "--all")
	for branch, want := range map[string]bool{"main": true, "feat/x": true, "feat": false, "v1": false, "none": false} {
		got, err := f.Branch(t.Context(), croft.BranchRequest{Branch: branch})
		if err != nil || got.Exists != want {
			t.Errorf("BranchExists(%s) = %v, %v, want %v", branch, got.Exists, err, want)
		}
	}
}

func (repoScenarios) Check(t *testing.T, f *fixture) {
	if _, err := f.CheckRepo(t.Context(), croft.RepoRequest{}); err != nil {
		t.Errorf("Check of a repository with a commit: %v", err)
	}
	f.Delete(filepath.Join(f.Dir, ".git"))
	wantCode(t, errOf(f.at(f.Dir).CheckRepo(t.Context(), croft.RepoRequest{})), croft.NotARepo)
}
