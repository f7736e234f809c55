package odb

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/object"
)

// filesIn lists the files of a repository's object store.
func filesIn(t *testing.T, r *gittest.Repo, pattern string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(r.Dir, ".git", "objects", pattern))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestBatch: many small objects become one pack that git can read, a large one becomes a
// loose file, and nothing is visible before Flush.
func TestBatch(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			r := gittest.Empty(t)
			if err := os.RemoveAll(filepath.Join(r.Dir, ".git")); err != nil {
				t.Fatal(err)
			}
			r.Git("init", "--quiet", "--object-format="+format)
			repo := open(t, r)
			b := repo.PackBatch()
			want := map[string][]byte{}
			var entries []object.TreeEntry
			for i := range 300 {
				data := bytes.Repeat(fmt.Appendf(nil, "line %d\n", i), i*i/10)
				if i == 0 {
					data = make([]byte, object.PackLimit+1)
				}
				oid, err := b.WriteBlob(data)
				if err != nil {
					t.Fatal(err)
				}
				want[oid] = data
				entries = append(entries, object.TreeEntry{Mode: "100644", Name: fmt.Sprint(i), OID: oid})
			}
			tree, err := b.WriteTree(entries)
			if err != nil {
				t.Fatal(err)
			}
			commit, err := b.WriteCommit(object.Commit{Tree: tree, Signature: "A <a@example.com> 1 +0000", Message: "many"})
			if err != nil {
				t.Fatal(err)
			}
			if got := slices.Concat(filesIn(t, r, "pack/pack-*"), filesIn(t, r, "??/*")); len(got) > 0 {
				t.Fatalf("before Flush there is %v", got)
			}
			if err := b.Flush(); err != nil {
				t.Fatal(err)
			}
			r.Git("update-ref", "refs/heads/kept", commit)
			b.Discard()
			for oid, data := range want {
				if o, err := repo.Read(t.Context(), oid); err != nil || !bytes.Equal(o.Data, data) {
					t.Fatalf("%s: %d bytes, %v, want %d", oid, len(o.Data), err, len(data))
				}
			}
			if packs := filesIn(t, r, "pack/*.pack"); len(packs) != 1 {
				t.Errorf("packs: %v, want one", packs)
			}
			if got := filesIn(t, r, "pack/*"); len(got) != 2 {
				t.Errorf("beside the objects: %v", got)
			}
			if loose := filesIn(t, r, "??/*"); len(loose) != 1 {
				t.Errorf("%d loose objects, want the large one", len(loose))
			}
			if got := r.Git("fsck", "--full", "--strict"); got != "" {
				t.Errorf("git fsck: %s", got)
			}
			r.Git("gc", "--quiet", "--prune=now")
			if got := r.Git("cat-file", "-p", "kept:7"); got != strings.TrimSuffix(string(bytes.Repeat([]byte("line 7\n"), 4)), "\n") {
				t.Errorf("after a gc: %q", got)
			}
		})
	}
}

// TestBatchRepacked: a repack by another process, between the writing of objects and of the
// ref that names them, does not delete them.
func TestBatchRepacked(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	b := repo.PackBatch()
	oid, err := b.WriteBlob([]byte("not named yet"))
	if err == nil {
		_, err = b.WriteBlob([]byte("nor this"))
	}
	if err == nil {
		err = b.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	r.Git("repack", "-a", "-d", "--quiet")
	r.Git("update-ref", "refs/croft/x", oid)
	b.Discard()
	r.Git("repack", "-a", "-d", "--quiet")
	if got := r.Git("cat-file", "-p", oid); got != "not named yet" {
		t.Errorf("the object is %q", got)
	}
}

// TestBatchesOfTheSame: two batches write the same objects at once. Each keeps them until
// it is discarded itself.
func TestBatchesOfTheSame(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	var batches []*object.Batch
	for range 2 {
		b := repo.PackBatch()
		for i := range 20 {
			if _, err := b.WriteBlob(fmt.Appendf(nil, "the same %d\n", i)); err != nil {
				t.Fatal(err)
			}
		}
		batches = append(batches, b)
	}
	for _, b := range batches {
		if err := b.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	for left, b := range batches {
		if keeps := filesIn(t, r, "pack/*.keep"); len(keeps) != len(batches)-left {
			t.Errorf("%d let go, and these are left: %q", left, keeps)
		}
		b.Discard()
	}
	r.Git("fsck", "--strict")
}

// TestJoinPacks: many packs become few, and every object stays.
func TestJoinPacks(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	var oids []string
	for i := range manyPacks + 1 {
		b := repo.PackBatch()
		oid, err := b.WriteBlob(fmt.Appendf(nil, "nothing names object %d", i))
		if err == nil {
			err = b.Flush()
		}
		if err != nil {
			t.Fatal(err)
		}
		oids = append(oids, oid)
		if i == 0 { // as if the process had been killed long ago
			if err := os.Chtimes(filesIn(t, r, "pack/*.keep")[0], time.Time{}, time.Now().Add(-2*keptTime)); err != nil {
				t.Fatal(err)
			}
			continue
		}
		b.Discard()
	}
	foreign := strings.TrimSuffix(filesIn(t, r, "pack/*.pack")[manyPacks/2], ".pack") + ".keep"
	gittest.WriteFile(t, foreign, "somebody else's\n")
	if err := os.Chtimes(foreign, time.Time{}, time.Now().Add(-2*keptTime)); err != nil {
		t.Fatal(err)
	}
	if err := repo.JoinPacks(t.Context(), AllPacks); err != nil {
		t.Fatal(err)
	}
	if n := len(filesIn(t, r, "pack/*.pack")); n != manyPacks+1 {
		t.Fatalf("%d packs, want none joined while there are not too many", n)
	}
	if got := filesIn(t, r, "pack/*.keep"); !slices.Equal(got, []string{foreign}) {
		t.Errorf("packs are kept by %v", got)
	}
	if err := os.Remove(foreign); err != nil {
		t.Fatal(err)
	}
	if err := repo.JoinPacks(t.Context(), AllPacks); err != nil {
		t.Fatal(err)
	}
	if n := len(filesIn(t, r, "pack/*.pack")); n != manyPacks+2 || repo.hasManyPacks() {
		t.Errorf("%d packs, want one more, and the others until nobody uses them", n)
	}
	forget(t, repo)
	if n := len(filesIn(t, r, "pack/*.pack")); n != 1 {
		t.Errorf("%d packs are left", n)
	}
	for _, oid := range oids {
		if _, err := repo.Info(t.Context(), oid); err != nil {
			t.Error(err)
		}
	}
}

// TestJoinedPackWrittenAgain: a pack that was joined and that another process has written
// again since stays, because its objects may exist nowhere else.
func TestJoinedPackWrittenAgain(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	r.Git("gc", "--quiet")
	packs := filesIn(t, r, "pack/*.pack")
	gittest.WriteFile(t, repo.replacedFile(), filepath.Base(packs[0])+"\n")
	long := time.Now().Add(-2 * replacedTime)
	if err := os.Chtimes(repo.replacedFile(), long, long); err != nil {
		t.Fatal(err)
	}
	if !repo.deleteReplaced() || !slices.Equal(filesIn(t, r, "pack/*.pack"), packs) {
		t.Error("the pack is gone, or it is still to be removed")
	}
	r.Git("fsck")
}

// forget has packs deleted that were joined.
func forget(t *testing.T, repo *Repository) {
	t.Helper()
	long := time.Now().Add(-2 * replacedTime)
	for _, name := range repo.replaced() {
		if err := os.Chtimes(filepath.Join(repo.packDir(), name), long, long); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(repo.replacedFile(), long, long); err != nil {
		t.Fatal(err)
	}
	if err := repo.JoinPacks(t.Context(), SmallPacks); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(repo.replacedFile()); err == nil {
		t.Error("it is still known which packs were joined")
	}
}

// TestPackLoose: many loose objects are packed, except for young ones, and every object
// stays.
func TestPackLoose(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	b := repo.Batch()
	defer b.Discard()
	var oids []string
	for i := range manyLoose + 1 {
		oid, err := b.WriteBlob(fmt.Appendf(nil, "nothing names object %d", i))
		if err != nil {
			t.Fatal(err)
		}
		oids = append(oids, oid)
	}
	if err := b.Flush(); err != nil {
		t.Fatal(err)
	}
	tidy := func(want int) {
		t.Helper()
		if err := repo.JoinPacks(t.Context(), AllPacks); err != nil {
			t.Fatal(err)
		}
		if n := len(filesIn(t, r, "pack/*.pack")); n != want {
			t.Errorf("%d packs, want %d", n, want)
		}
	}
	tidy(0)
	long := time.Now().Add(-2 * keptTime)
	for _, oid := range oids {
		if err := os.Chtimes(repo.Store().LoosePath(oid), long, long); err != nil {
			t.Fatal(err)
		}
	}
	young := len(filesIn(t, r, "??/*")) - len(oids)
	tidy(1)
	if n := len(filesIn(t, r, "??/*")); n != young {
		t.Errorf("%d objects have a file, want %d", n, young)
	}
	for _, oid := range oids {
		if _, err := repo.Info(t.Context(), oid); err != nil {
			t.Fatal(err)
		}
	}
}

// TestJoinSmallPacks: joining small packs leaves a large one as it is.
func TestJoinSmallPacks(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	write := func(objects int, text []byte) {
		t.Helper()
		b := repo.PackBatch()
		defer b.Discard()
		for i := range objects {
			if _, err := rand.Read(text); err != nil { // so that it cannot be compressed
				t.Fatal(err)
			}
			if _, err := b.WriteBlob(fmt.Appendf(text, "%d", i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(repo.CommonDir, "objects", "pack")); err != nil {
		t.Fatal(err)
	}
	if err := repo.JoinPacks(t.Context(), AllPacks); err != nil || repo.hasManyPacks() {
		t.Errorf("without a directory of packs: %v, many: %v", err, repo.hasManyPacks())
	}
	write(9, make([]byte, 1<<19))
	large := filesIn(t, r, "pack/*.pack")
	write(1, make([]byte, object.PackLimit+1)) // has a file of its own
	alone := filesIn(t, r, "??/*")
	for range manyPacks - 1 {
		write(1, make([]byte, 100))
	}
	if repo.hasManyPacks() {
		t.Error("there are not many packs yet")
	}
	write(1, make([]byte, 100))
	if !repo.hasManyPacks() {
		t.Error("there are many packs")
	}
	if err := repo.JoinPacks(t.Context(), SmallPacks); err != nil {
		t.Fatal(err)
	}
	if n := len(filesIn(t, r, "pack/*.pack")); n != manyPacks+1 {
		t.Errorf("%d packs, want none joined while not too many are small", n)
	}
	write(1, make([]byte, 100))
	if err := repo.JoinPacks(t.Context(), SmallPacks); err != nil {
		t.Fatal(err)
	}
	forget(t, repo)
	if got := filesIn(t, r, "pack/*.pack"); len(got) != 2 || !slices.Contains(got, large[0]) {
		t.Errorf("the packs are %v, want %v and one of the rest", got, large)
	}
	if got := filesIn(t, r, "??/*"); !slices.Equal(got, alone) {
		t.Errorf("objects that have a file are %v, were %v", got, alone)
	}
	r.Git("fsck", "--full", "--strict")
}
