//go:build unix

package git

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// stranger is the ID of a user other than root.
const stranger = 65534

func needsRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can give a repository to somebody else")
	}
}

// TestForeignParts: a repository counts as another user's as soon as one part of it belongs
// to another user. Plain git agrees, except for the common directory of a linked worktree,
// which it does not check.
func TestForeignParts(t *testing.T) {
	needsRoot(t)
	r := gittest.New(t)
	r.Git("worktree", "add", "--quiet", r.Beside("linked"))
	linked := r.Beside("linked")
	for _, c := range []struct {
		part, from string
		mine       bool
	}{
		{r.Dir, r.Dir, false},
		{filepath.Join(r.Dir, ".git"), r.Dir, false},
		{filepath.Join(r.Dir, ".git"), filepath.Join(r.Dir, "src"), false},
		{filepath.Join(r.Dir, ".git"), linked, false},
		{linked, linked, false},
		{filepath.Join(linked, ".git"), linked, false},
		{filepath.Join(r.Dir, ".git", "worktrees", "linked"), linked, false},
		{linked, r.Dir, true},
		{filepath.Join(r.Dir, "src"), r.Dir, true},
	} {
		if err := os.Lchown(c.part, stranger, stranger); err != nil {
			t.Fatal(err)
		}
		_, err := gitcmd.New(options(r)).Discover(t.Context(), c.from)
		if owner, ok := errors.AsType[*gitcmd.OwnerError](err); c.mine != (err == nil) || !c.mine && (!ok || !errors.Is(err, gitcmd.KindOwner) || owner.Part != c.part) {
			t.Errorf("%s is another's, from %s: %v", c.part, c.from, err)
		}
		if _, err := r.TryGit(c.from, "status"); c.mine != (err == nil) && c.part != filepath.Join(r.Dir, ".git") {
			t.Errorf("%s is another's, from %s: plain git says %v", c.part, c.from, err)
		}
		if err := os.Lchown(c.part, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSafeDirectoryIsTheUsersToSay: a repository is safe if the user's, the system's or the
// environment's configuration lists it; the repository's own configuration does not count.
func TestSafeDirectoryIsTheUsersToSay(t *testing.T) {
	needsRoot(t)
	r := gittest.New(t)
	r.Git("config", "safe.directory", "*")
	chown(t, r.Dir, stranger)
	try := func(env ...string) error {
		opts := options(r)
		opts.Environ = append(opts.Environ, env...)
		_, err := gitcmd.New(opts).Discover(t.Context(), r.Dir)
		return err
	}
	plain := func() error {
		_, err := r.TryGit(r.Dir, "status")
		return err
	}
	if err := try(); !errors.Is(err, gitcmd.KindOwner) || plain() == nil {
		t.Errorf("listed by nobody but itself: %v, plain git %v", err, plain())
	}
	if err := try("GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0="+r.Dir); err != nil {
		t.Errorf("in the environment: %v", err)
	}
	if err := try("SUDO_UID=" + strconv.Itoa(stranger)); err != nil {
		t.Errorf("by sudo of the owner: %v", err)
	}
	if err := try("SUDO_UID=12345"); !errors.Is(err, gitcmd.KindOwner) {
		t.Errorf("by sudo of somebody else: %v", err)
	}
	for _, value := range []string{r.Dir, "", "*"} {
		r.GitIn(r.Home, "config", "--global", "--add", "safe.directory", value)
		if err := try(); (err == nil) != (value != "") || (plain() == nil) != (value != "") {
			t.Errorf("after %q: %v, plain git %v", value, err, plain())
		}
	}
}

// TestForeignSubmodule: a submodule that belongs to another user counts as changed, and
// nothing in it is read.
func TestForeignSubmodule(t *testing.T) {
	needsRoot(t)
	r := gittest.New(t)
	other := gittest.New(t)
	r.Git("-c", "protocol.file.allow=always", "submodule", "add", "--quiet", other.Dir, "sub")
	r.Commit("sub")
	repo := open(t, r)
	if got := statusOf(t, repo.Main(), UntrackedAll); len(got) != 0 {
		t.Fatalf("before: %q", got)
	}
	if err := os.Lchown(filepath.Join(r.Dir, ".git", "modules", "sub"), stranger, stranger); err != nil {
		t.Fatal(err)
	}
	if got := statusOf(t, repo.Main(), UntrackedAll); len(got) != 1 {
		t.Errorf("a submodule of somebody else's: %q", got)
	}
	r.GitIn(r.Home, "config", "--global", "--add", "safe.directory", filepath.Join(r.Dir, "sub"))
	if got := statusOf(t, repo.Main(), UntrackedAll); len(got) != 0 {
		t.Errorf("listed: %q", got)
	}
}
