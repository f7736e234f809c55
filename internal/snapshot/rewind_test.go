//go:build unix

package snapshot_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/snapshot"
	"github.com/croft-sh/croft/internal/snapshot/restore"
)

// rewind rewinds the worktree to a snapshot. It does not examine the current files first:
// it keeps a file that cannot be told from the saved one.
func (b *bench) rewind(now, to string, seen *snapshot.Seen) error {
	aside := filepath.Join(filepath.Dir(b.tree.Path), ".aside")
	if err := os.MkdirAll(aside, 0o700); err != nil {
		return err
	}
	err := restore.Rewind(context.Background(), restore.Rewinding{Files: restore.Files{Worktree: b.tree}, Now: now, To: to, Aside: aside, Seen: seen})
	if _, isKept := errors.AsType[*restore.KeptError](err); isKept && seen == nil {
		return nil
	}
	return err
}

// TestRewind rewinds one checkout back and forth between two states, one of which is in the
// middle of a merge. Ignored files stay.
func TestRewind(t *testing.T) {
	ctx := context.Background()
	b := newBench(t)
	b.Write(".gitignore", "node_modules/\n")
	b.Commit("ignore")
	b.Git("checkout", "--quiet", "-b", "other")
	b.Write("src/main.txt", "theirs\n")
	b.Commit("other")
	b.Git("checkout", "--quiet", "main")
	b.open()
	b.file("node_modules/dep.js", "kept\n")
	b.file("first.txt", "untracked at first\n")
	b.file("src/main.txt", "changed at first\n")
	b.git("add", "first.txt")
	first := b.picture()
	one, err := snapshot.Save(ctx, b.tree, snapshot.Selection{})
	must(t, err)
	b.git("rm", "--quiet", "--cached", "first.txt")
	must(t, os.Remove(filepath.Join(b.tree.Path, "first.txt")))
	b.file("src/main.txt", "ours\n")
	b.git("commit", "--quiet", "--all", "--message", "ours")
	if _, err := b.TryGit(b.tree.Path, "merge", "other"); err == nil {
		t.Fatal("the merge was meant to conflict")
	}
	b.file("second/deep.txt", "untracked at second\n")
	second := b.picture()
	two, err := snapshot.Save(ctx, b.tree, snapshot.Selection{})
	must(t, err)

	head, err := snapshot.HeadOf(ctx, b.repo, one.Commit)
	must(t, err)
	if head.Branch != "work" || head.OID != first.Head {
		t.Fatalf("the first snapshot's head is %+v, want work at %s", head, first.Head)
	}
	must(t, b.repo.UpdateRefs(ctx, refs.Update{Ref: "refs/heads/work", New: first.Head, Old: second.Head}))
	for range 2 { // the second time as after a crash
		must(t, b.rewind(two.Commit, one.Commit, nil))
		if d := cmp.Diff(first, b.picture()); d != "" {
			t.Fatalf("back at the first state (-want +got):\n%s", d)
		}
	}
	must(t, b.repo.UpdateRefs(ctx, refs.Update{Ref: "refs/heads/work", New: second.Head, Old: first.Head}))
	must(t, b.rewind(one.Commit, two.Commit, nil))
	if d := cmp.Diff(second, b.picture()); d != "" {
		t.Fatalf("at the second state again (-want +got):\n%s", d)
	}
}

// TestRewindOverIgnored: the snapshot that is taken before a rewind includes the ignored
// files that the rewind would overwrite, and no other ignored file.
func TestRewindOverIgnored(t *testing.T) {
	ctx := context.Background()
	b := newBench(t)
	b.open()
	b.file("same.log", "untracked then\n")
	b.file("was-file", "a file then\n")
	b.file("deep/er.log", "below a directory then\n")
	must(t, os.MkdirAll(filepath.Join(b.tree.Path, "empty"), 0o755))
	must(t, os.MkdirAll(filepath.Join(b.tree.Path, "void", "deep"), 0o755))
	one, err := snapshot.Save(ctx, b.tree, snapshot.Selection{})
	must(t, err)

	b.file(".gitignore", "*\n")
	b.file("same.log", "ignored now\n")
	for _, name := range []string{"was-file", "deep", "void"} {
		must(t, os.RemoveAll(filepath.Join(b.tree.Path, name)))
	}
	b.file("was-file/inner.txt", "a directory now\n")
	b.file("deep", "a file now\n")
	b.file("void", "a file now\n")
	b.file("empty/cache.txt", "filled now\n")
	b.file("other.log", "in nobody's way\n")
	second := b.picture()
	two, err := snapshot.Save(ctx, b.tree, snapshot.Selection{Before: one.Commit})
	must(t, err)
	if two.Files != 4 {
		t.Errorf("%d files were saved, want the four that are in the way", two.Files)
	}

	must(t, b.rewind(two.Commit, one.Commit, nil))
	for name, want := range map[string]string{
		"same.log": "untracked then\n", "was-file": "a file then\n", "deep/er.log": "below a directory then\n",
		"empty/cache.txt": "filled now\n", "other.log": "in nobody's way\n",
	} {
		if got, err := os.ReadFile(filepath.Join(b.tree.Path, name)); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v, want %q", name, got, err, want)
		}
	}
	must(t, b.rewind(one.Commit, two.Commit, nil))
	if d := cmp.Diff(second.Files, b.picture().Files); d != "" {
		t.Errorf("and back (-want +got):\n%s", d)
	}
}

// TestRewindOverNewer: a file that was written after the snapshot which is taken before a
// rewind stops the rewind, instead of being overwritten.
func TestRewindOverNewer(t *testing.T) {
	ctx := context.Background()
	b := newBench(t)
	b.open()
	b.file("place", "a file then\n")
	one, err := snapshot.Save(ctx, b.tree, snapshot.Selection{})
	must(t, err)
	must(t, os.Remove(filepath.Join(b.tree.Path, "place")))
	two, err := snapshot.Save(ctx, b.tree, snapshot.Selection{Before: one.Commit})
	must(t, err)
	b.file("place/new.txt", "nobody saved me\n")
	if err := b.rewind(two.Commit, one.Commit, two.Seen); err == nil {
		t.Error("it went through")
	}
	if got, err := os.ReadFile(filepath.Join(b.tree.Path, "place", "new.txt")); err != nil || string(got) != "nobody saved me\n" {
		t.Errorf("what was written since is %q, %v", got, err)
	}
}

// TestRewindLeavesLocks: lock files in a checkout belong to the git processes that work
// there or wait to. No snapshot contains them, and no rewind deletes them.
func TestRewindLeavesLocks(t *testing.T) {
	ctx := context.Background()
	b := newBench(t)
	b.open()
	locks := []string{"HEAD.lock", "index.lock.waiting"}
	for _, name := range locks {
		must(t, os.WriteFile(filepath.Join(b.tree.Admin, name), []byte("held\n"), 0o644))
	}
	one, err := snapshot.Save(ctx, b.tree, snapshot.Selection{})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(b.tree.Admin, "MERGE_MSG"), []byte("later\n"), 0o644))
	two, err := snapshot.Save(ctx, b.tree, snapshot.Selection{Before: one.Commit})
	must(t, err)
	must(t, b.rewind(two.Commit, one.Commit, nil))
	for name, want := range map[string]bool{locks[0]: true, locks[1]: true, "MERGE_MSG": false} {
		if _, err := os.Lstat(filepath.Join(b.tree.Admin, name)); (err == nil) != want {
			t.Errorf("%s after the rewind: %v, want it there: %t", name, err, want)
		}
	}
	must(t, os.Remove(filepath.Join(b.tree.Admin, locks[1])))
	must(t, b.rewind(one.Commit, two.Commit, nil))
	if _, err := os.Lstat(filepath.Join(b.tree.Admin, locks[1])); err == nil {
		t.Error("the snapshot brought a lock back")
	}
}

// TestLargeFiles: large files are saved and restored without being held in memory.
func TestLargeFiles(t *testing.T) {
	b := newBench(t)
	b.open()
	const size = 64 << 20
	f, err := os.Create(filepath.Join(b.tree.Path, "large"))
	must(t, err)
	must(t, f.Truncate(size))
	must(t, f.Close())
	saved, err := snapshot.Save(t.Context(), b.tree, snapshot.Selection{})
	must(t, err)
	must(t, os.Remove(filepath.Join(b.tree.Path, "large")))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	must(t, b.rewind(saved.Commit, saved.Commit, nil))
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > size/4 {
		t.Errorf("%d bytes were allocated to bring back %d", used, size)
	}
	if info, err := os.Stat(filepath.Join(b.tree.Path, "large")); err != nil || info.Size() != size {
		t.Errorf("the file is %v, %v", info, err)
	}
}
