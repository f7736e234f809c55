package engine_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestWatchedListsAreTheSame: an engine that watches shows what one shows that looks each time, whatever happens to
// the workspaces, and it does watch them.
func TestWatchedListsAreTheSame(t *testing.T) {
	r := gittest.New(t)
	r.Write("dir/a", "a\n")
	r.Commit("files")
	looks := open(t, r.Dir, &engine.Options{Environ: r.Env})
	watches := open(t, r.Dir, &engine.Options{Environ: r.Env, Watch: engine.WatchFiles})
	var made []croft.Workspace
	for _, req := range []croft.CreateRequest{{Name: "one"}, {Name: "two"}, {Name: "three"}, {Name: "own", Mode: croft.ModeIsolated}} {
		made = append(made, create(t, looks, req))
	}
	one, two := made[0], made[1]
	listed := func(e croft.Service) string {
		t.Helper()
		list, err := e.Workspaces(t.Context(), croft.WorkspacesRequest{Look: croft.NoLimit})
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.MarshalIndent(list, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	git := func(w croft.Workspace, args ...string) func() { return func() { r.GitIn(w.Path, args...) } }
	admin := func(w croft.Workspace) string {
		return strings.TrimSpace(r.GitIn(w.Path, "rev-parse", "--absolute-git-dir"))
	}
	adminOfTwo := admin(two)
	rename := func(from, to string) func() {
		return func() {
			if err := os.Rename(from, to); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, k := range []struct {
		name   string
		change func()
	}{
		{"nothing", func() {}},
		{"a file", func() { gittest.WriteFile(t, filepath.Join(one.Path, "dir/a"), "b\n") }},
		{"a new file", func() { gittest.WriteFile(t, filepath.Join(one.Path, "dir/n"), "b\n") }},
		{"a file of an isolated workspace", func() { gittest.WriteFile(t, filepath.Join(made[3].Path, "dir/n"), "b\n") }},
		{"a commit", func() { git(one, "add", "--all")(); git(one, "commit", "--quiet", "-m", "one")() }},
		{"a commit of an isolated workspace", func() { git(made[3], "add", "--all")(); git(made[3], "commit", "--quiet", "-m", "own")() }},
		{"another branch", git(two, "checkout", "--quiet", "-b", "elsewhere")},
		{"no branch", git(two, "checkout", "--quiet", "--detach")},
		{"the branch again", git(two, "checkout", "--quiet", two.Branch)},
		{"a branch moved from outside", func() { r.Git("update-ref", "refs/heads/"+two.Branch, "refs/heads/"+one.Branch) }},
		{"the target", func() { r.Write("m", "m\n"); r.Commit("more") }},
		{"a lock", git(one, "worktree", "lock", "--reason", "mine", two.Path)},
		{"no lock", git(one, "worktree", "unlock", two.Path)},
		{"a directory that went", rename(one.Path, one.Path+".away")},
		{"and came back", rename(one.Path+".away", one.Path)},
		{"a lost .git", rename(filepath.Join(one.Path, ".git"), one.Path+".git")},
		{"and its return", rename(one.Path+".git", filepath.Join(one.Path, ".git"))},
		{"a registration that went", rename(adminOfTwo, adminOfTwo+".away")},
		{"and came back", rename(adminOfTwo+".away", adminOfTwo)},
		{"all directories away", rename(filepath.Dir(one.Path), filepath.Dir(one.Path)+".away")},
		{"and back", rename(filepath.Dir(one.Path)+".away", filepath.Dir(one.Path))},
	} {
		k.change()
		listed(looks) // which pulls what an isolated one has, and that is a write
		for range 3 {
			if want, got := listed(looks), listed(watches); got != want {
				t.Fatalf("%s: watched\n%s\nlooked at\n%s", k.name, got, want)
			}
			time.Sleep(80 * time.Millisecond)
		}
	}
	if w := watches.Watched(); w.Workspaces < 3 || w.Touched == 0 || w.Why != "" {
		t.Errorf("hardly anything was watched: %+v", w)
	}
	if w := looks.Watched(); w.Workspaces+w.Directories != 0 {
		t.Errorf("watched without being asked: %+v", w)
	}
}
