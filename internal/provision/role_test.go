package provision_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/worktree"
	"github.com/croft-sh/croft/internal/provision"
)

func roles(r *gittest.Repo) provision.Roles {
	return provision.Roles{Project: r.Dir, Dir: "roles", Files: []string{"CLAUDE.md", "AGENTS.md"}}
}

// checkout makes a worktree as Croft does.
func checkout(t *testing.T, r *gittest.Repo) *git.Worktree {
	t.Helper()
	repo, err := git.Open(gitcmd.New(gitcmd.Options{Environ: r.Env, ConfigDir: filepath.Join(r.Home, "git")}), r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = repo.Close() })
	w, err := repo.Add(t.Context(), worktree.AddSpec{
		Admin: "croft-a", Path: filepath.Join(filepath.Dir(r.Dir), "a"), Head: r.Git("rev-parse", "HEAD"), Lock: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Checkout(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	return w
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestFind(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	r.Roles("one")
	r.Write("roles/both/CLAUDE.md", "x")
	r.Write("roles/both/AGENTS.md", "x")
	r.Write("roles/both/OTHER.md", "x")
	r.Write("roles/agents/AGENTS.md", "x")
	r.Write("roles/directory/CLAUDE.md/x", "x")
	r.Write("roles/none/README.md", "x")
	for role, want := range map[string][]string{
		"one": {"CLAUDE.md"}, "both": {"CLAUDE.md", "AGENTS.md"}, "agents": {"AGENTS.md"}, "none": nil, "directory": nil, "missing": nil,
	} {
		got, err := roles(r).Find(role)
		if !slices.Equal(got.Files, want) || (want == nil) != errors.Is(err, croft.RoleNotFound) {
			t.Errorf("Find(%s) = %+v, %v, want %v", role, got, err, want)
		}
		if got.Name != role || got.Dir != filepath.Join(r.Dir, "roles", role) {
			t.Errorf("Find(%s) = %+v", role, got)
		}
	}
}

func TestFindFollowsNoLinkOut(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	gittest.WriteFile(t, filepath.Join(r.Home, "secret", "CLAUDE.md"), "secret")
	r.Write("roles/in/real.md", "inside")
	for link, to := range map[string]string{
		"roles/out":          filepath.Join(r.Home, "secret"),
		"roles/up":           "../../../home/secret",
		"roles/in/CLAUDE.md": "real.md",
	} {
		if err := os.Symlink(to, filepath.Join(r.Dir, filepath.FromSlash(link))); err != nil {
			t.Skip("needs symbolic links")
		}
	}
	for role, want := range map[string]bool{"out": false, "up": false, "in": true} {
		if _, err := roles(r).Find(role); (err == nil) != want {
			t.Errorf("Find(%s) = %v, want it found: %v", role, err, want)
		}
	}
}

func TestCopy(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	r.Write("CLAUDE.md", "the project's own\n")
	r.Write("roles/worker/CLAUDE.md", "role\n")
	r.Write("roles/worker/AGENTS.md", "agents\n")
	r.Commit("roles")
	w := checkout(t, r)
	role, err := roles(r).Find("worker")
	if err != nil {
		t.Fatal(err)
	}
	var placed map[string]string
	for _, text := range []string{"role\n", "changed\n", "changed\n"} {
		r.Write("roles/worker/CLAUDE.md", text)
		copied, err := roles(r).Copy(t.Context(), provision.Copying{Worktree: w, Role: role, Into: provision.Used, Placed: placed})
		if err != nil || !slices.Equal(copied.Untracked, []string{"AGENTS.md"}) {
			t.Fatalf("Copy = %+v, %v, want AGENTS.md to be ignored by the caller", copied, err)
		}
		placed = copied.Placed
		if got := read(t, filepath.Join(w.Path, "CLAUDE.md")); got != text {
			t.Errorf("CLAUDE.md = %q, want %q", got, text)
		}
		if got := r.GitIn(w.Path, "status", "--porcelain"); got != "?? AGENTS.md" {
			t.Errorf("status %q, want the tracked file hidden", got)
		}
	}
	if got := r.Git("ls-files", "-v", "CLAUDE.md"); got != "H CLAUDE.md" {
		t.Errorf("main's index: %q", got)
	}
}

// TestCopyReplacesLinks: a link at the destination, tracked or not, is replaced, and its
// target is not changed.
func TestCopyReplacesLinks(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	r.Roles("worker")
	if err := os.Symlink("README.md", filepath.Join(r.Dir, "CLAUDE.md")); err != nil {
		t.Skip("needs symbolic links")
	}
	r.Commit("a link")
	w := checkout(t, r)
	role, err := roles(r).Find("worker")
	if err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(r.Home, "outside")
	gittest.WriteFile(t, outside, "precious")
	for _, to := range []string{"README.md", outside, "nowhere"} {
		path := filepath.Join(w.Path, "CLAUDE.md")
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
		if _, err := roles(r).Copy(t.Context(), provision.Copying{Worktree: w, Role: role}); err != nil {
			t.Fatalf("over a link to %s: %v", to, err)
		}
		if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() || read(t, path) != "You are the worker.\n" {
			t.Errorf("over a link to %s: %v, %v", to, info, err)
		}
	}
	if read(t, outside) != "precious" || read(t, filepath.Join(w.Path, "README.md")) != "# app\n" {
		t.Error("a link was followed")
	}
}

func TestCopyRefused(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	r.Roles("gone")
	r.Write("roles/huge/CLAUDE.md", strings.Repeat("x", 5<<20))
	w := checkout(t, r)
	huge, err := roles(r).Find("huge")
	if err != nil {
		t.Fatal(err)
	}
	gone, err := roles(r).Find("gone")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(gone.Dir); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		role croft.Role
		want croft.Code
	}{{huge, croft.InvalidRequest}, {gone, croft.RoleNotFound}} {
		if _, err := roles(r).Copy(t.Context(), provision.Copying{Worktree: w, Role: c.role}); !errors.Is(err, c.want) {
			t.Errorf("Copy(%s) = %v, want %s", c.role.Name, err, c.want)
		}
	}
	if _, err := os.Lstat(filepath.Join(w.Path, "CLAUDE.md")); err == nil {
		t.Error("a refused file was copied")
	}
}

// TestCopyIntoAnotherDirectory: a directory that has replaced the checkout gets no files.
func TestCopyIntoAnotherDirectory(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	r.Roles("worker")
	w := checkout(t, r)
	role, err := roles(r).Find("worker")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Rename(w.Path, w.Path+".was"), os.CopyFS(w.Path, os.DirFS(w.Path+".was"))); err != nil {
		t.Fatal(err)
	}
	if _, err := roles(r).Copy(t.Context(), provision.Copying{Worktree: w, Role: role}); !errors.Is(err, fsx.ErrOther) {
		t.Errorf("Copy = %v", err)
	}
	if _, err := os.Lstat(filepath.Join(w.Path, "CLAUDE.md")); err == nil {
		t.Error("a file was written to another directory")
	}
}

// TestCopyKeepsEdits: if an agent has edited one file of a role, nothing is copied.
func TestCopyKeepsEdits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tracked string // the project's own CLAUDE.md
		edit    string // by the agent, before the first copy
		again   string // by the agent, after it
		want    bool   // whether the copy is made
	}{
		"Nothing":          {want: true},
		"TrackedUntouched": {tracked: "ours\n", want: true},
		"TrackedEdited":    {tracked: "ours\n", edit: "mine\n"},
		"UntrackedFound":   {edit: "mine\n"},
		"SameText":         {edit: "role\n", want: true},
		"EditedSince":      {again: "mine\n"},
		"OverTrackedSince": {tracked: "ours\n", again: "mine\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			if c.tracked != "" {
				r.Write("CLAUDE.md", c.tracked)
			}
			r.Write("roles/worker/AGENTS.md", "agents\n")
			r.Write("roles/worker/CLAUDE.md", "role\n")
			r.Commit("roles")
			w := checkout(t, r)
			role, err := roles(r).Find("worker")
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(w.Path, "CLAUDE.md")
			job, want := provision.Copying{Worktree: w, Role: role, Into: provision.Used}, c.edit
			if c.edit != "" {
				gittest.WriteFile(t, path, c.edit)
			}
			if c.again != "" {
				first, err := roles(r).Copy(t.Context(), job)
				if err != nil {
					t.Fatal(err)
				}
				job.Placed, want = first.Placed, c.again
				gittest.WriteFile(t, path, c.again)
				r.Write("roles/worker/CLAUDE.md", "second edition\n")
				r.Write("roles/worker/AGENTS.md", "second edition\n")
			}
			_, err = roles(r).Copy(t.Context(), job)
			if c.want {
				if err != nil || read(t, path) != "role\n" {
					t.Errorf("Copy = %v, the file is %q", err, read(t, path))
				}
				return
			}
			if !errors.Is(err, croft.WorkspaceDirty) || read(t, path) != want {
				t.Errorf("Copy = %v, the file is %q; want it refused", err, read(t, path))
			}
			if other, err := os.ReadFile(filepath.Join(w.Path, "AGENTS.md")); err == nil && string(other) != "agents\n" {
				t.Errorf("half of the role was copied: AGENTS.md is %q", other)
			}
		})
	}
}
