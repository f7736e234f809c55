package git

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/object"
)

// exchangeDirs replaces the directory src of a checkout by a link.
func exchangeDirs(t *testing.T, dir string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("links are made otherwise there")
	}
	src := filepath.Join(dir, "src")
	if err := os.RemoveAll(src); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), src); err != nil {
		t.Fatal(err)
	}
}

// TestWorkHasALinkForADirectory: a tracked directory that was replaced by a link is
// committed as deleted, with the link or, if the link is left out, without it.
func TestWorkHasALinkForADirectory(t *testing.T) {
	for name, c := range map[string]struct {
		paths []string
		want  string
	}{
		"with the link": {[]string{"src", "src/main.txt"}, "120000 src"},
		"without it":    {[]string{"src/main.txt"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := gittest.New(t)
			exchangeDirs(t, r.Dir)
			repo := open(t, r)
			oid, err := repo.Main().CommitWork(t.Context(), Work{
				Branch: "main", Paths: c.paths, Commit: object.Commit{Signature: object.Signature("A <a@example.com>", time.Now()), Message: "link"},
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Git("ls-tree", "-r", "--format=%(objectmode) %(path)", oid, "src"); got != c.want {
				t.Errorf("the commit has %q, want %q", got, c.want)
			}
		})
	}
}

// TestAdvanceFindsALink: a link by which the user replaced a directory of a checkout stays,
// whatever the next commit has there, and is named where it is in the way.
func TestAdvanceFindsALink(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		gone  []string
		goes  bool
	}{
		"its file is deleted": {gone: []string{"src/main.txt"}},
		"its file is changed": {files: map[string]string{"src/main.txt": "changed\n"}},
		"a file is added":     {files: map[string]string{"src/more.txt": "more\n"}},
		"none of it":          {files: map[string]string{"other": "x\n"}, goes: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := gittest.New(t)
			exchangeDirs(t, r.Dir)
			err := advance(t, open(t, r), r.Git("rev-parse", "main"), next(r, c.files, c.gone...))
			if _, isDirty := errors.AsType[*HostDirtyError](err); c.goes && err != nil || !c.goes && !isDirty {
				t.Errorf("moving main along: %v", err)
			}
			if info, err := os.Lstat(filepath.Join(r.Dir, "src")); err != nil || info.Mode()&os.ModeSymlink == 0 {
				t.Errorf("the user's link is gone: %v", err)
			}
		})
	}
}
