//go:build unix

package git

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/croft-sh/croft/internal/fsx"
)

// TestStoreTakesFilesOnly: a link or a pipe among the project's objects is neither followed
// nor opened.
func TestStoreTakesFilesOnly(t *testing.T) {
	r, dir, _ := packed(t)
	repo := openAt(t, r, dir)
	pack := filepath.Join(repo.CommonDir, "objects", "pack", "pack-0000000000000000000000000000000000000000.pack")
	for name, plant := range map[string]func() error{
		"pipe": func() error { return unix.Mkfifo(pack, 0o600) },
		"link": func() error { return os.Symlink("/etc/passwd", pack) },
	} {
		if err := plant(); err != nil {
			t.Fatal(err)
		}
		if _, err := repo.AssignStore(t.Context(), "croft-a"); !errors.Is(err, fsx.ErrNotRegular) {
			t.Errorf("%s: %v", name, err)
		}
		if found, err := repo.VerifyObjects(t.Context()); err != nil || len(found) != 1 || found[0].File != pack {
			t.Errorf("%s: found %v, %v", name, found, err)
		}
		if err := os.Remove(pack); err != nil {
			t.Fatal(err)
		}
	}
}
