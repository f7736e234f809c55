package git

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestStoredAgainIsYoung: who stores an object that is there already leaves the
// file, and makes it young: a gc of the user's deletes old objects that nothing
// names yet. A file that a power cut left empty is no object.
func TestStoredAgainIsYoung(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	store := func() os.FileInfo {
		t.Helper()
		oid, err := repo.WriteBlob([]byte("twice"))
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Git("cat-file", "blob", oid); got != "twice" {
			t.Errorf("it is %q", got)
		}
		info, err := os.Stat(repo.loosePath(oid))
		if err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(-30 * 24 * time.Hour)
		if err := os.Chtimes(repo.loosePath(oid), old, old); err != nil {
			t.Fatal(err)
		}
		return info
	}
	first, again := store(), store()
	if !os.SameFile(first, again) {
		t.Error("the file was written again")
	}
	if time.Since(again.ModTime()) > time.Hour {
		t.Errorf("it is from %v", again.ModTime())
	}
	path := repo.loosePath(r.Git("hash-object", "-w", "README.md"))
	text := readFile(t, filepath.Join(r.Dir, "README.md"))
	if err := errors.Join(os.Chmod(path, 0o644), os.Truncate(path, 0)); err != nil {
		t.Fatal(err)
	}
	if oid, err := repo.WriteBlob([]byte(text)); err != nil || repo.loosePath(oid) != path || r.Git("cat-file", "blob", oid)+"\n" != text {
		t.Errorf("%s, %v", oid, err)
	}
}
