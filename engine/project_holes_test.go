//go:build unix

package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestGitWithKnownHoles: a git version with known security holes is named at its first use
// and by the doctor, which repeats it after a day. It is no finding, and no call is refused. A git with the fixes is
// not mentioned.
func TestGitWithKnownHoles(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	program := filepath.Join(r.Home, "git-that-says")
	told := func(version string, use func(*engine.Engine)) bool {
		t.Helper()
		script := "#!/bin/sh\n[ \"$1\" = version ] && { echo git version " + version + "; exit; }\nexec git \"$@\"\n"
		if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		e, err := engine.Open(t.Context(), r.Dir, &engine.Options{Environ: r.Env, Settings: map[string]string{"git.path": program}})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		use(e)
		text := strings.Join(e.Notices(), "\n")
		if again := strings.Join(e.Notices(), "\n"); strings.Contains(again, "CVE") {
			t.Errorf("told again: a daemon would tell it with every answer")
		}
		return strings.Contains(text, "git "+version) && strings.Contains(text, "CVE-2025-48384")
	}
	look := func(e *engine.Engine) {
		if _, err := e.Workspaces(t.Context(), croft.WorkspacesRequest{}); err != nil {
			t.Error(err)
		}
	}
	examine := func(e *engine.Engine) {
		if list, err := e.Doctor(t.Context(), croft.DoctorRequest{}); err != nil || len(list.Findings) != 0 {
			t.Errorf("the doctor finds %+v, %v", list, err)
		}
	}
	for _, step := range []struct {
		what, version string
		use           func(*engine.Engine)
		want          bool
	}{
		{"the first use", "2.39.5", look, true},
		{"the second use", "2.39.5", look, false},
		{"the doctor on the same day", "2.39.5", examine, false},
		{"another version, by the doctor", "2.45.3", examine, true},
		{"the doctor again", "2.45.3", examine, false},
		{"a repaired one", "2.45.4", look, false},
		{"the doctor of a repaired one", "2.45.4", examine, false},
	} {
		if got := told(step.version, step.use); got != step.want {
			t.Errorf("%s, %s: told %v", step.what, step.version, got)
		}
	}
}

// TestNoticesOfAFile: what is said about a croft.toml is what is wrong with it now, and few
// sentences of a file with many mistakes: a daemon lives for long, and sends them with its answers.
func TestNoticesOfAFile(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e, err := engine.Open(t.Context(), r.Dir, &engine.Options{Environ: r.Env})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	said := func(file string) []string {
		t.Helper()
		if err := os.WriteFile(filepath.Join(r.Dir, "croft.toml"), []byte(file), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Workspaces(t.Context(), croft.WorkspacesRequest{}); err != nil {
			t.Fatal(err)
		}
		return slices.DeleteFunc(e.Notices(), func(text string) bool {
			return !strings.Contains(text, "unknown key") && !strings.Contains(text, "more of its lines")
		})
	}
	many := "[merge]\n"
	for i := range 1000 {
		many += fmt.Sprintf("wrong%d = 1\n", i)
	}
	if list := said(many); len(list) != 6 || !strings.HasPrefix(list[5], "995 more") {
		t.Errorf("%d sentences: %.300q", len(list), list)
	}
	if list := said("[merge]\nanother = 1\n"); len(list) != 1 || !strings.Contains(list[0], "another") {
		t.Errorf("%.300q", list)
	}
	if list := said(""); len(list) != 0 {
		t.Errorf("%.300q", list)
	}
}
