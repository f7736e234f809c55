package worktree_test

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/checkout/checkouttest"
	"github.com/croft-sh/croft/internal/checkout/worktree"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/walk"
)

// filled is a worktree whose files git has just written, of a commit with some files.
func filled(t *testing.T, write func(r *gittest.Repo)) (checkouttest.Fixture, *worktree.Checkouts) {
	t.Helper()
	f, c := fixture(t, true)
	write(f.Repo)
	f.Repo.Commit("files")
	f.Spec.Base = f.Repo.Git("rev-parse", "HEAD")
	if err := c.Prepare(t.Context(), f.Spec); err != nil {
		t.Fatal(err)
	}
	if err := c.Fill(t.Context(), f.Spec); err != nil {
		t.Fatal(err)
	}
	return f, c
}

func oneFile(r *gittest.Repo) { r.Write("a.txt", "good\n") }

// TestVerifySettles: a checkout that git has written within a second is handed out with an index that proves of each file
// that it is as it is staged, whatever kinds of files there are, so that no status reads them again.
func TestVerifySettles(t *testing.T) {
	t.Parallel()
	f, c := filled(t, func(r *gittest.Repo) {
		for i := range 200 {
			r.Write(fmt.Sprintf("dir%d/file%d", i%7, i), fmt.Sprint("text ", i, "\n"))
		}
		r.Write("empty", "")
		r.Write("run.sh", "#!/bin/sh\n")
		r.Write("dos.txt", "one\r\ntwo\r\n")
		r.Write(".gitattributes", "*.png -diff\n*.gen linguist-generated\n")
		if err := errors.Join(os.Chmod(filepath.Join(r.Dir, "run.sh"), 0o755), os.Symlink("run.sh", filepath.Join(r.Dir, "link"))); err != nil {
			t.Fatal(err)
		}
	})
	look := func() *walk.Seen {
		seen, err := walk.Look(walk.Request{Work: f.Spec.Path, Index: filepath.Join(c.At(f.Spec).Admin, "index"), Format: object.Format("sha1")})
		if err != nil || !seen.IsWhole || len(seen.Unknown) > 0 {
			t.Fatalf("%+v, %v", seen, err)
		}
		return seen
	}
	times := func() (list []time.Time) {
		for _, name := range []string{"run.sh", "link", "dir1/file1"} {
			info, err := os.Lstat(filepath.Join(f.Spec.Path, name))
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, info.ModTime())
		}
		return list
	}
	before := times()
	if notes, err := c.Verify(t.Context(), f.Spec); err != nil || len(notes) > 0 {
		t.Fatalf("notes %q, %v", notes, err)
	}
	for i, now := range times() { // otherwise it depends on the second in which the index is written
		if older := before[i].Sub(now); older < 2*time.Second || older > 4*time.Second {
			t.Errorf("a file is %s older than before", older)
		}
	}
	if after := look(); len(after.Changed) > 0 {
		t.Errorf("%d files have to be read again, the first %s", len(after.Changed), after.Changed[0].Entry.Path)
	}
	if got := f.Repo.GitIn(f.Spec.Path, "status", "--porcelain"); got != "" {
		t.Errorf("status %q", got)
	}
	f.Repo.GitIn(f.Spec.Path, "diff-files", "--quiet") // it compares stat data only
	if err := os.WriteFile(filepath.Join(f.Spec.Path, "dir1/file1"), []byte("TEXT 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := f.Repo.GitIn(f.Spec.Path, "status", "--porcelain"); got != " M dir1/file1" {
		t.Errorf("status %q after an edit of the same size", got)
	}
}

// TestVerifyReadsContents: a file whose content is not the staged one is told, although its stat data are those that git
// noted when it wrote it, as where somebody exchanged the object.
func TestVerifyReadsContents(t *testing.T) {
	t.Parallel()
	f, c := fixture(t, true)
	f.Repo.Write("a.txt", "good\n")
	f.Repo.Write("b.txt", "other\n")
	f.Repo.Commit("files")
	f.Spec.Base = f.Repo.Git("rev-parse", "HEAD")
	oid := f.Repo.Git("rev-parse", "HEAD:a.txt")
	forged := filepath.Join(f.Repo.Dir, ".git", "objects", oid[:2], oid[2:])
	var text bytes.Buffer
	z := zlib.NewWriter(&text)
	fmt.Fprintf(z, "blob 5\x00evil\n")
	_ = z.Close()
	if err := os.Chmod(forged, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(forged, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Prepare(t.Context(), f.Spec); err != nil {
		t.Fatal(err)
	}
	if err := c.Fill(t.Context(), f.Spec); err != nil {
		return // this git notices itself
	}
	if got, err := os.ReadFile(filepath.Join(f.Spec.Path, "a.txt")); err != nil || string(got) != "evil\n" {
		t.Fatalf("%q, %v: the object was not forged", got, err)
	}
	if notes, err := c.Verify(t.Context(), f.Spec); err == nil && len(notes) == 0 {
		t.Error("nothing was remarked about a file that is not as it is staged")
	}
}

// TestVerifyBeforeTheIndex: what is written while git writes the files is seen, although git wrote its index in the next second.
func TestVerifyBeforeTheIndex(t *testing.T) {
	t.Parallel()
	f, c := filled(t, oneFile)
	path := filepath.Join(f.Spec.Path, "a.txt")
	if err := os.WriteFile(path, []byte("evil\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	was, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	index := f.Repo.GitIn(f.Spec.Path, "rev-parse", "--path-format=absolute", "--git-path", "index")
	if err := os.Chtimes(index, was.ModTime(), was.ModTime().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if notes, err := c.Verify(t.Context(), f.Spec); err == nil && len(notes) == 0 {
		t.Error("nothing was remarked about a file that was changed")
	}
	if got := f.Repo.GitIn(f.Spec.Path, "status", "--porcelain"); got != " M a.txt" {
		t.Errorf("status %q", got)
	}
}

// TestVerifyBetween: what is written while a checkout is made is seen: also of the same size, and with the time as before.
func TestVerifyBetween(t *testing.T) {
	t.Parallel()
	f, c := filled(t, oneFile)
	path := filepath.Join(f.Spec.Path, "a.txt")
	was, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("evil\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, was.ModTime(), was.ModTime()); err != nil {
		t.Fatal(err)
	}
	if notes, err := c.Verify(t.Context(), f.Spec); err == nil && len(notes) == 0 {
		t.Error("nothing was remarked about a file that was changed")
	}
	if err := os.WriteFile(filepath.Join(f.Spec.Path, "new.txt"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Verify(t.Context(), f.Spec); !strings.Contains(fmt.Sprint(err), checkout.ErrDiffers.Error()) {
		t.Errorf("%v, want that it differs", err)
	}
}
