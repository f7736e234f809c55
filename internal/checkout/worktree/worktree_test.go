package worktree_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/checkout/checkouttest"
	"github.com/croft-sh/croft/internal/checkout/worktree"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// fixture is a repository and a worktree of it that a test may make.
func fixture(t *testing.T, detached bool) (checkouttest.Fixture, *worktree.Checkouts) {
	t.Helper()
	r := gittest.New(t)
	repo, err := git.Open(gitcmd.New(gitcmd.Options{Environ: r.Env, ConfigDir: filepath.Join(r.Home, "git")}), r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = repo.Close() })
	spec := checkout.Spec{ID: "a", Path: filepath.Join(filepath.Dir(r.Dir), "a tree"), Base: r.Git("rev-parse", "HEAD")}
	if !detached {
		spec.Branch = "topic/a"
		r.Git("branch", spec.Branch)
	}
	c := worktree.New(repo)
	return checkouttest.Fixture{Checkout: c, Spec: spec, Repo: r, Kind: checkouttest.Isolated}, c
}

func TestCheckout(t *testing.T) {
	t.Parallel()
	for name, detached := range map[string]bool{"Branch": false, "Detached": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkouttest.Run(t, func(t *testing.T) checkouttest.Fixture {
				f, _ := fixture(t, detached)
				return f
			})
		})
	}
}

// TestGitAgrees: git accepts the files that Croft wrote as a worktree.
func TestGitAgrees(t *testing.T) {
	t.Parallel()
	f, c := fixture(t, false)
	if err := c.Prepare(t.Context(), f.Spec); err != nil {
		t.Fatal(err)
	}
	list := f.Repo.Git("worktree", "list", "--porcelain")
	for _, want := range []string{"worktree " + f.Spec.Path, "branch refs/heads/topic/a", "locked " + worktree.BirthLock} {
		if !strings.Contains(list, want+"\n") && !strings.HasSuffix(list, want) {
			t.Errorf("git lists\n%s\nwithout %q", list, want)
		}
	}
	f.Repo.Git("worktree", "prune", "--expire=now") // a worktree in the making is not pruned
	if err := c.Fill(t.Context(), f.Spec); err != nil {
		t.Fatal(err)
	}
	if err := c.Release(f.Spec); err != nil {
		t.Fatal(err)
	}
	if got := f.Repo.Git("worktree", "list", "--porcelain"); strings.Contains(got, "locked") {
		t.Errorf("still locked after its birth:\n%s", got)
	}
	if got := f.Repo.GitIn(f.Spec.Path, "status", "--porcelain", "--branch"); got != "## topic/a" {
		t.Errorf("status %q", got)
	}
	f.Repo.Git("fsck", "--no-dangling")
	f.Repo.Git("worktree", "remove", f.Spec.Path) // git can remove a worktree that Croft made
	if got := c.Health(f.Spec); got != checkout.Missing {
		t.Errorf("health = %s, want missing", got)
	}
}

// TestReleaseKeepsAPersonsLock: a person's lock on a worktree that is being made stays.
func TestReleaseKeepsAPersonsLock(t *testing.T) {
	t.Parallel()
	f, c := fixture(t, false)
	if err := c.Prepare(t.Context(), f.Spec); err != nil {
		t.Fatal(err)
	}
	if err := c.At(f.Spec).SetLock("mine"); err != nil {
		t.Fatal(err)
	}
	if err := c.Release(f.Spec); err != nil {
		t.Fatal(err)
	}
	if reason, locked, err := c.At(f.Spec).LockReason(); err != nil || !locked || reason != "mine" {
		t.Errorf("lock %q, %v, %v", reason, locked, err)
	}
}

// TestVerifyNotes: files that git itself shows as modified in any fresh checkout are
// reported, and are not a failure.
func TestVerifyNotes(t *testing.T) {
	t.Parallel()
	f, c := fixture(t, true)
	f.Repo.Write("dos.txt", "one\r\ntwo\r\n")
	f.Repo.Commit("line endings")
	f.Repo.Write(".gitattributes", "*.txt text\n")
	f.Repo.Git("add", ".gitattributes")
	f.Repo.Git("commit", "--quiet", "-m", "attributes")
	f.Spec.Base = f.Repo.Git("rev-parse", "HEAD")
	if err := c.Prepare(t.Context(), f.Spec); err != nil {
		t.Fatal(err)
	}
	if err := c.Fill(t.Context(), f.Spec); err != nil {
		t.Fatal(err)
	}
	// A new time and size of the file make git read its content.
	if err := os.WriteFile(filepath.Join(f.Spec.Path, "dos.txt"), []byte("one\r\ntwo\r\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	notes, err := c.Verify(t.Context(), f.Spec)
	if err != nil || len(notes) != 1 || !strings.Contains(notes[0], "1 file") {
		t.Errorf("notes %q, %v, want a remark about one file", notes, err)
	}
}

// TestUnregistered: the admin directory is gone, the files are there.
func TestUnregistered(t *testing.T) {
	t.Parallel()
	f, c := fixture(t, false)
	for _, step := range []error{
		c.Prepare(t.Context(), f.Spec), c.Fill(t.Context(), f.Spec), c.Release(f.Spec),
		os.RemoveAll(c.At(f.Spec).Admin),
	} {
		if step != nil {
			t.Fatal(step)
		}
	}
	if got := c.Health(f.Spec); got != checkout.Unregistered {
		t.Errorf("health = %s, want unregistered", got)
	}
	if err := c.MoveToTrash(f.Spec, t.TempDir()); err != nil {
		t.Errorf("stow: %v", err)
	}
}
