package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// A directory that is not found may be on a drive that is not mounted, or may have been
// moved. These tests move directories away and back.

// kinds are the kinds of workspaces whose directory is moved away.
var kinds = []string{"worktree", "isolated", "plain"}

// absentee is a workspace with work of all kinds: a commit, a staged file, a changed one, a
// new one and an ignored one.
type absentee struct {
	*gittest.Repo
	e    *engine.Engine
	w    croft.Workspace
	blob string // the staged object
	was  map[string]string
}

// newAbsentee makes an absentee of a kind.
func newAbsentee(t *testing.T, kind string) *absentee {
	t.Helper()
	r := gittest.New(t)
	r.Write(".gitignore", "*.log\n")
	r.Commit("ignore")
	req := croft.CreateRequest{Name: "w", Mode: croft.ModeWorktree}
	if kind != "worktree" {
		req.Mode = croft.ModeIsolated
	}
	if kind == "plain" {
		if err := os.RemoveAll(filepath.Join(r.Dir, ".git")); err != nil {
			t.Fatal(err)
		}
	}
	a := &absentee{Repo: r, e: engineIn(t, r, 0)}
	a.w = create(t, a.e, req)
	gittest.WriteFile(t, filepath.Join(a.w.Path, "done.txt"), "done\n")
	a.GitIn(a.w.Path, "add", "done.txt")
	a.GitIn(a.w.Path, "commit", "--quiet", "--message", "done")
	gittest.WriteFile(t, filepath.Join(a.w.Path, "staged.txt"), "staged\n")
	a.GitIn(a.w.Path, "add", "staged.txt")
	a.blob = a.GitIn(a.w.Path, "rev-parse", ":staged.txt")
	gittest.WriteFile(t, filepath.Join(a.w.Path, "README.md"), "changed\n")
	gittest.WriteFile(t, filepath.Join(a.w.Path, "new.txt"), "new\n")
	gittest.WriteFile(t, filepath.Join(a.w.Path, "x.log"), "ignored\n")
	if _, err := a.e.Status(t.Context(), croft.StatusRequest{Workspace: a.w.ID}); err != nil { // Status pulls
		t.Fatal(err)
	}
	a.was = contents(t, a.w.Path)
	return a
}

// contents lists the files below a directory, except for git's own.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == ".git" {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if d.Type().IsRegular() {
			rel, _ := filepath.Rel(dir, path)
			out[filepath.ToSlash(rel)] = read(t, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// wantContents fails unless a directory has exactly these files.
func wantContents(t testing.TB, dir string, want map[string]string) {
	t.Helper()
	got := contents(t, dir)
	for name, text := range want {
		if now, ok := got[name]; !ok {
			t.Errorf("%s: %s is gone", dir, name)
		} else if now != text {
			t.Errorf("%s: %s holds %q, want %q", dir, name, now, text)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: %s is new", dir, name)
		}
	}
}

// remove removes a workspace with force.
func (a *absentee) remove(t *testing.T) {
	t.Helper()
	res, err := a.e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"w"}, Mode: croft.RemoveForce})
	if err != nil || len(res.Removed) != 1 {
		t.Fatalf("Remove = %+v, %v", res, err)
	}
}

// wantWork fails unless the workspace is where it was, with everything in it.
func (a *absentee) wantWork(t *testing.T) {
	t.Helper()
	got := show(t, a.e, "w")
	if got.ID != a.w.ID || got.State != croft.Ready {
		t.Fatalf("%+v", got)
	}
	wantContents(t, got.Path, a.was)
	status := a.GitIn(got.Path, "status", "--porcelain")
	for _, line := range []string{"A  staged.txt", "M README.md", "?? new.txt"} {
		if !strings.Contains(status, line) {
			t.Errorf("git status:\n%s\nwithout %q", status, line)
		}
	}
}

// gitDir returns the git directory that has the workspace's commits.
func (a *absentee) gitDir(t *testing.T) string {
	t.Helper()
	repo, err := a.e.Repo(t.Context(), croft.RepoRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return repo.GitDir
}

func rename(t testing.TB, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// TestRestoreAdopts: a workspace was removed while its directory was elsewhere. Once the
// directory is back, a restoration uses it, with all its files.
func TestRestoreAdopts(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		for _, act := range []string{"restore", "undo"} {
			t.Run(kind+"/"+act, func(t *testing.T) {
				t.Parallel()
				a := newAbsentee(t, kind)
				aside := filepath.Join(a.Home, "aside") // where Croft does not search
				rename(t, a.w.Path, aside)
				a.remove(t)
				rename(t, aside, a.w.Path)
				if err := a.bringBack(t, act); err != nil {
					t.Fatal(err)
				}
				a.wantWork(t)
			})
		}
	}
}

// bringBack restores the workspace, or undoes its removal.
func (a *absentee) bringBack(t *testing.T, act string) error {
	t.Helper()
	if act == "undo" {
		_, err := a.e.Undo(t.Context(), croft.UndoRequest{})
		return err
	}
	_, err := a.e.Restore(t.Context(), croft.RestoreRequest{Ref: "w"})
	return err
}

// TestRestoreThatFailsLeaves: if a workspace cannot be restored, its directory, which came
// back, stays where it is with all its files.
func TestRestoreThatFailsLeaves(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			a := newAbsentee(t, kind)
			aside := filepath.Join(a.Home, "aside")
			rename(t, a.w.Path, aside)
			a.remove(t)
			rename(t, aside, a.w.Path)
			lock := filepath.Join(a.gitDir(t), "refs", "croft", "archive", string(a.w.ID), "head.lock")
			gittest.WriteFile(t, lock, "") // as an agent can make it
			if err := a.bringBack(t, "restore"); err == nil {
				t.Fatal("it was restored in spite of a lock")
			}
			wantContents(t, a.w.Path, a.was)
			if err := os.Remove(lock); err != nil {
				t.Fatal(err)
			}
			if err := a.bringBack(t, "restore"); err != nil {
				t.Fatal(err)
			}
			a.wantWork(t)
		})
	}
}

// TestRestoreRefusesAnother: a restoration neither deletes nor writes to another directory
// at the workspace's path.
func TestRestoreRefusesAnother(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		for _, act := range []string{"restore", "undo"} {
			t.Run(kind+"/"+act, func(t *testing.T) {
				t.Parallel()
				a := newAbsentee(t, kind)
				a.remove(t)
				gittest.WriteFile(t, filepath.Join(a.w.Path, "mine.txt"), "mine\n")
				if kind == "worktree" { // and it claims to be the workspace
					gittest.WriteFile(t, filepath.Join(a.w.Path, ".git"), "gitdir: "+filepath.Join(a.Dir, ".git", "worktrees", "croft-"+string(a.w.ID))+"\n")
				}
				wantCode(t, a.bringBack(t, act), croft.WorktreeExists)
				wantContents(t, a.w.Path, map[string]string{"mine.txt": "mine\n"})
				rename(t, a.w.Path, a.w.Path+".mine")
				if err := a.bringBack(t, "restore"); err != nil {
					t.Fatal(err)
				}
				a.wantWork(t)
			})
		}
	}
}

// TestAbsentKeepsStaged: a workspace is removed while its directory cannot be found. Every
// object that git has of it is kept, also through git gc, and comes back.
func TestAbsentKeepsStaged(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		for _, fate := range []string{"deleted", "elsewhere"} {
			t.Run(kind+"/"+fate, func(t *testing.T) {
				t.Parallel()
				a := newAbsentee(t, kind)
				aside := filepath.Join(a.Home, "aside")
				rename(t, a.w.Path, aside)
				if fate == "deleted" {
					if err := os.RemoveAll(aside); err != nil {
						t.Fatal(err)
					}
				}
				a.remove(t)
				common := a.gitDir(t)
				a.GitIn(a.Home, "--git-dir="+common, "gc", "--quiet", "--prune=now")
				a.GitIn(a.Home, "--git-dir="+common, "cat-file", "-e", a.blob)
				if fate == "elsewhere" {
					rename(t, aside, a.w.Path)
				}
				if err := a.bringBack(t, "restore"); err != nil {
					t.Fatal(err)
				}
				if fate == "elsewhere" {
					a.wantWork(t)
					return
				}
				got := show(t, a.e, "w")
				if status := a.GitIn(got.Path, "status", "--porcelain"); status != "A  staged.txt" {
					t.Errorf("git status: %q, want what was staged", status)
				}
				if read(t, filepath.Join(got.Path, "staged.txt")) != "staged\n" || read(t, filepath.Join(got.Path, "done.txt")) != "done\n" {
					t.Error("the files are not what was staged and committed")
				}
			})
		}
	}
}

// TestAbsentWithoutGitsHelp: a workspace can be removed although its directory is gone and
// an agent has damaged its registration.
func TestAbsentWithoutGitsHelp(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"index", "HEAD", "commondir"} {
		for _, text := range []string{"spoilt\n", ""} {
			t.Run(file, func(t *testing.T) {
				t.Parallel()
				a := newAbsentee(t, "worktree")
				admin := filepath.Join(a.Dir, ".git", "worktrees", "croft-"+string(a.w.ID))
				gittest.WriteFile(t, filepath.Join(admin, file), text)
				if err := os.RemoveAll(a.w.Path); err != nil {
					t.Fatal(err)
				}
				a.remove(t)
				if tip := a.Git("rev-parse", "refs/croft/archive/"+string(a.w.ID)+"/head"); tip == "" {
					t.Error("its commit is not kept")
				}
				if file != "index" {
					a.Git("gc", "--quiet", "--prune=now")
					a.Git("cat-file", "-e", a.blob)
				}
			})
		}
	}
}
