//go:build unix

package snapshot_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/snapshot"
)

// spoils are ways to damage a loose object: an agent deletes it, or a power cut leaves an
// empty file or one of zeros.
var spoils = map[string]func(path string) error{
	"deleted": os.Remove,
	"empty":   func(path string) error { return errors.Join(os.Chmod(path, 0o644), os.Truncate(path, 0)) },
	"zeros": func(path string) error {
		return errors.Join(os.Remove(path), os.WriteFile(path, make([]byte, 64), 0o444))
	},
}

// spoil damages the object that a revision names.
func (b *bench) spoil(name string, how func(string) error) {
	b.t.Helper()
	oid := b.git("rev-parse", name)
	if err := how(filepath.Join(b.Dir, ".git", "objects", oid[:2], oid[2:])); err != nil {
		b.t.Fatal(err)
	}
}

// TestLostObjectsAreWrittenAnew: objects that the index names cannot be read, and the files
// are unchanged. The snapshot writes the objects again from the files, and everything is
// restored.
func TestLostObjectsAreWrittenAnew(t *testing.T) {
	t.Parallel()
	for name, how := range spoils {
		for _, isPacked := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				const first = "refs/croft/first"
				b := newBench(t)
				b.Write("committed", "committed\n")
				b.Write("sub/.gitattributes", "*.crlf text eol=crlf\n*.auto text\n")
				b.Commit("files")
				b.open()
				b.file("unc", "precious\n")
				b.file("st", "staged\n")
				b.file("large", string(bytes.Repeat([]byte("large\n"), 400_000)))
				b.file("sub/one.crlf", "one\r\ntwo\r\n")
				b.file("sub/two.auto", "three\r\nfour\r\n")
				if err := os.Symlink("to/nowhere", filepath.Join(b.tree.Path, "link")); err != nil {
					t.Fatal(err)
				}
				b.git("add", "st", "large", "link", "sub")
				b.touch() // so that git trusts the index
				b.git("status")
				before := b.picture()
				lost := []string{":st", ":large", ":link", ":sub/one.crlf", ":sub/two.auto", ":sub/.gitattributes", "HEAD:committed"}
				for _, name := range lost {
					b.spoil(name, how)
				}
				ctx, sel := context.Background(), snapshot.Selection{}
				if isPacked {
					sel.Pin = func(commit string) error { return b.repo.UpdateRefs(ctx, refs.Update{Ref: first, New: commit}) }
				}
				saved, err := snapshot.Save(ctx, b.tree, sel)
				if err != nil {
					t.Fatal(err)
				}
				b.Git("update-ref", first, saved.Commit)
				b.Git("fsck", "--no-dangling")
				if d := cmp.Diff(before, b.picture()); d != "" {
					t.Fatalf("saving changed the worktree (-before +after):\n%s", d)
				}
				b.roundTrip(sel)
				for _, path := range []string{"st", "large", "link", "sub/one.crlf", "sub/two.auto", "sub/.gitattributes", "committed"} {
					b.Git("cat-file", "-e", saved.Commit+":staged/"+path)
				}
			})
		}
	}
}

// TestLostObjectsAreNamed: the content of a staged file is neither in the repository nor in
// the file. The snapshot fails and names it.
func TestLostObjectsAreNamed(t *testing.T) {
	t.Parallel()
	for name, how := range spoils {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.open()
			b.file("unc", "precious\n")
			b.file("st", "staged\n")
			b.git("add", "st")
			b.file("st", "and changed\n")
			b.spoil(":st", how)
			before := b.picture()
			saved, err := snapshot.Save(context.Background(), b.tree, snapshot.Selection{Pin: func(string) error {
				t.Error("a snapshot without what is staged is pinned")
				return nil
			}})
			missing, ok := errors.AsType[*object.MissingError](err)
			if !ok || missing.Path != "st" {
				t.Errorf("Save = %+v, %v, want the missing object of st", saved, err)
			}
			if d := cmp.Diff(before, b.picture()); d != "" {
				t.Errorf("the worktree was changed (-before +after):\n%s", d)
			}
		})
	}
}

// TestLastSnapshotThatLacksAnObject: if the files have not changed since the last snapshot,
// that snapshot is returned, but not if one of its objects was deleted.
func TestLastSnapshotThatLacksAnObject(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.open()
	b.file("unc", "precious\n")
	first, err := snapshot.Save(t.Context(), b.tree, snapshot.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	b.Git("update-ref", "refs/croft/first", first.Commit)
	again := func() string {
		t.Helper()
		saved, err := snapshot.Save(t.Context(), b.tree, snapshot.Selection{Message: "again", Last: []snapshot.Last{{Commit: first.Commit}}, Pin: func(commit string) error {
			b.Git("update-ref", "refs/croft/again", commit)
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		return saved.Commit
	}
	if got := again(); got != first.Commit {
		t.Errorf("nothing has changed, and %s was saved besides %s", got, first.Commit)
	}
	b.spoil(b.git("hash-object", "unc"), os.Remove)
	if got := again(); got == first.Commit {
		t.Error("a snapshot without a file counts")
	}
	b.Git("fsck", "--no-dangling")
}
