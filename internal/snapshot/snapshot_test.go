//go:build unix

package snapshot_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/git/worktree"
	"github.com/croft-sh/croft/internal/snapshot"
	"github.com/croft-sh/croft/internal/snapshot/restore"
)

// bench is a repository with a linked worktree.
type bench struct {
	*gittest.Repo
	t    *testing.T
	repo *git.Repository
	tree *git.Worktree

	touched int64 // how often touch was called
}

const pin = "refs/croft/test"

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{Repo: gittest.New(t), t: t}
	t.Cleanup(func() { // so that read-only directories can be deleted
		_ = filepath.WalkDir(filepath.Dir(b.Dir), func(path string, d fs.DirEntry, _ error) error {
			if d != nil && d.IsDir() {
				_ = os.Chmod(path, 0o755)
			}
			return nil
		})
	})
	return b
}

// open registers the worktree, after the test has made the repository's history.
func (b *bench) open() {
	b.t.Helper()
	g := gitcmd.New(gitcmd.Options{Environ: b.Env, ConfigDir: filepath.Join(b.Home, "git")})
	var err error
	if b.repo, err = git.Open(g, b.Dir); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = b.repo.Close() })
	b.Git("branch", "work")
	b.tree, err = b.repo.Add(context.Background(), b.spec())
	if err != nil {
		b.t.Fatal(err)
	}
	if err := b.tree.Checkout(context.Background(), 1); err != nil {
		b.t.Fatal(err)
	}
	if err := b.tree.ClearLock(); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) spec() worktree.AddSpec {
	return worktree.AddSpec{Admin: "croft-test", Path: filepath.Join(filepath.Dir(b.Dir), "tree"), Branch: "work"}
}

func (b *bench) file(name, content string) {
	b.t.Helper()
	gittest.WriteFile(b.t, filepath.Join(b.tree.Path, name), content)
}

func (b *bench) git(args ...string) string {
	b.t.Helper()
	return b.GitIn(b.tree.Path, args...)
}

// roundTrip saves, destroys, collects garbage, restores and compares.
func (b *bench) roundTrip(sel snapshot.Selection) snapshot.Saved {
	b.t.Helper()
	ctx := context.Background()
	before := b.picture()
	sel.Pin = func(commit string) error { return b.repo.UpdateRefs(ctx, refs.Update{Ref: pin, New: commit}) }
	saved, err := snapshot.Save(ctx, b.tree, sel)
	if err != nil {
		b.t.Fatal(err)
	}
	if d := cmp.Diff(before, b.picture()); d != "" {
		b.t.Fatalf("saving changed the worktree (-before +after):\n%s", d)
	}
	b.touch()
	before = b.picture()
	b.destroy()
	b.Git("fsck", "--no-dangling")
	spec := b.spec()
	spec.Contents = func(admin string) error { return restore.WriteAdmin(ctx, b.repo, saved.Commit, admin) }
	tree, err := b.repo.Add(ctx, spec)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := restore.Restore(ctx, saved.Commit, restore.Files{Worktree: tree, SecretsDir: sel.SecretsDir}); err != nil {
		b.t.Fatal(err)
	}
	if err := tree.ClearLock(); err != nil {
		b.t.Fatal(err)
	}
	if d := cmp.Diff(before, b.picture()); d != "" {
		b.t.Fatalf("what came back differs (-before +after):\n%s", d)
	}
	return saved
}

// touch gives every file a new time, so that git reads it instead of trusting its index:
// restored files have new times, too. The times differ at each call by whole seconds,
// because git compares those.
func (b *bench) touch() {
	b.t.Helper()
	b.touched++
	then := time.Unix(1e9+b.touched, 0)
	err := filepath.WalkDir(b.tree.Path, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			err = os.Chtimes(path, then, then)
		}
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// destroy deletes the worktree and every object that only the worktree needed.
func (b *bench) destroy() {
	b.t.Helper()
	_ = filepath.WalkDir(b.tree.Path, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o755)
		}
		return nil
	})
	if err := b.tree.Discard(); err != nil {
		b.t.Fatal(err)
	}
	if err := os.RemoveAll(b.tree.Path); err != nil {
		b.t.Fatal(err)
	}
	b.Git("reflog", "expire", "--expire=now", "--all")
	b.Git("gc", "--quiet", "--prune=now")
}

// picture is everything that must be restored.
type picture struct {
	Files  []string // type, mode, link target or sum, path
	Index  string
	Status string
	Staged string
	Head   string
	Admin  []string // sum and path of the worktree's own files in the git directory
}

// admin lists the worktree's own part of the git directory.
func (b *bench) admin() []string {
	b.t.Helper()
	var list []string
	err := fs.WalkDir(os.DirFS(b.tree.Admin), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || path == "gitdir" || path == "commondir" || path == "locked" || strings.HasPrefix(path, "modules/") {
			return err
		}
		data, err := os.ReadFile(filepath.Join(b.tree.Admin, path))
		list = append(list, fmt.Sprintf("%.4x %q", sha256.Sum256(data), path))
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return list
}

func (b *bench) picture() picture {
	b.t.Helper()
	p := picture{
		Index:  b.git("ls-files", "--stage", "-v", "-z"),
		Status: b.git("--no-optional-locks", "status", "--porcelain=v2", "--branch", "--untracked-files=all", "-z"),
		Staged: b.git("--no-optional-locks", "diff", "--cached", "--raw", "--no-renames", "-z"),
		Admin:  b.admin(),
	}
	p.Head, _ = b.TryGit(b.tree.Path, "rev-parse", "--verify", "--quiet", "HEAD")
	err := filepath.WalkDir(b.tree.Path, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(b.tree.Path, path)
		if rel == "." || rel == ".git" {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		what := ""
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			what, _ = os.Readlink(path)
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			what = fmt.Sprintf("%x", sha256.Sum256(data))
		}
		p.Files = append(p.Files, fmt.Sprintf("%s %s %q", info.Mode(), what, rel))
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return p
}

func TestClean(t *testing.T) {
	b := newBench(t)
	b.open()
	if saved := b.roundTrip(snapshot.Selection{}); saved.Files != 0 {
		t.Errorf("%d files were stored of a clean worktree", saved.Files)
	}
}

func TestModifiedStagedUntracked(t *testing.T) {
	b := newBench(t)
	for i := range 30 {
		b.Write(fmt.Sprintf("d%d/f%d.txt", i%5, i), strings.Repeat("line\n", i))
	}
	b.Commit("more")
	b.open()
	b.file("src/main.txt", "staged\n")
	b.git("add", "src/main.txt")
	b.file("src/main.txt", "staged, then changed\n")
	b.file("new.txt", "added\n")
	b.git("add", "new.txt")
	b.file("later.txt", "intent\n")
	b.git("add", "--intent-to-add", "later.txt")
	b.file("untracked/deep/file", "u\n")
	b.git("rm", "--quiet", "--cached", "d1/f1.txt")
	b.git("rm", "--quiet", "d2/f2.txt")
	if err := os.Remove(filepath.Join(b.tree.Path, "d3/f3.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(b.tree.Path, "d4")); err != nil {
		t.Fatal(err)
	}
	b.roundTrip(snapshot.Selection{})
}

func TestNamesModesLinks(t *testing.T) {
	b := newBench(t)
	b.open()
	for _, name := range []string{"with space", "tab\there", "new\nline", "\"quoted\"", "-dash", "\xff\xfe", "ünï", "a/b\\c", "*", "trailing "} {
		b.file(name, name)
	}
	path := func(name string) string { return filepath.Join(b.tree.Path, name) }
	must(t, os.Symlink("nowhere/at all", path("dangling")))
	must(t, os.Symlink("/etc/hostname", path("absolute")))
	must(t, os.MkdirAll(path("empty/inner"), 0o755))
	must(t, os.Chmod(path("with space"), 0o600))
	must(t, os.Chmod(path("-dash"), 0o755))
	b.file("readonly/file", "x")
	must(t, os.Chmod(path("readonly/file"), 0o444))
	must(t, os.Chmod(path("readonly"), 0o555))
	must(t, syscall.Mkfifo(path("pipe"), 0o644))
	must(t, os.Remove(path("README.md")))
	must(t, os.Symlink("src/main.txt", path("README.md"))) // a tracked file became a link
	must(t, os.RemoveAll(path("src")))
	b.file("src", "a directory became a file\n")
	b.roundTrip(snapshot.Selection{})
}

func TestConflictedMerge(t *testing.T) {
	b := newBench(t)
	b.Git("checkout", "--quiet", "-b", "other")
	b.Write("src/main.txt", "one\nTWO\nthree\n")
	b.Write("both.txt", "theirs\n")
	b.Commit("other")
	b.Git("checkout", "--quiet", "main")
	b.Write("src/main.txt", "one\n2\nthree\n")
	b.Write("both.txt", "ours\n")
	b.Commit("ours")
	b.open()
	if _, err := b.TryGit(b.tree.Path, "merge", "other"); err == nil {
		t.Fatal("the merge was meant to conflict")
	}
	b.file("src/main.txt", "half resolved\n")
	b.roundTrip(snapshot.Selection{})
	b.file("both.txt", "resolved\n")
	b.git("add", "--all")
	b.git("commit", "--quiet", "--no-edit")
	if parents := b.git("log", "-1", "--format=%P"); len(strings.Fields(parents)) != 2 {
		t.Errorf("the merge that was brought back ended with the parents %q", parents)
	}
}

func TestStoppedRebase(t *testing.T) {
	b := newBench(t)
	b.Write("src/main.txt", "main\n")
	b.Commit("main moves")
	b.open()
	b.git("reset", "--quiet", "--hard", "HEAD~1")
	b.file("src/main.txt", "work\n")
	b.git("commit", "--quiet", "--all", "--message", "work")
	b.file("second.txt", "2\n")
	b.git("add", "--all")
	b.git("commit", "--quiet", "--message", "second")
	if _, err := b.TryGit(b.tree.Path, "rebase", "main"); err == nil {
		t.Fatal("the rebase was meant to stop")
	}
	b.roundTrip(snapshot.Selection{})
	b.file("src/main.txt", "resolved\n")
	b.git("add", "--all")
	b.git("-c", "core.editor=true", "rebase", "--continue")
	if got := b.git("log", "--format=%s", "-2"); got != "second\nwork" {
		t.Errorf("the rebase that was brought back ended with %q", got)
	}
}

func TestFlags(t *testing.T) {
	b := newBench(t)
	b.Write("assumed.txt", "a\n")
	b.Write("skipped.txt", "s\n")
	b.Commit("more")
	b.open()
	b.git("update-index", "--assume-unchanged", "assumed.txt")
	b.git("update-index", "--skip-worktree", "skipped.txt")
	b.file("assumed.txt", "changed where git does not look\n")
	b.file("skipped.txt", "changed too\n")
	b.roundTrip(snapshot.Selection{})
}

func TestFiltersAndLineEndings(t *testing.T) {
	b := newBench(t)
	b.Git("config", "--file", filepath.Join(b.Home, ".gitconfig"), "filter.shout.clean", "tr A-Z a-z")
	b.Git("config", "--file", filepath.Join(b.Home, ".gitconfig"), "filter.shout.smudge", "tr a-z A-Z")
	b.Write(".gitattributes", "*.shout filter=shout\n*.dos text eol=crlf\n")
	b.Write("a.shout", "quiet\n")
	b.Write("a.dos", "one\ntwo\n")
	b.Commit("attributes")
	b.open()
	b.file("b.shout", "Mixed Case\n")      // the clean filter would change it
	b.file("a.shout", "NOW mixed\n")       // and does so here
	b.file("a.dos", "one\ntwo\r\nmixed\n") // no line ending may change
	b.file("b.dos", "lf only\n")
	b.roundTrip(snapshot.Selection{})
}

// TestStaleAttributes: files that were checked out with attributes which have changed since
// are restored as they are, although git, which goes by their times, shows them as
// unchanged.
func TestStaleAttributes(t *testing.T) {
	b := newBench(t)
	b.Write(".gitattributes", "*.dos text eol=crlf\n")
	b.Write("a.dos", "one\ntwo\n")
	b.Commit("attributes")
	b.open()
	b.touch()
	b.git("status") // while the attributes hold, so that the index records the files
	b.git("rm", "--quiet", ".gitattributes")
	if got := b.git("status", "--porcelain"); got != "D  .gitattributes" {
		t.Fatalf("status %q", got)
	}
	before := b.picture().Files
	saved, err := snapshot.Save(t.Context(), b.tree, snapshot.Selection{})
	must(t, err)
	must(t, os.Remove(filepath.Join(b.tree.Path, "a.dos")))
	must(t, b.rewind(saved.Commit, saved.Commit, nil))
	if d := cmp.Diff(before, b.picture().Files); d != "" {
		t.Errorf("what came back differs (-before +after):\n%s", d)
	}
}

func TestNestedRepositories(t *testing.T) {
	b := newBench(t)
	b.open()
	nested := filepath.Join(b.tree.Path, "vendor", "lib")
	must(t, os.MkdirAll(nested, 0o755))
	b.GitIn(nested, "init", "--quiet")
	gittest.WriteFile(t, filepath.Join(nested, "lib.txt"), "nested\n")
	b.GitIn(nested, "add", "--all")
	b.GitIn(nested, "commit", "--quiet", "--message", "nested work")
	gittest.WriteFile(t, filepath.Join(nested, "dirty.txt"), "not committed\n")
	bare := filepath.Join(b.tree.Path, "fresh")
	must(t, os.MkdirAll(bare, 0o755))
	b.GitIn(bare, "init", "--quiet") // without a commit
	b.roundTrip(snapshot.Selection{})
	if got := b.GitIn(nested, "log", "--format=%s"); got != "nested work" {
		t.Errorf("the nested repository's log is %q", got)
	}
}

func TestSubmodule(t *testing.T) {
	b := newBench(t)
	lib := gittest.New(t)
	b.Git("-c", "protocol.file.allow=always", "submodule", "add", "--quiet", lib.Dir, "lib")
	b.Commit("with a submodule")
	b.open()
	b.git("-c", "protocol.file.allow=always", "submodule", "update", "--quiet", "--init")
	sub := filepath.Join(b.tree.Path, "lib")
	gittest.WriteFile(t, filepath.Join(sub, "own.txt"), "committed in the submodule\n")
	b.GitIn(sub, "add", "--all")
	b.GitIn(sub, "commit", "--quiet", "--message", "work in the submodule")
	gittest.WriteFile(t, filepath.Join(sub, "dirty.txt"), "not committed\n")
	b.roundTrip(snapshot.Selection{})
	if got := b.GitIn(sub, "log", "-1", "--format=%s"); got != "work in the submodule" {
		t.Errorf("the submodule's last commit is %q", got)
	}
}

func TestIgnoredAndSecrets(t *testing.T) {
	b := newBench(t)
	b.Write(".gitignore", "*.log\n.env*\nnode_modules/\n")
	b.Commit("ignore")
	b.open()
	b.file("run.log", "chosen\n")
	b.file(".env", "TOKEN=hunter2\n")
	must(t, os.Chmod(filepath.Join(b.tree.Path, ".env"), 0o600))
	secrets := filepath.Join(b.Home, "secrets")
	saved := b.roundTrip(snapshot.Selection{Ignored: []string{"*.log"}, Secrets: []string{".env", ".env.*"}, SecretsDir: secrets})
	if saved.Secrets != 1 {
		t.Errorf("%d secrets were saved, want 1", saved.Secrets)
	}
	if _, err := b.TryGit(b.Dir, "grep", "--quiet", "-e", "hunter2", saved.Commit); err == nil {
		t.Error("a secret is in the object store")
	}
	if _, err := b.TryGit(b.Dir, "grep", "--quiet", "-e", "chosen", saved.Commit); err != nil {
		t.Error("a chosen ignored file is not in the snapshot")
	}
}

// TestSecretWithoutItsDirectory: an ignored private file is left out where there is no
// directory for private files.
func TestSecretWithoutItsDirectory(t *testing.T) {
	b := newBench(t)
	b.Write(".gitignore", ".env*\n")
	b.Commit("ignore")
	b.open()
	b.file(".env", "TOKEN=hunter2\n")
	saved, err := snapshot.Save(t.Context(), b.tree, snapshot.Selection{Ignored: []string{".env"}, Secrets: []string{".env"}})
	must(t, err)
	if _, err := b.TryGit(b.Dir, "grep", "--quiet", "-e", "hunter2", saved.Commit); err == nil {
		t.Error("a secret is in the object store")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
