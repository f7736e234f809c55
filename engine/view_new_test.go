package engine_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// scriptInPlaceOfGit returns an environment in which git is a script that runs lines of shell before it is git.
func scriptInPlaceOfGit(t *testing.T, r *gittest.Repo, lines string) []string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("no script in the place of git")
	}
	script := filepath.Join(r.Home, "bin", "git")
	gittest.WriteFile(t, script, "#!/bin/sh\n"+lines+"\nPATH=${PATH#*:} exec git \"$@\"\n")
	if err := os.Chmod(script, 0o700); err != nil {
		t.Fatal(err)
	}
	env := slices.Clone(r.Env)
	for i, kv := range env {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			env[i] = "PATH=" + filepath.Join(r.Home, "bin") + ":" + path
		}
	}
	return env
}

// TestNewWorkspacesAreLookedAtWithoutGit: whoever lists the workspaces that they just made is shown what they are
// like, however long a git process takes. The files are as young as their index, and attributes say how lines end.
func TestNewWorkspacesAreLookedAtWithoutGit(t *testing.T) {
	r := gittest.New(t)
	r.Write("f", "1\n")
	r.Write("dir/g", "")
	r.Write(".gitattributes", "* text=auto\n*.png binary\n")
	r.Write(".gitignore", "*.log\n")
	r.Commit("files")
	log := filepath.Join(r.Home, "log")
	e := open(t, r.Dir, &engine.Options{Environ: scriptInPlaceOfGit(t, r, `echo "$@" >> `+log)})
	for _, name := range []string{"a", "b", "c"} {
		create(t, e, croft.CreateRequest{Name: name})
	}
	if b, err := os.ReadFile(log); err != nil || len(b) == 0 {
		t.Fatalf("git was not asked for anything, %v: the test sees nothing", err)
	}
	_ = os.Remove(log)
	list, err := e.Workspaces(t.Context(), croft.WorkspacesRequest{Look: croft.NoLimit})
	if err != nil || len(list.Unseen) > 0 {
		t.Fatalf("%v, not seen: %v", err, list.Unseen)
	}
	for _, w := range list.Items {
		if w.Status != croft.ConditionEmpty {
			t.Errorf("%s is %s", w.Name, w.Status)
		}
	}
	if b, err := os.ReadFile(log); err == nil {
		t.Errorf("git was asked:\n%s", b)
	}
}

// TestFewAreLookedAt: a few workspaces are looked at also where the time that is given for hundreds is not enough.
func TestFewAreLookedAt(t *testing.T) {
	r := gittest.New(t)
	r.Write("f", "1\n")
	r.Commit("files")
	e := open(t, r.Dir, &engine.Options{
		Environ: scriptInPlaceOfGit(t, r, `case " $* " in *" status "*) [ -e `+r.Home+`/slow ] && sleep 0.4;; esac`),
	})
	for _, name := range []string{"a", "b", "c"} {
		w := create(t, e, croft.CreateRequest{Name: name})
		gittest.WriteFile(t, filepath.Join(w.Path, "new"), "1\n")
	}
	gittest.WriteFile(t, filepath.Join(r.Home, "slow"), "")
	list, err := e.Workspaces(t.Context(), croft.WorkspacesRequest{Look: croft.Duration(300 * time.Millisecond)})
	if err != nil || len(list.Unseen) > 0 {
		t.Errorf("%v, not seen: %v", err, list.Unseen)
	}
}
