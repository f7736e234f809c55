package doctor

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft/internal/flock"
)

// TestRemoveLock: the lock file of an operation that has ended is removed, and it is no failure if
// the operation's own process was faster.
func TestRemoveLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "op.lock")
	l, err := flock.Try(path)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := removeLock(l.File().Name()); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
	}
	if err := l.Unlock(); err != nil {
		t.Error(err)
	}
	if err := removeLock(filepath.Join(path, "below")); err != nil {
		t.Error(err)
	}
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := removeLock(full); err == nil {
		t.Error("what cannot be removed is no failure")
	}
}
