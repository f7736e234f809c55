package git

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestStoringAgainFreshensObject: storing an object that exists keeps its file and gives it
// a new time, because the user's git gc deletes old objects that nothing names yet. An
// empty file, which a power cut may leave, does not count as the object.
func TestStoringAgainFreshensObject(t *testing.T) {
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
		info, err := os.Stat(repo.Store().LoosePath(oid))
		if err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(-30 * 24 * time.Hour)
		if err := os.Chtimes(repo.Store().LoosePath(oid), old, old); err != nil {
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
	path := repo.Store().LoosePath(r.Git("hash-object", "-w", "README.md"))
	text := readFile(t, filepath.Join(r.Dir, "README.md"))
	if err := errors.Join(os.Chmod(path, 0o644), os.Truncate(path, 0)); err != nil {
		t.Fatal(err)
	}
	if oid, err := repo.WriteBlob([]byte(text)); err != nil || repo.Store().LoosePath(oid) != path || r.Git("cat-file", "blob", oid)+"\n" != text {
		t.Errorf("%s, %v", oid, err)
	}
}

// TestPlaceBesideGC: git gc deletes empty directories of objects, also those that a batch
// has just made for its objects.
func TestPlaceBesideGC(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	objects := filepath.Join(r.Dir, ".git", "objects")
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			for i := range 256 {
				select {
				case <-stop:
					return
				default:
					_ = os.Remove(filepath.Join(objects, fmt.Sprintf("%02x", i))) // fails if it is not empty
				}
			}
		}
	}()
	for i := range 200 {
		b := repo.Batch()
		oid, err := b.WriteBlob([]byte(fmt.Sprint("blob ", i)))
		if err == nil {
			err = b.Flush()
		}
		b.Discard()
		if err != nil {
			t.Errorf("blob %d: %v", i, err)
			break
		}
		if err := os.Remove(filepath.Join(objects, oid[:2], oid[2:])); err != nil { // so that the next round finds no directory
			t.Error(err)
		}
	}
	close(stop)
	<-ended
}
