package git

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gittest"
)

func TestClassify(t *testing.T) {
	for stderr, want := range map[string]gitcmd.Kind{
		"":                            "",
		"fatal: not a git repository": "",
		"error: unable to write file x: No space left on device\nfatal: could not":                   gitcmd.KindNoSpace,
		"fatal: sha1 file '<stdout>' write error. Out of diskspace":                                  gitcmd.KindNoSpace,
		"fatal: write error: Disk quota exceeded":                                                    gitcmd.KindNoSpace,
		"fatal: detected dubious ownership in repository at '/x'":                                    gitcmd.KindOwner,
		"fatal: f: clean filter 'git-crypt' failed":                                                  gitcmd.KindFilter,
		"fatal: f: smudge filter git-crypt failed":                                                   gitcmd.KindFilter,
		"error: external filter 'x' failed 1":                                                        gitcmd.KindFilter,
		"error: unable to create temporary file: Permission denied":                                  gitcmd.KindDenied,
		"fatal: Unable to create '/x/index.lock': Read-only file system":                             gitcmd.KindDenied,
		"fatal: prepare: cannot lock ref 'refs/x': reference already exists":                         gitcmd.KindRefStale,
		"fatal: prepare: cannot lock ref 'refs/x': is at 1 but expected 2":                           gitcmd.KindRefStale,
		"fatal: prepare: cannot lock ref 'refs/x': unable to resolve reference 'refs/x'":             gitcmd.KindRefStale,
		"fatal: cannot lock ref 'refs/a/b': 'refs/a' exists; cannot create 'refs/a/b'":               gitcmd.KindRefStale,
		"fatal: Unable to create '/x/.git/refs/x.lock': File exists.\n\nAnother git process":         gitcmd.KindLocked,
		"error: could not lock config file .git/config: File exists":                                 gitcmd.KindLocked,
		"error: unable to create temporary file: No such file or directory\nfatal: failed to insert": gitcmd.KindVanished,
	} {
		if got := gitcmd.Classify(stderr); got != want {
			t.Errorf("%q: %q, want %q", stderr, got, want)
		}
	}
}

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

// TestInheritedFiles: a process that writes to a worktree keeps the files open
// that it is given, so that a kernel lock among them outlives the caller.
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
