package shadow_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/checkout/checkouttest"
	"github.com/croft-sh/croft/internal/checkout/shadow"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// fixture is a repository and an isolated checkout of it that a test may make.
func fixture(t *testing.T, detached bool) (checkouttest.Fixture, *shadow.Checkouts) {
	t.Helper()
	r := gittest.New(t)
	repo, err := git.Open(gitcmd.New(gitcmd.Options{Environ: r.Env, ConfigDir: filepath.Join(r.Home, "git")}), r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = repo.Close() })
	spec := checkout.Spec{ID: "a", Path: filepath.Join(filepath.Dir(r.Dir), "a tree"), Base: r.Git("rev-parse", "HEAD"), Kind: checkout.Isolated}
	if !detached {
		spec.Branch = "topic/a"
		r.Git("branch", spec.Branch)
	}
	c := shadow.New(repo)
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

// agent runs git as an agent does: in the checkout, with the user's environment.
func agent(t *testing.T, f checkouttest.Fixture, args ...string) string {
	t.Helper()
	return f.Repo.Git(append([]string{"-C", f.Spec.Path}, args...)...)
}

func makeCheckout(t *testing.T, f checkouttest.Fixture) {
	t.Helper()
	c, ctx := f.Checkout, t.Context()
	err := c.Prepare(ctx, f.Spec)
	if err == nil {
		err = c.Fill(ctx, f.Spec)
	}
	if err == nil {
		_, err = c.Verify(ctx, f.Spec)
	}
	if err == nil {
		err = c.Release(f.Spec)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestGitAgrees: git accepts the files that Croft wrote as a clean repository, and the
// project does not list it as a worktree.
func TestGitAgrees(t *testing.T) {
	t.Parallel()
	f, _ := fixture(t, false)
	makeCheckout(t, f)
	if out := agent(t, f, "status", "--porcelain=v2", "--branch"); strings.Contains(out, "\n1 ") || !strings.Contains(out, "branch.head topic/a") {
		t.Errorf("status %q", out)
	}
	if out := agent(t, f, "fsck", "--strict", "--no-dangling"); out != "" {
		t.Errorf("fsck %q", out)
	}
	if out := f.Repo.Git("worktree", "list"); strings.Contains(out, f.Spec.Path) {
		t.Errorf("the project lists %q", out)
	}
}

// TestPull: the agent's commits and staged files are pulled into the project.
func TestPull(t *testing.T) {
	t.Parallel()
	f, c := fixture(t, false)
	makeCheckout(t, f)
	gittest.WriteFile(t, filepath.Join(f.Spec.Path, "new.txt"), "new\n")
	agent(t, f, "add", "-A")
	agent(t, f, "commit", "-q", "-m", "mine")
	gittest.WriteFile(t, filepath.Join(f.Spec.Path, "staged.txt"), "staged\n")
	agent(t, f, "add", "-A")
	agent(t, f, "branch", "other")
	head := agent(t, f, "rev-parse", "HEAD")
	if err := c.At(f.Spec).Pull(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := f.Repo.Git("rev-parse", "topic/a"); got != head {
		t.Errorf("the branch is at %s, want %s", got, head)
	}
	if got := f.Repo.Git("show", "topic/a:new.txt"); got != "new" {
		t.Errorf("committed: %q", got)
	}
	if got := f.Repo.Git("show", "refs/croft/ws/a/held:staged.txt"); got != "staged" {
		t.Errorf("staged: %q", got)
	}
	list, err := c.Changes(t.Context(), f.Spec)
	if err != nil || len(list) != 1 || list[0].Path != "staged.txt" || list[0].Kind != checkout.Staged {
		t.Errorf("changes %v, %v", list, err)
	}
	f.Repo.Git("fsck", "--strict")
}
