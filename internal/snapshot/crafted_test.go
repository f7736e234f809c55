//go:build unix

package snapshot_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha1"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/snapshot"
	"github.com/croft-sh/croft/internal/snapshot/restore"
)

// TestCraftedIndex: whatever an agent writes to its index, the snapshot has all files and
// can be restored, also after git gc. Entries that git would not make are left out of the
// saved index, and the snapshot names them; all others are restored.
func TestCraftedIndex(t *testing.T) {
	for name, crafted := range gittest.CraftedIndexes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.Write("a", "committed\n")
			b.Write("kept", "committed\n")
			b.Commit("files")
			b.open()
			b.file("newf", "precious\n")
			b.file("a", "changed\n")
			b.file("staged", "staged\n")
			oid := b.git("hash-object", "-w", "staged")
			must(t, os.Remove(filepath.Join(b.tree.Path, "staged")))
			file := filepath.Join(b.tree.Admin, "index")
			must(t, os.WriteFile(file, crafted.File(oid), 0o644))
			want := b.git("ls-files", "--stage", "-z")

			tree, saved := b.saveAndRestore(t)

			for name, text := range map[string]string{"newf": "precious\n", "a": "changed\n", "kept": "committed\n"} {
				if got, err := os.ReadFile(filepath.Join(b.tree.Path, name)); err != nil || string(got) != text {
					t.Errorf("%s: %q, %v", name, got, err)
				}
			}
			if _, err := os.Lstat(filepath.Join(filepath.Dir(b.tree.Path), "x")); err == nil {
				t.Error("a file was written outside of the checkout")
			}
			x, err := tree.Index(context.Background())
			must(t, err)
			var paths []string
			for _, e := range x.Entries {
				paths = append(paths, e.Path)
			}
			if d := cmp.Diff(crafted.Kept(), paths); d != "" || len(x.Faults) > 0 {
				t.Errorf("the index has %v (-want +got):\n%s", x.Faults, d)
			}
			meta, err := snapshot.ReadMeta(context.Background(), b.repo, saved.Commit)
			must(t, err)
			if is := saved.LeftOut > 0; is != crafted.IsFaulty || is != (len(meta.LeftOut) > 0) {
				t.Errorf("the snapshot says that it left out %v", meta.LeftOut)
			}
			if now := b.git("ls-files", "--stage", "-z"); !crafted.IsFaulty && now != want {
				t.Errorf("the index is %q, was %q", now, want)
			}
			b.git("status", "--porcelain")
		})
	}
}

// TestUnreadableIndex: an index that git cannot read does not prevent a snapshot of the
// files. The snapshot has the index of HEAD instead, and says why.
func TestUnreadableIndex(t *testing.T) {
	for name, damage := range map[string]func(b *bench, file string, was []byte) []byte{
		"empty":   func(*bench, string, []byte) []byte { return nil },
		"garbage": func(*bench, string, []byte) []byte { return []byte("garbage\n") },
		"cut off": func(_ *bench, _ string, was []byte) []byte { return was[:len(was)/2] },
		"version": func(_ *bench, _ string, was []byte) []byte { was[7] = 9; return withSum(was[:len(was)-sha1.Size]) },
		"extension": func(_ *bench, _ string, was []byte) []byte {
			return withSum(append(was[:len(was)-sha1.Size], "zzzz\x00\x00\x00\x01x"...))
		},
		"shared part": func(b *bench, file string, _ []byte) []byte {
			b.git("update-index", "--split-index")
			shared, err := filepath.Glob(filepath.Join(filepath.Dir(file), "sharedindex.*"))
			must(b.t, err)
			must(b.t, os.Remove(shared[0]))
			split, err := os.ReadFile(file)
			must(b.t, err)
			return split
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.Write("kept", "committed\n")
			b.Commit("files")
			b.open()
			want := b.git("ls-files", "--stage")
			b.file("newf", "precious\n")
			b.file("README.md", "changed\n")
			file := filepath.Join(b.tree.Admin, "index")
			was, err := os.ReadFile(file)
			must(t, err)
			must(t, os.WriteFile(file, damage(b, file, was), 0o644))
			_, saved := b.saveAndRestore(t)
			for name, text := range map[string]string{"newf": "precious\n", "README.md": "changed\n", "kept": "committed\n"} {
				if got, err := os.ReadFile(filepath.Join(b.tree.Path, name)); err != nil || string(got) != text {
					t.Errorf("%s: %q, %v", name, got, err)
				}
			}
			if got := b.git("ls-files", "--stage"); got != want || saved.LeftOut != 1 {
				t.Errorf("the index is %q, %d entries were left out, want %q", got, saved.LeftOut, want)
			}
		})
	}
}

// withSum appends the checksum to an index.
func withSum(data []byte) []byte {
	sum := sha1.Sum(data)
	return append(data, sum[:]...)
}

// saveAndRestore saves the worktree, deletes it, collects garbage and restores it.
func (b *bench) saveAndRestore(t *testing.T) (*git.Worktree, snapshot.Saved) {
	t.Helper()
	ctx := context.Background()
	saved, err := snapshot.Save(ctx, b.tree, snapshot.Selection{
		Pin: func(commit string) error { return b.repo.UpdateRefs(ctx, refs.Update{Ref: pin, New: commit}) },
	})
	must(t, err)
	must(t, restore.Verify(ctx, b.repo, saved.Commit))
	b.destroy()
	b.Git("fsck", "--no-dangling", "--strict")
	spec := b.spec()
	spec.Contents = func(admin string) error { return restore.WriteAdmin(ctx, b.repo, saved.Commit, admin) }
	tree, err := b.repo.Add(ctx, spec)
	must(t, err)
	must(t, restore.Restore(ctx, saved.Commit, restore.Files{Worktree: tree}))
	must(t, tree.ClearLock())
	return tree, saved
}

// TestForgedCacheTree: the cache-tree extension of an index may name the tree of another
// commit as that of its entries. The snapshot keeps the objects of the entries all the
// same.
func TestForgedCacheTree(t *testing.T) {
	b := newBench(t)
	b.open()
	b.git("write-tree") // so that the index has a cache tree, that of HEAD
	file := filepath.Join(b.tree.Admin, "index")
	data, err := os.ReadFile(file)
	must(t, err)
	at := bytes.Index(data, []byte("TREE"))
	if at < 0 {
		t.Fatal("the index names no tree")
	}
	trees := data[at : len(data)-sha1.Size]
	b.file("staged", "staged\n")
	oid := b.git("hash-object", "-w", "staged")
	must(t, os.Remove(filepath.Join(b.tree.Path, "staged")))
	forged := gittest.CraftedIndex{Entries: []gittest.IndexEntry{{Path: "staged"}}}.File(oid)
	forged = append(forged[:len(forged)-sha1.Size], trees...)
	must(t, os.WriteFile(file, withSum(forged), 0o644))
	b.saveAndRestore(t)
	if got := b.git("cat-file", "blob", ":staged"); got != "staged" {
		t.Errorf("staged is %q", got)
	}
}

// TestStagedTreeIsMissing: an entry that names a tree as the content of a file has no
// content, so the snapshot fails and names it.
func TestStagedTreeIsMissing(t *testing.T) {
	b := newBench(t)
	b.open()
	crafted := gittest.CraftedIndex{Entries: []gittest.IndexEntry{{Path: "tree"}}}
	must(t, os.WriteFile(filepath.Join(b.tree.Admin, "index"), crafted.File(b.git("rev-parse", "HEAD^{tree}")), 0o644))
	_, err := snapshot.Save(context.Background(), b.tree, snapshot.Selection{})
	if missing, ok := errors.AsType[*object.MissingError](err); !ok || missing.Path != "tree" {
		t.Errorf("Save = %v", err)
	}
}

// TestVerify: Verify tells a snapshot that git could not check out, or that lacks an
// object, from one that can be restored.
func TestVerify(t *testing.T) {
	b := newBench(t)
	b.open()
	b.file("newf", "precious\n")
	saved, err := snapshot.Save(context.Background(), b.tree, snapshot.Selection{})
	must(t, err)
	must(t, restore.Verify(context.Background(), b.repo, saved.Commit))
	for name, crafted := range gittest.CraftedIndexes() {
		var admin bytes.Buffer
		w := tar.NewWriter(&admin)
		for name, text := range map[string][]byte{"HEAD": []byte("ref: refs/heads/work\n"), "index": crafted.File(b.git("rev-parse", "HEAD:README.md"))} {
			must(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg}))
			_, err := w.Write(text)
			must(t, err)
		}
		must(t, w.Close())
		forged := b.fake(map[string][]byte{"meta.json": []byte(`{"version":1}`), "admin.tar": admin.Bytes()})
		if err := restore.Verify(context.Background(), b.repo, forged); errors.Is(err, snapshot.ErrFormat) != crafted.IsFaulty || err != nil && !crafted.IsFaulty {
			t.Errorf("%s: %v", name, err)
		}
	}
	oid := b.git("hash-object", "newf")
	must(t, os.Remove(filepath.Join(b.Dir, ".git", "objects", oid[:2], oid[2:])))
	err = restore.Verify(context.Background(), b.repo, saved.Commit)
	if missing, ok := errors.AsType[*object.MissingError](err); !ok || missing.Path != "newf" {
		t.Errorf("without an object: %v", err)
	}
}
