package shadow_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/checkout/checkouttest"
	"github.com/croft-sh/croft/internal/checkout/shadow"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/worktree"
)

// collect deletes every object that the project's refs do not lead to.
func collect(f checkouttest.Fixture) {
	f.Repo.Git("reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all")
	f.Repo.Git("gc", "--quiet", "--prune=now")
}

// sound fails unless every object that the agent's git directory names exists.
func sound(t *testing.T, f checkouttest.Fixture) {
	t.Helper()
	agent(t, f, "fsck", "--strict", "--no-dangling")
	agent(t, f, "log", "-p", "--all")
}

// TestProjectCollectsGarbage: git gc in the project breaks no live checkout, not even if
// nothing in the project names its base any more, or an object that the agent used and did
// not write itself.
func TestProjectCollectsGarbage(t *testing.T) {
	t.Parallel()
	f, c := fixture(t, false)
	// An object that no ref names, and that the agent writes, too.
	gittest.WriteFile(t, filepath.Join(f.Repo.Home, "dangling"), "found\n")
	loose := f.Repo.Git("hash-object", "-w", filepath.Join(f.Repo.Home, "dangling"))
	makeCheckout(t, f)
	gittest.WriteFile(t, filepath.Join(f.Spec.Path, "mine.txt"), "found\n")
	agent(t, f, "add", "-A")
	agent(t, f, "commit", "-q", "-m", "mine")
	if own := filepath.Join(f.Spec.Path, ".git", "objects", loose[:2], loose[2:]); exists(own) {
		t.Fatal("the agent's git wrote the object itself: nothing is tried here")
	}
	// The base becomes unreachable: its branch is rewritten, the workspace's deleted.
	f.Repo.Git("checkout", "-q", "--orphan", "fresh")
	f.Repo.Git("commit", "-q", "-m", "all anew")
	f.Repo.Git("branch", "-D", "main", f.Spec.Branch)
	collect(f)
	if _, err := f.Repo.TryGit(f.Repo.Dir, "cat-file", "-e", f.Spec.Base); err == nil {
		t.Fatal("the base is still in the project: nothing is tried here")
	}
	sound(t, f)
	head := agent(t, f, "rev-parse", "HEAD")
	if err := c.At(f.Spec).Pull(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := f.Repo.Git("rev-parse", f.Spec.Branch); got != head {
		t.Errorf("the branch is at %s, want %s", got, head)
	}
	f.Repo.Git("fsck", "--strict", "--no-dangling")
	collect(f)
	sound(t, f)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// TestStoreIsLeftAlone: the store of objects is deleted when the last checkout that borrows
// from it was removed, and not before.
func TestStoreIsLeftAlone(t *testing.T) {
	t.Parallel()
	f, c := fixture(t, false)
	makeCheckout(t, f)
	repo := c.At(f.Spec).Repo
	stores := filepath.Join(repo.Dir, "objects")
	f.Repo.Write("more.txt", "more\n")
	f.Repo.Commit("more")
	collect(f) // other packs, so another store for the next one
	second := f.Spec
	second.ID, second.Path, second.Branch = "b", f.Spec.Path+" b", ""
	if err := c.Prepare(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	count := func() int {
		entries, _ := os.ReadDir(stores)
		return len(entries)
	}
	if count() != 2 {
		t.Errorf("%d stores, want one for each state of the packs", count())
	}
	if err := repo.SweepStores(t.Context(), func(admin string) bool { return admin != "croft-b" }); err != nil || count() != 2 {
		t.Errorf("%v, %d stores; want the first one and that of the next checkout", err, count())
	}
	sound(t, f)
	if err := c.Discard(f.Spec); err != nil {
		t.Fatal(err)
	}
	if err := repo.SweepStores(t.Context(), func(string) bool { return false }); err != nil || count() != 0 {
		t.Errorf("%v, %d stores, want none", err, count())
	}
}

// TestShallow: a shallow project lends the objects that it has.
func TestShallow(t *testing.T) {
	t.Parallel()
	f, _ := fixture(t, false)
	for _, name := range []string{"one", "two", "three"} {
		f.Repo.Write(name, name)
		f.Repo.Commit(name)
	}
	shallow := filepath.Join(filepath.Dir(f.Repo.Dir), "shallow")
	f.Repo.Git("clone", "-q", "--depth=1", "file://"+f.Repo.Dir, shallow)
	repo, err := git.Open(gitcmd.New(gitcmd.Options{Environ: f.Repo.Env, ConfigDir: filepath.Join(f.Repo.Home, "git")}), shallow)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = repo.Close() })
	f.Checkout = shadow.New(repo)
	f.Spec.Base, f.Spec.Branch = f.Repo.GitIn(shallow, "rev-parse", "HEAD"), "topic"
	f.Repo.GitIn(shallow, "branch", "topic")
	makeCheckout(t, f)
	sound(t, f)
	gittest.WriteFile(t, filepath.Join(f.Spec.Path, "new.txt"), "new\n")
	agent(t, f, "add", "-A")
	agent(t, f, "commit", "-q", "-m", "new")
	if err := shadow.New(repo).At(f.Spec).Pull(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := f.Repo.GitIn(shallow, "show", "topic:new.txt"); got != "new" {
		t.Errorf("harvested %q", got)
	}
	f.Repo.GitIn(shallow, "fsck", "--strict", "--no-dangling")
}

// TestPush: the checkout gets the branches of others, with objects of its own, and they are
// deleted again; the agent's own branch of such a name stays.
func TestPush(t *testing.T) {
	t.Parallel()
	f, c := fixture(t, false)
	makeCheckout(t, f)
	f.Repo.Git("checkout", "-q", "-b", "theirs")
	f.Repo.Write("theirs.txt", "theirs\n")
	f.Repo.Commit("theirs")
	theirs := f.Repo.Git("rev-parse", "HEAD")
	agent(t, f, "branch", "taken")
	if err := c.At(f.Spec).Push(t.Context(), map[string]string{"theirs": theirs, "taken": theirs, f.Spec.Branch: theirs}); err != nil {
		t.Fatal(err)
	}
	f.Repo.Git("checkout", "-q", "main")
	f.Repo.Git("branch", "-D", "theirs")
	collect(f)
	if got := agent(t, f, "show", "theirs:theirs.txt"); got != "theirs" {
		t.Errorf("their file is %q", got)
	}
	if got := agent(t, f, "diff", "--name-only", "HEAD", "theirs"); got != "theirs.txt" {
		t.Errorf("their difference is %q", got)
	}
	for _, own := range []string{"taken", f.Spec.Branch} {
		if got := agent(t, f, "rev-parse", own); got != f.Spec.Base {
			t.Errorf("%s was moved to %s", own, got)
		}
	}
	if got := f.Repo.Git("for-each-ref", "refs/croft"); strings.Contains(got, theirs) {
		t.Errorf("what was delivered came back: %s", got)
	}
	agent(t, f, "pack-refs", "--all")
	if err := c.At(f.Spec).Push(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if got := agent(t, f, "branch", "--format=%(refname:short)"); strings.Contains(got, "theirs") || !strings.Contains(got, "taken") {
		t.Errorf("branches %q, want theirs gone", got)
	}
	sound(t, f)
}

// TestPullMerge: the state of a merge in progress is pulled, and deleted again.
func TestPullMerge(t *testing.T) {
	t.Parallel()
	f, c := fixture(t, false)
	makeCheckout(t, f)
	for branch, text := range map[string]string{"left": "left\n", "right": "right\n"} {
		agent(t, f, "checkout", "-q", "-b", branch, f.Spec.Branch)
		gittest.WriteFile(t, filepath.Join(f.Spec.Path, "README.md"), text)
		agent(t, f, "commit", "-q", "-a", "-m", branch)
	}
	agent(t, f, "checkout", "-q", f.Spec.Branch)
	agent(t, f, "merge", "-q", "left")
	if _, err := f.Repo.TryGit(f.Spec.Path, "merge", "right"); err == nil {
		t.Fatal("the merge was to conflict")
	}
	list, err := c.Changes(t.Context(), f.Spec)
	if err != nil || len(list) != 1 || list[0].Kind != checkout.Conflicted {
		t.Errorf("changes %v, %v", list, err)
	}
	if got := c.At(f.Spec).Progress(); got != "merge" {
		t.Errorf("in the middle of %q", got)
	}
	agent(t, f, "merge", "--abort")
	if list, err := c.Changes(t.Context(), f.Spec); err != nil || len(list) != 0 {
		t.Errorf("afterwards %v, %v", list, err)
	}
	if got := c.At(f.Spec).Progress(); got != "" {
		t.Errorf("still in the middle of %q", got)
	}
}

// TestPullOddIndex: an index that is split, of version 4, or with flags that tell git not
// to look at files, is read all the same.
func TestPullOddIndex(t *testing.T) {
	t.Parallel()
	for name, setup := range map[string][]string{
		"Split":     {"update-index", "--split-index"},
		"Version4":  {"update-index", "--index-version", "4"},
		"Untracked": {"update-index", "--force-untracked-cache"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, c := fixture(t, false)
			makeCheckout(t, f)
			agent(t, f, setup...)
			gittest.WriteFile(t, filepath.Join(f.Spec.Path, "staged.txt"), "staged\n")
			agent(t, f, "add", "staged.txt")
			gittest.WriteFile(t, filepath.Join(f.Spec.Path, "new.txt"), "new\n")
			list, err := c.Changes(t.Context(), f.Spec)
			want := []checkout.Change{{Path: "staged.txt", Kind: checkout.Staged}, {Path: "new.txt", Kind: checkout.Untracked}}
			if err != nil || !slices.Equal(list, want) {
				t.Errorf("changes %v, %v, want %v", list, err, want)
			}
		})
	}
}

// TestBusyIndex: while the agent's git holds the index, nothing is changed.
func TestBusyIndex(t *testing.T) {
	t.Parallel()
	f, c := fixture(t, false)
	makeCheckout(t, f)
	gittest.WriteFile(t, filepath.Join(f.Spec.Path, ".git", "index.lock"), "")
	begun := time.Now()
	_, err := c.At(f.Spec).MergeIn(t.Context(), git.MergeSpec{Branch: f.Spec.Branch, Commit: f.Spec.Base, Name: "main", Identity: gitcmd.Identity{Author: "a <a@b>", Committer: "a <a@b>"}})
	if !errors.Is(err, worktree.ErrIndexLocked) {
		t.Errorf("%v after %v, want ErrIndexLocked", err, time.Since(begun))
	}
}
