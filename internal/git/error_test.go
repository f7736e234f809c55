package git

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gittest"
)

func TestErrorSaysWhatFailed(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	_, err := repo.RunGit(t.Context(), "-c", "core.x=y", "cat-file", "-t", "none")
	e, ok := errors.AsType[*gitcmd.Error](err)
	if !ok || e.ExitCode != 128 || e.Error() != "git cat-file: fatal: Not a valid object name none" || e.Dir != repo.HostDir() {
		t.Errorf("%#v", err)
	}
	if errors.Is(err, gitcmd.KindLocked) {
		t.Error("an error of no kind is KindLocked")
	}
}

// TestInheritedFiles: a process that writes to a worktree keeps the files open that it
// inherits, so that a kernel lock among them outlives the caller.
func TestInheritedFiles(t *testing.T) {
	r := gittest.New(t)
	w := addWorktree(t, r, open(t, r), "wt")
	got := filepath.Join(r.Dir, ".git", "objects", "got") // where a git may write
	wrapper := script(t, filepath.Join(r.Home, "git-wrapper"), `for a; do [ "$a" = reset ] && cat <&3 > `+got+`; done; exec git "$@"`)
	gittest.WriteFile(t, filepath.Join(r.Home, "lock"), "this file\n")
	f, err := os.Open(filepath.Join(r.Home, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	repo := open(t, r, func(o *gitcmd.Options) { o.Path = wrapper })
	w = repo.Linked("croft-wt", w.Path)
	w.Inherit = []*os.File{f}
	if err := w.Checkout(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if readFile(t, got) != "this file\n" {
		t.Errorf("the process got %q", readFile(t, got))
	}
}
