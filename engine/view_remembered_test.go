package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// loggedGit returns an environment in which git writes its arguments to a file.
func loggedGit(t *testing.T, r *gittest.Repo) (env []string, log string) {
	t.Helper()
	log = filepath.Join(r.Home, "log")
	return scriptInPlaceOfGit(t, r, `echo "$@" >> `+log), log
}

// TestLooksAreRemembered: a second look starts no git for commits and files that are as they were,
// and sees what changed since.
func TestLooksAreRemembered(t *testing.T) {
	t.Setenv("TMPDIR", "/var/tmp") // in memory git is asked wherever a file has changed
	r := gittest.New(t)
	r.Write("f", "1\n2\n3\n")
	r.Commit("files")
	env, log := loggedGit(t, r)
	e := open(t, r.Dir, &engine.Options{Environ: env})
	var made []croft.Workspace
	for _, name := range []string{"work", "clean", "landed", "open"} {
		made = append(made, create(t, e, croft.CreateRequest{Name: name}))
	}
	commit := func(w croft.Workspace, text string) {
		gittest.WriteFile(t, filepath.Join(w.Path, w.Name), text)
		r.GitIn(w.Path, "add", "--all")
		r.GitIn(w.Path, "commit", "--quiet", "-m", text)
	}
	commit(made[0], "one\n")
	commit(made[2], "one\n")
	r.Git("merge", "--quiet", "--squash", made[2].Branch)
	r.Git("commit", "--quiet", "-m", "squashed")
	gittest.WriteFile(t, filepath.Join(made[3].Path, "new/file"), "one\ntwo\n")
	look := func() (seen []string, asked []string) {
		t.Helper()
		_ = os.Remove(log)
		list, err := e.Workspaces(t.Context(), croft.WorkspacesRequest{Look: croft.NoLimit})
		if err != nil || len(list.Unseen) > 0 {
			t.Fatalf("%v, not seen: %v", err, list.Unseen)
		}
		for _, w := range list.Items {
			seen = append(seen, fmt.Sprintf("%s %s +%d -%d, %d lines in %d files, %d uncommitted", w.Name, w.Status, w.Work.Ahead, w.Work.Behind, w.Work.Added, w.Work.Changed, w.Work.Uncommitted))
		}
		b, _ := os.ReadFile(log)
		for line := range strings.Lines(string(b)) {
			asked = append(asked, line)
		}
		return seen, asked
	}
	time.Sleep(100 * time.Millisecond)
	first, asked := look()
	if len(asked) == 0 {
		t.Error("git was not asked at first: the test sees nothing")
	}
	for _, want := range []string{
		"work ahead +1 -1, 1 lines in 1 files, 0 uncommitted", "landed merged +1 -1, 1 lines in 1 files, 0 uncommitted",
		"open dirty +0 -1, 2 lines in 1 files, 1 uncommitted",
	} {
		if !slices.Contains(first, want) {
			t.Errorf("%q, want %q", first, want)
		}
	}
	again, asked := look()
	if !slices.Equal(first, again) || len(asked) > 0 {
		t.Errorf("first %q, then %q, for which git was asked %q", first, again, asked)
	}
	commit(made[0], "one\ntwo\n")
	gittest.WriteFile(t, filepath.Join(made[3].Path, "new/file"), "one\n2\n\n\n")
	r.Write("f", "2\n")
	r.Commit("the target moves")
	want := []string{
		"work ahead +2 -2, 2 lines in 1 files, 0 uncommitted", "clean empty +0 -2, 0 lines in 0 files, 0 uncommitted", "landed merged +1 -2, 1 lines in 1 files, 0 uncommitted",
		"open dirty +0 -2, 4 lines in 1 files, 1 uncommitted",
	}
	if now, _ := look(); !slices.Equal(now, want) {
		t.Errorf("after changes %q, want %q", now, want)
	}
}
