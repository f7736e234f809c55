//go:build unix

package fsx_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/croft-sh/croft/internal/fsx"
)

func TestReadFileTakesRegularFilesOnly(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	link, pipe := filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	if err := errors.Join(os.Symlink(file, link), unix.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	if b, err := fsx.ReadFile(file, 4); err != nil || string(b) != "text" {
		t.Errorf("a file of the largest size = %q, %v", b, err)
	}
	if _, err := fsx.ReadFile(file, 3); !errors.Is(err, fsx.ErrTooLarge) {
		t.Errorf("a file over the limit: %v", err)
	}
	for _, path := range []string{link, pipe, dir, os.DevNull} {
		if _, err := fsx.ReadFile(path, 100); !errors.Is(err, fsx.ErrNotRegular) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := fsx.ReadFile(filepath.Join(dir, "none"), 1); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("nothing: %v", err)
	}
}

// birthGrain is more than one tick of the clock by which kernels set times of files.
const birthGrain = 15 * time.Millisecond

func TestIdentityOfADirectoryMadeAgainIsAnother(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d")
	seen := map[fsx.Identity]bool{}
	for range 5 {
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		id, err := fsx.IdentityOf(path)
		if err != nil || !id.IsAt(path) {
			t.Fatal(id, err)
		}
		if !id.HasBirth() {
			t.Skip("this file system keeps no times of birth")
		}
		if seen[id] {
			t.Fatalf("%s came back", id)
		}
		seen[id] = true
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		time.Sleep(birthGrain)
	}
	if fsx.Identity("").IsAt(path) || fsx.Identity("").IsAt(filepath.Dir(path)) {
		t.Error("something has the identity of nothing")
	}
}
