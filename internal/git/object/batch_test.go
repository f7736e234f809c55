package object

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/git/gittest"
)

// storeOf is the store of a test's repository.
func storeOf(r *gittest.Repo) Store { return Store{CommonDir: filepath.Join(r.Dir, ".git")} }

// filesIn lists the files of a repository's object store.
func filesIn(t *testing.T, r *gittest.Repo, pattern string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(r.Dir, ".git", "objects", pattern))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestBatchOfMegabytes: objects that do not fit into memory become several packs.
func TestBatchOfMegabytes(t *testing.T) {
	r := gittest.New(t)
	b := NewPackBatch(storeOf(r))
	defer b.Discard()
	b.pack.size = packMemory // as if that much had been written
	var oids []string
	for _, text := range []string{"one", "two", "three"} {
		oid, err := b.WriteBlob([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		oids = append(oids, oid)
	}
	if err := b.Flush(); err != nil {
		t.Fatal(err)
	}
	if packs := filesIn(t, r, "pack/*.pack"); len(packs) != 2 {
		t.Errorf("packs: %v, want two", packs)
	}
	for _, oid := range oids {
		if _, err := r.TryGit(r.Dir, "cat-file", "-e", oid); err != nil {
			t.Error(err)
		}
	}
}

// TestBatchDiscarded: Discard leaves no file.
func TestBatchDiscarded(t *testing.T) {
	r := gittest.New(t)
	before := filesIn(t, r, "*/*")
	b := NewPackBatch(storeOf(r))
	b.pack.size = packMemory
	for _, size := range []int{1, 10, PackLimit + 1} {
		if _, err := b.WriteBlob(bytes.Repeat([]byte("x"), size)); err != nil {
			t.Fatal(err)
		}
	}
	if staged := filesIn(t, r, "pack/tmp_*"); len(staged) != 2 {
		t.Fatalf("staged: %v", staged)
	}
	b.Discard()
	if after := filesIn(t, r, "*/*"); !slices.Equal(before, after) || len(filesIn(t, r, "tmp_*")) > 0 {
		t.Errorf("left: %v, before %v", after, before)
	}
}

// TestWriteBlobUnless stores no object that exists.
func TestWriteBlobUnless(t *testing.T) {
	r := gittest.New(t)
	b := NewPackBatch(storeOf(r))
	defer b.Discard()
	for _, size := range []int{3, PackLimit + 1} {
		data := strings.Repeat("x", size)
		oid, err := b.WriteBlobUnless("", strings.NewReader(data), int64(size))
		if err != nil {
			t.Fatal(err)
		}
		b.Discard()
		if again, err := b.WriteBlobUnless(oid, strings.NewReader(data), int64(size)); err != nil || again != oid {
			t.Errorf("%d bytes: %q, %v, want %q", size, again, err, oid)
		}
		if len(b.loose)+len(b.pack.entries) > 0 {
			t.Errorf("%d bytes were staged", size)
		}
	}
	if _, err := b.WriteBlobFrom(strings.NewReader("short"), 6); err == nil {
		t.Error("a file that shrank was stored")
	}
	if _, err := b.WriteBlobFrom(strings.NewReader("longer"), 5); err == nil {
		t.Error("a file that grew was stored")
	}
}
