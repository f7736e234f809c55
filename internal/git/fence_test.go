package git

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/proc"
)

// TestGitWritesThroughNoLink has git itself write where links lie that Croft does not check
// for.
func TestGitWritesThroughNoLink(t *testing.T) {
	if !proc.CanConfine() {
		t.Skip("this kernel cannot confine processes")
	}
	r := gittest.New(t)
	one := r.Git("rev-parse", "HEAD")
	two := r.Git("commit-tree", "-m", "two", "HEAD^{tree}")
	repo := open(t, r)
	w := addWorktree(t, r, repo, "wt")
	home := filepath.Join(r.Home, "outside")
	gittest.WriteFile(t, filepath.Join(home, "bashrc"), "alias ll=ls\n")
	for _, log := range []string{"refs/heads/wt", "refs/heads/main"} {
		log = filepath.Join(repo.CommonDir, "logs", log)
		if err := errors.Join(os.RemoveAll(log), os.Symlink(filepath.Join(home, "bashrc"), log)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(home, "new"), filepath.Join(repo.CommonDir, "packed-refs")); err != nil {
		t.Fatal(err)
	}
	before := treeOf(t, home)
	for name, c := range map[string]gitcmd.Call{
		"update-ref": {Args: []string{"update-ref", "-m", "x", "HEAD", two, one}, Locks: true},
		"pack-refs":  {Args: []string{"pack-refs", "--all"}, Writes: []string{"packed-refs.lock"}},
	} {
		_, err := w.RunGit(t.Context(), c)
		if err == nil {
			t.Errorf("%s went through", name)
		}
	}
	if diff := cmp.Diff(before, treeOf(t, home)); diff != "" {
		t.Errorf("written outside (-before +after):\n%s", diff)
	}
}

// TestIndexLink: an index that is a link is neither read nor written, and neither are the
// files that git writes beside it.
func TestIndexLink(t *testing.T) {
	for _, name := range []string{"index", "MERGE_MSG", "logs/HEAD"} {
		r := gittest.New(t)
		repo := open(t, r)
		w := addWorktree(t, r, repo, "wt")
		file := filepath.Join(w.Admin, name)
		elsewhere := filepath.Join(r.Home, "elsewhere")
		if exists(file) {
			if err := os.Rename(file, elsewhere); err != nil {
				t.Fatal(err)
			}
		} else {
			gittest.WriteFile(t, elsewhere, "")
		}
		was := readFile(t, elsewhere)
		if err := os.Symlink(elsewhere, file); err != nil {
			t.Fatal(err)
		}
		if _, err := w.RunGit(t.Context(), gitcmd.Call{Args: []string{"reset", "--quiet"}, Locks: true}); err == nil {
			t.Errorf("%s: git ran", name)
		} else if _, ok := errors.AsType[*fsx.LinkError](err); !ok {
			t.Errorf("%s: %v", name, err)
		}
		if readFile(t, elsewhere) != was {
			t.Errorf("%s: it was written through", name)
		}
	}
}

// TestPipes: a pipe in the place of a file that git reads is named in the error, and no
// call waits for it.
func TestPipes(t *testing.T) {
	for name, in := range map[string]func(*Repository, *Worktree) string{
		"a .gitignore":       func(_ *Repository, w *Worktree) string { return filepath.Join(w.Path, ".gitignore") },
		"a .gitignore below": func(_ *Repository, w *Worktree) string { return filepath.Join(w.Path, "sub", ".gitignore") },
		"a .gitattributes":   func(_ *Repository, w *Worktree) string { return filepath.Join(w.Path, ".gitattributes") },
		"the index":          func(_ *Repository, w *Worktree) string { return filepath.Join(w.Admin, "index") },
		"HEAD":               func(_ *Repository, w *Worktree) string { return filepath.Join(w.Admin, "HEAD") },
		"packed-refs":        func(r *Repository, _ *Worktree) string { return filepath.Join(r.CommonDir, "packed-refs") },
		"info/exclude":       func(r *Repository, _ *Worktree) string { return filepath.Join(r.CommonDir, "info", "exclude") },
		"a ref":              func(r *Repository, _ *Worktree) string { return filepath.Join(r.CommonDir, "refs", "heads", "wt") },
		"a link to a pipe":   func(r *Repository, _ *Worktree) string { return filepath.Join(r.CommonDir, "info", "attributes") },
		"objects/info/alternates": func(r *Repository, _ *Worktree) string {
			return filepath.Join(r.CommonDir, "objects", "info", "alternates")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			repo := open(t, r)
			w := addWorktree(t, r, repo, "wt")
			gittest.WriteFile(t, filepath.Join(w.Path, "sub", "new"), "")
			file := in(repo, w)
			if err := os.RemoveAll(file); err != nil {
				t.Fatal(err)
			}
			pipe := file
			if name == "a link to a pipe" {
				pipe = filepath.Join(r.Home, "pipe")
				if err := os.Symlink(pipe, file); err != nil {
					t.Fatal(err)
				}
			}
			if err := mkfifo(pipe, 0o644); err != nil {
				t.Skip(err)
			}
			begun := time.Now()
			_, err := w.RunGit(t.Context(), gitcmd.Call{Args: []string{"status", "--porcelain", "--untracked-files=all"}})
			if took := time.Since(begun); !errors.Is(err, fsx.ErrNotRegular) || took > 10*time.Second {
				t.Errorf("%v after %v", err, took)
			}
		})
	}
}

// TestTimeout: a git process that does not end is killed, with its children.
func TestTimeout(t *testing.T) {
	r := gittest.New(t)
	path, _ := stubborn(t, r, "rev-list")
	repo := open(t, r, func(o *gitcmd.Options) { o.Path, o.Timeout = path, 300*time.Millisecond })
	begun := time.Now()
	_, err := repo.RunGit(t.Context(), "rev-list", "HEAD")
	late, ok := errors.AsType[*gitcmd.TimeoutError](err)
	if !ok || late.Verb != "rev-list" || time.Since(begun) > 10*time.Second {
		t.Errorf("%v after %v", err, time.Since(begun))
	}
	// A session that does not answer.
	path, _ = stubborn(t, r, "cat-file")
	repo = open(t, r, func(o *gitcmd.Options) { o.Path, o.Timeout = path, 300*time.Millisecond })
	if _, err := repo.Read(t.Context(), "HEAD"); !gitcmd.IsStopped(err) {
		t.Errorf("a session: %v", err)
	}
}

// TestObjectsThroughLinks: nothing is written through a link in the place of a directory of
// objects.
func TestObjectsThroughLinks(t *testing.T) {
	for _, dir := range []string{"objects/pack", "objects/fan-out", "objects"} {
		r := gittest.New(t)
		repo := open(t, r)
		text := []byte("through a link")
		oid, err := repo.HashBlob(bytes.NewReader(text), int64(len(text)))
		if err != nil {
			t.Fatal(err)
		}
		if dir == "objects/fan-out" {
			dir = "objects/" + oid[:2]
		}
		outside := filepath.Join(r.Home, "outside")
		path := filepath.Join(repo.CommonDir, dir)
		if dir == "objects" { // its objects can be read, but lie elsewhere
			err = os.Rename(path, outside)
		} else {
			err = errors.Join(os.Mkdir(outside, 0o755), os.RemoveAll(path))
		}
		if err := errors.Join(err, os.Symlink(outside, path)); err != nil {
			t.Fatal(err)
		}
		before := treeOf(t, outside)
		for name, b := range map[string]*object.Batch{"loose": repo.Batch(), "packed": repo.PackBatch()} {
			_, err := b.Write("blob", int64(len(text)), bytes.NewReader(text))
			if err == nil {
				err = b.Flush()
			}
			b.Discard()
			// Each kind of write goes into one of the two.
			if _, ok := errors.AsType[*fsx.LinkError](err); !ok && (name == "packed") == (dir == "objects/pack") {
				t.Errorf("%s, %s: %v", dir, name, err)
			}
		}
		if diff := cmp.Diff(before, treeOf(t, outside)); diff != "" {
			t.Errorf("%s: written outside (-before +after):\n%s", dir, diff)
		}
	}
}

func TestIrregular(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	addWorktree(t, r, repo, "wt")
	if found := repo.Irregular(); len(found) > 0 {
		t.Errorf("in a healthy repository: %v", found)
	}
	var want []string
	for _, name := range []string{"packed-refs", "refs/heads/x", "logs/refs/heads/main", "worktrees/croft-wt/MERGE_MSG"} {
		path := filepath.Join(repo.CommonDir, filepath.FromSlash(name))
		if err := errors.Join(os.RemoveAll(path), os.Symlink("elsewhere", path)); err != nil {
			t.Fatal(err)
		}
		want = append(want, path)
	}
	if diff := cmp.Diff(want, repo.Irregular()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestWritersAreFenced: every git that writes is confined to the repository's directories,
// also one that takes no lock itself; one that reads is not.
func TestWritersAreFenced(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	repo := open(t, r)
	for _, c := range []gitcmd.Call{
		{Args: []string{"status"}, Locks: true}, {Args: []string{"index-pack", "--stdin"}}, {Args: []string{"-c", "a.b=c", "update-ref", "--stdin"}},
	} {
		cmd, err := repo.Git.Command(t.Context(), gitcmd.Target{Repo: repo.Core()}, c)
		if err != nil || !slices.Contains(cmd.WriteBelow, repo.CommonDir) || slices.Contains(cmd.WriteBelow, r.Home) {
			t.Errorf("git %v may write below %v, %v", c.Args, cmd.WriteBelow, err)
		}
	}
	if cmd, err := repo.Git.Command(t.Context(), gitcmd.Target{Repo: repo.Core()}, gitcmd.Call{Args: []string{"cat-file", "--batch"}}); err != nil || cmd.WriteBelow != nil {
		t.Errorf("one that reads may write below %v, %v", cmd.WriteBelow, err)
	}
}

// TestFenceLeavesTheStateOut: a git that writes a checkout may write neither the state,
// which holds the configuration of Croft's git, nor the repository's configuration and
// hooks, which the user's own git trusts.
func TestFenceLeavesTheStateOut(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	repo := open(t, r)
	w := addWorktree(t, r, repo, "wt")
	cmd, err := repo.Git.Command(t.Context(), gitcmd.Target{Repo: repo.Core(), GitDir: w.Admin, Work: w.Path}, gitcmd.Call{Args: []string{"reset", "--hard"}, Locks: true})
	if err != nil || len(cmd.WriteBelow) == 0 {
		t.Fatalf("it may write below %v, %v", cmd.WriteBelow, err)
	}
	for _, kept := range []string{
		repo.Dir, repo.HostDir(), repo.RecordFile(), repo.Git.Options.ConfigDir, repo.CommonPath("config"), repo.CommonPath("hooks"), repo.CommonPath("info"),
		repo.CommonPath("HEAD"), repo.CommonPath("packed-refs"), repo.Root, r.Home,
	} {
		for _, dir := range cmd.WriteBelow {
			if rel, err := filepath.Rel(dir, kept); err == nil && filepath.IsLocal(rel) {
				t.Errorf("%s lies in %s, below which it may write", kept, dir)
			}
		}
	}
	for _, needed := range []string{w.Path, w.Admin, repo.CommonPath("objects"), repo.CommonPath("refs"), repo.CommonPath("logs")} {
		if !slices.Contains(cmd.WriteBelow, needed) {
			t.Errorf("it may not write %s", needed)
		}
	}
}
