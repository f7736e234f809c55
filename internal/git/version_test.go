package git

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/gittest"
)

func TestParseVersion(t *testing.T) {
	for _, tt := range []struct {
		text string
		want gitdir.Version
		ok   bool
	}{
		{"git version 2.39.5", gitdir.Version{Major: 2, Minor: 39, Patch: 5}, true},
		{"git version 2.39.5\n", gitdir.Version{Major: 2, Minor: 39, Patch: 5}, true},
		{"git version 2.39.5 (Apple Git-154)\n", gitdir.Version{Major: 2, Minor: 39, Patch: 5}, true},
		{"git version 2.47.0.windows.1\r\n", gitdir.Version{Major: 2, Minor: 47, Patch: 0}, true},
		{"git version 2.50.0-rc1", gitdir.Version{Major: 2, Minor: 50, Patch: 0}, true},
		{"git version 2.50.0.rc1.12.gdeadbeef", gitdir.Version{Major: 2, Minor: 50, Patch: 0}, true},
		{"git version 2.55.GIT", gitdir.Version{Major: 2, Minor: 55, Patch: 0}, true},
		{"git version 3.0", gitdir.Version{Major: 3, Minor: 0, Patch: 0}, true},
		{"", gitdir.Version{}, false},
		{"git version ", gitdir.Version{}, false},
		{"git version unknown", gitdir.Version{}, false},
		{"git version 2.x", gitdir.Version{}, false},
		{"hub version 2.14", gitdir.Version{}, false},
		{"git version 99999999999999999999.1", gitdir.Version{}, false},
	} {
		got, err := gitdir.ParseVersion(tt.text)
		if got != tt.want || (err == nil) != tt.ok {
			t.Errorf("ParseVersion(%q) = %v, %v, want %v", tt.text, got, err, tt.want)
		}
	}
}

func TestVersionLess(t *testing.T) {
	ordered := []gitdir.Version{{Major: 1, Minor: 99, Patch: 99}, {Major: 2, Minor: 0, Patch: 0}, {Major: 2, Minor: 37, Patch: 9}, {Major: 2, Minor: 38, Patch: 0}, {Major: 2, Minor: 38, Patch: 1}, {Major: 2, Minor: 39, Patch: 0}, {Major: 3, Minor: 0, Patch: 0}}
	for i, v := range ordered {
		for j, w := range ordered {
			if v.Less(w) != (i < j) {
				t.Errorf("%v.Less(%v) = %v", v, w, v.Less(w))
			}
		}
	}
}

func TestVersionOfAProgram(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct {
		name, prints string
		old, ok      bool
	}{
		{"floor", "git version 2.38.0", false, true},
		{"apple", "git version 2.39.5 (Apple Git-154)", false, true},
		{"windows", "git version 2.47.0.windows.1", false, true},
		{"old", "git version 2.37.9", true, false},
		{"ancient", "git version 1.8.3.1", true, false},
		{"garbage", "Segmentation fault", false, false},
		{"nothing", "", false, false},
	} {
		path := script(t, filepath.Join(dir, tt.name), "echo '"+tt.prints+"'")
		v, err := gitcmd.New(gitcmd.Options{Path: path, Environ: gittest.Environ(dir)}).Version()
		tooOld, isOld := errors.AsType[*gitdir.TooOldError](err)
		if (err == nil) != tt.ok || isOld != tt.old {
			t.Errorf("%s: %v, %v", tt.name, v, err)
		}
		if isOld && tooOld.Have != v {
			t.Errorf("%s: the error speaks of %v, not of %v", tt.name, tooOld.Have, v)
		}
	}
}

func TestVersionOfNoProgram(t *testing.T) {
	home := t.TempDir()
	empty := filepath.Join(home, "bin")
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, opts := range map[string]gitcmd.Options{
		"not in PATH":  {Environ: []string{"PATH=" + empty, "HOME=" + home}},
		"no such file": {Path: filepath.Join(empty, "git"), Environ: gittest.Environ(home)},
	} {
		if _, err := gitcmd.New(opts).Version(); !errors.Is(err, gitdir.ErrNotFound) {
			t.Errorf("%s: %v, want ErrNotFound", name, err)
		}
	}
	// A program that exists and cannot be started is not reported as missing.
	path := filepath.Join(empty, "git")
	gittest.WriteFile(t, path, "no program")
	if _, err := gitcmd.New(gitcmd.Options{Path: path, Environ: gittest.Environ(home)}).Version(); err == nil || errors.Is(err, gitdir.ErrNotFound) {
		t.Errorf("a file that is no program: %v", err)
	}
	// Git does not need a directory for temporary files.
	t.Setenv("TMPDIR", filepath.Join(home, "gone"))
	if _, err := gitcmd.New(gitcmd.Options{Environ: gittest.Environ(home)}).Version(); err != nil {
		t.Errorf("without TMPDIR: %v", err)
	}
}

func TestOldGitRunsNothing(t *testing.T) {
	r := gittest.New(t)
	ran := filepath.Join(r.Home, "ran")
	old := script(t, filepath.Join(r.Home, "old-git"), `[ "$1" = version ] && { echo git version 2.37.9; exit; }; touch `+ran)
	repo := open(t, r, func(o *gitcmd.Options) { o.Path = old })
	if _, err := repo.Refs(t.Context()); err == nil {
		t.Error("a git below the floor was used")
	} else if _, ok := errors.AsType[*gitdir.TooOldError](err); !ok {
		t.Errorf("Refs: %v, want a TooOldError", err)
	}
	if exists(ran) {
		t.Error("a git below the floor was asked for more than its version")
	}
}

func TestUnrepaired(t *testing.T) {
	for text, want := range map[string]string{
		"2.38.0": "2.43.7", "2.39.5": "2.43.7", "2.43.0": "2.43.7", "2.43.6": "2.43.7", "2.43.7": "", "2.43.9": "", "2.44.3": "2.44.4",
		"2.44.4": "", "2.45.3": "2.45.4", "2.45.4": "", "2.46.3": "2.46.4", "2.46.4": "", "2.47.2": "2.47.3", "2.47.3": "", "2.48.1": "2.48.2",
		"2.48.2": "", "2.49.0": "2.49.1", "2.49.1": "", "2.50.0": "2.50.1", "2.50.1": "", "2.51.0": "", "2.55.0": "", "3.0.0": "", "1.9.0": "2.43.7",
	} {
		v, err := gitdir.ParseVersion("git version " + text)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if next, ok := v.Unrepaired(); ok {
			got = next.String()
		}
		if got != want {
			t.Errorf("%s: repaired in %q, want %q", text, got, want)
		}
	}
}

// TestMarkTold: of a version is told once, or again after a while, and never if that cannot be recorded.
func TestMarkTold(t *testing.T) {
	r := gittest.New(t)
	g := gitcmd.New(options(r))
	one, two := gitdir.Version{Major: 2, Minor: 39, Patch: 5}, gitdir.Version{Major: 2, Minor: 43, Patch: 0}
	if !g.MarkTold(one, 0) || g.MarkTold(one, 0) || g.MarkTold(one, time.Hour) || !g.MarkTold(two, time.Hour) || gitcmd.New(options(r)).MarkTold(one, 0) {
		t.Error("a version is new once, and only once")
	}
	long := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(filepath.Join(g.Options.ConfigDir, "seen-"+one.String()), long, long); err != nil {
		t.Fatal(err)
	}
	if g.MarkTold(one, 0) || g.MarkTold(one, 3*time.Hour) || !g.MarkTold(one, time.Hour) || g.MarkTold(one, time.Hour) {
		t.Error("after the time it is told of again, once")
	}
	lost := options(r)
	lost.ConfigDir = filepath.Join(g.Options.ConfigDir, "seen-"+one.String(), "below-a-file")
	if gitcmd.New(lost).MarkTold(one, 0) {
		t.Error("each call tells what cannot be recorded")
	}
}
