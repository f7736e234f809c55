package servicetest

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/croft-sh/croft"
)

type createScenarios struct{}

func (createScenarios) Default(t *testing.T, f *fixture) {
	before := time.Now().Add(-time.Second)
	w := f.create(croft.CreateRequest{Name: "fix-login"})
	head := f.Git("rev-parse", "main")
	for _, c := range []struct{ what, got, want string }{
		{"name", w.Name, "fix-login"},
		{"path", w.Path, filepath.Join(filepath.Dir(f.Dir), "app.croft", "fix-login")},
		{"branch", w.Branch, "croft/fix-login"},
		{"base", w.Base, head},
		{"head", w.Head, head},
		{"baseRef", w.BaseRef, "main"},
		{"target", w.Target, "main"},
		{"repo", w.Repo, f.Dir},
		{"state", string(w.State), string(croft.Ready)},
		{"mode", string(w.Mode), string(croft.ModeWorktree)},
		{"layout", w.Layout, "default"},
		{"CROFT_REPO", w.Env["CROFT_REPO"], f.Dir},
		{"CROFT_WORKSPACE", w.Env["CROFT_WORKSPACE"], string(w.ID)},
	} {
		if c.got != c.want {
			t.Errorf("%s = %q, want %q", c.what, c.got, c.want)
		}
	}
	if len(w.ID) != 16 || w.Host == "" || w.IsLocked || w.Lease != nil || w.MergeStatus != "" {
		t.Errorf("unexpected workspace %+v", w)
	}
	if w.CreatedAt.Before(before) || w.CreatedAt.After(time.Now().Add(time.Second)) {
		t.Errorf("createdAt = %v, want now", w.CreatedAt)
	}
	f.WantClean(w.Path)
	if got := f.GitIn(w.Path, "symbolic-ref", "HEAD"); got != "refs/heads/croft/fix-login" {
		t.Errorf("git sees HEAD at %s", got)
	}
	if again := f.show("fix-login"); again.ID != w.ID || again.Path != w.Path || !again.CreatedAt.Equal(w.CreatedAt) {
		t.Errorf("Workspace = %+v, want %+v", again, w)
	}
}

func (createScenarios) InventedName(t *testing.T, f *fixture) {
	list := f.createAll(croft.CreateRequest{}, croft.CreateRequest{}, croft.CreateRequest{})
	seen := map[string]bool{}
	for _, w := range list {
		if w.Name == "" || seen[w.Name] || w.Branch != "croft/"+w.Name {
			t.Errorf("invented %q on %s", w.Name, w.Branch)
		}
		seen[w.Name] = true
	}
}

func (createScenarios) NamesOfPeople(t *testing.T, f *fixture) {
	for name, slug := range map[string]string{"PROJ-123": "PROJ-123", "feat/login": "feat-login", "über_1.2": "über_1.2"} {
		w := f.create(croft.CreateRequest{Name: name})
		if w.Branch != "croft/"+name || filepath.Base(w.Path) != slug || w.Slug != slug {
			t.Errorf("%s: branch %s, path %s, slug %s", name, w.Branch, w.Path, w.Slug)
		}
		if got := f.show(name); got.ID != w.ID {
			t.Errorf("%s is not found by its name", name)
		}
	}
}

func (createScenarios) InvalidNames(t *testing.T, f *fixture) {
	before := f.Trace()
	long := strings.Repeat("x", 300)
	for _, bad := range []string{
		"-x", "--force", "../x", "a/../b", "/etc", "HEAD", "@", "a..b", "a b", "a\nb", "a\x00b", "\xff", ".hidden", "x.lock",
		"refs/heads/x", "a~1", "a:b", "a//b", "a/", long,
	} {
		for what, req := range map[string]croft.CreateRequest{
			"name":    {Name: bad},
			"branch":  {Name: "ok", Branch: bad},
			"role":    {Name: "ok", Role: bad},
			"session": {Name: "ok", Session: bad},
			"agent":   {Name: "ok", Agent: bad},
			"label":   {Name: "ok", Label: bad},
			"target":  {Name: "ok", Target: bad},
		} {
			_, err := f.Create(t.Context(), req)
			want := croft.InvalidName
			if what == "role" && utf8.ValidString(bad) {
				want = croft.RoleNotFound
			}
			if !errors.Is(err, want) {
				t.Errorf("%s %.20q: %v, want %s", what, bad, err, want)
			}
		}
	}
	f.unchanged(before)
}

func (createScenarios) SlugIsUnique(t *testing.T, f *fixture) {
	list := f.createAll(croft.CreateRequest{Name: "feat/login"}, croft.CreateRequest{Name: "feat-login"}, croft.CreateRequest{Name: "FEAT-LOGIN"})
	seen := map[string]bool{}
	for _, w := range list {
		folded := strings.ToLower(w.Path)
		if seen[folded] {
			t.Errorf("%s lies at %s like another one, but for case", w.Name, w.Path)
		}
		seen[folded] = true
	}
}

func (createScenarios) NameTaken(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	_, err := f.Create(t.Context(), croft.CreateRequest{Name: "a"})
	if e := wantCode(t, err, croft.WorktreeExists); e.Workspace != "a" || e.Op != "create" || e.Hint == "" {
		t.Errorf("error %+v lacks the workspace, the operation or a hint", e)
	}
	if got := f.show("a"); got.ID != w.ID || got.State != croft.Ready {
		t.Errorf("the first workspace is now %+v", got)
	}
	f.removed("a")
	if again := f.create(croft.CreateRequest{Name: "a"}); again.ID == w.ID {
		t.Error("a new workspace has the ID of an old one")
	}
}

func (createScenarios) PathTaken(t *testing.T, f *fixture) {
	file := filepath.Join(filepath.Dir(f.Dir), "app.croft", "a", "mine.txt")
	f.WriteFile(file, "precious")
	before := f.Trace()
	wantCode(t, errOf(f.Create(t.Context(), croft.CreateRequest{Name: "a"})), croft.WorktreeExists)
	f.unchanged(before)
	f.WantFile(file, "precious")
}

func (createScenarios) BranchTaken(t *testing.T, f *fixture) {
	f.Git("branch", "croft/a")
	before := f.Trace()
	if e := wantCode(t, errOf(f.Create(t.Context(), croft.CreateRequest{Name: "a"})), croft.BranchExists); e.Hint == "" {
		t.Error("no hint")
	}
	f.unchanged(before)
}

func (createScenarios) BranchBlocked(t *testing.T, f *fixture) {
	f.Git("branch", "croft")
	before := f.Trace()
	if e := wantCode(t, errOf(f.Create(t.Context(), croft.CreateRequest{Name: "a"})), croft.BranchBlocked); !strings.Contains(e.Hint, "git branch -m croft ") {
		t.Errorf("hint = %q, want the rename that helps", e.Hint)
	}
	f.unchanged(before)
	f.Git("branch", "-m", "croft", "other/a/b")
	wantCode(t, errOf(f.Create(t.Context(), croft.CreateRequest{Name: "a", Branch: "other/a"})), croft.BranchBlocked)
}

func (createScenarios) BranchInUse(t *testing.T, f *fixture) {
	before := f.Trace()
	wantCode(t, errOf(f.Create(t.Context(), croft.CreateRequest{Name: "a", Branch: "main"})), croft.BranchInUse)
	f.unchanged(before)
	w := f.create(croft.CreateRequest{Name: "a", Branch: "topic"})
	wantCode(t, errOf(f.Create(t.Context(), croft.CreateRequest{Name: "b", Branch: w.Branch})), croft.BranchInUse)
}

func (createScenarios) TakesExistingBranch(t *testing.T, f *fixture) {
	f.Git("checkout", "--quiet", "-b", "topic")
	tip := f.commitIn(f.Dir, "topic.txt", "topic\n")
	f.Git("checkout", "--quiet", "main")
	w := f.create(croft.CreateRequest{Name: "a", Branch: "topic"})
	if w.Branch != "topic" || w.Head != tip || w.Base != tip || !f.Exists(filepath.Join(w.Path, "topic.txt")) {
		t.Errorf("workspace %+v does not have the branch as it is", w)
	}
	if got := f.removed("a"); got.Branch != "" {
		t.Errorf("branch %q was deleted, which Croft had not made", got.Branch)
	}
	f.WantAt("topic", tip)
}

func (createScenarios) UncommittedChangesStay(t *testing.T, f *fixture) {
	f.Write("README.md", "changed\n")
	f.Write("new.txt", "untracked\n")
	f.Git("add", "README.md")
	f.Write("src/main.txt", "not staged\n")
	before := f.Git("status", "--porcelain")
	w := f.create(croft.CreateRequest{Name: "a"})
	f.WantStatus(f.Dir, before)
	if got := f.ReadFile(filepath.Join(w.Path, "README.md")); got != "# app\n" || f.Exists(filepath.Join(w.Path, "new.txt")) {
		t.Errorf("uncommitted changes of main are in the workspace: %q", got)
	}
}

func (createScenarios) NoTracking(t *testing.T, f *fixture) {
	f.Git("update-ref", "refs/remotes/origin/main", "main")
	f.Git("config", "branch.autoSetupMerge", "always")
	w := f.create(croft.CreateRequest{Name: "a", Base: "origin/main"})
	if got, err := f.TryGit(f.Dir, "config", "--get-regexp", `^branch\.croft/`); err == nil {
		t.Errorf("%s tracks something: %s", w.Branch, got)
	}
}

func (createScenarios) FilesAreVerified(t *testing.T, f *fixture) {
	f.Write("with space/ünïcode", "x\n")
	f.Write("run.sh", "#!/bin/sh\n")
	f.Git("add", "--all")
	f.Git("update-index", "--chmod=+x", "run.sh")
	f.Git("commit", "--quiet", "-m", "files")
	f.Git("reset", "--hard", "--quiet")
	w := f.create(croft.CreateRequest{Name: "a"})
	if got, want := f.GitIn(w.Path, "ls-files", "--stage"), f.Git("ls-files", "--stage"); got != want {
		t.Errorf("index:\n%s\nwant\n%s", got, want)
	}
	f.WantFile(filepath.Join(w.Path, "with space", "ünïcode"), "x\n")
	if len(w.Notes) != 0 {
		t.Errorf("notes %v, want none", w.Notes)
	}
}

func (createScenarios) Refused(t *testing.T, f *fixture) {
	before := f.Trace()
	for _, c := range []struct {
		what string
		req  croft.CreateRequest
		want croft.Code
	}{
		{"an unknown layout", croft.CreateRequest{Name: "a", Layout: "spiral"}, croft.InvalidRequest},
		{"an unknown mode", croft.CreateRequest{Name: "a", Mode: "odd"}, croft.InvalidRequest},
		{"a base that is not there", croft.CreateRequest{Name: "a", Base: "nowhere"}, croft.BaseNotFound},
		{"a base like an option", croft.CreateRequest{Name: "a", Base: "--all"}, croft.BaseNotFound},
		{"a tree as base", croft.CreateRequest{Name: "a", Base: "HEAD^{tree}"}, croft.BaseNotFound},
		{"a session that is missing", croft.CreateRequest{Role: "a", Layout: "swarm", RoleFiles: croft.RoleFilesSkip}, croft.SessionRequired},
		{"a role that is missing", croft.CreateRequest{Session: "1", Layout: "swarm"}, croft.InvalidRequest},
		{"a role without files", croft.CreateRequest{Name: "a", Role: "nobody"}, croft.RoleNotFound},
	} {
		_, err := f.Create(t.Context(), c.req)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %s", c.what, err, c.want)
		}
	}
	wantCode(t, errOf(f.CreateAll(t.Context(), croft.CreateAllRequest{})), croft.InvalidRequest)
	f.unchanged(before)
}

func (createScenarios) LegacyInARepo(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a", Mode: croft.ModeLegacy})
	if w.Path != f.Dir || w.Branch != "" || w.Mode != croft.ModeLegacy || w.State != croft.Ready {
		t.Errorf("workspace %+v, want the project itself", w)
	}
	f.removed("a")
	f.WantFile(filepath.Join(f.Dir, "README.md"), "# app\n")
}

func (createScenarios) SameNameRace(t *testing.T, f *fixture) {
	const n = 6
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		svc := f.at(f.Dir)
		wg.Go(func() { _, errs[i] = svc.Create(t.Context(), croft.CreateRequest{Name: "same"}) })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		switch {
		case err == nil:
			won++
		case !errors.Is(err, croft.WorktreeExists):
			t.Errorf("a loser of the race got %v, want WORKTREE_EXISTS", err)
		}
	}
	if won != 1 || !slices.Equal(f.names(), []string{"same"}) {
		t.Errorf("%d won, the workspaces are %v", won, f.names())
	}
}

func (createScenarios) ManyAtOnce(t *testing.T, f *fixture) {
	const n = 8
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { _, errs[i] = f.Create(t.Context(), croft.CreateRequest{Role: ""}) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	if got := len(f.names()); got != n {
		t.Errorf("%d workspaces, want %d", got, n)
	}
	if got := strings.Count(f.Git("branch", "--list", "croft/*"), "\n") + 1; got != n {
		t.Errorf("%d branches, want %d", got, n)
	}
}

func (createScenarios) Canceled(t *testing.T, f *fixture) {
	before := f.Trace()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantCode(t, errOf(f.Create(ctx, croft.CreateRequest{Name: "a"})), croft.Canceled)
	f.unchanged(before)
}

// CanceledAnywhere cancels creations after ever longer times, until one ends before that:
// none of the canceled ones may leave anything.
func (createScenarios) CanceledAnywhere(t *testing.T, f *fixture) {
	before := f.Trace()
	parts := []croft.CreateRequest{{Name: "a"}, {Name: "b"}}
	for wait := time.Millisecond; ; wait += wait / 2 {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		_, err := f.CreateAll(ctx, croft.CreateAllRequest{Workspaces: parts})
		cancel()
		if err == nil {
			break
		}
		wantCode(t, err, croft.Canceled)
		f.unchanged(before)
		if wait > time.Minute {
			t.Fatal("a creation takes longer than a minute")
		}
	}
	f.wantNames("a", "b")
}

func (createScenarios) GitMissing(t *testing.T, f *fixture) {
	svc := f.at(f.Dir, "CROFT_GIT_PATH="+filepath.Join(f.Home, "no-git"))
	if e := wantCode(t, errOf(svc.Create(t.Context(), croft.CreateRequest{Name: "a"})), croft.GitNotFound); e.Hint == "" {
		t.Error("no hint")
	}
	f.wantNames()
}
