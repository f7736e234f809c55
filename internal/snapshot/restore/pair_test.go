//go:build unix

package restore

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft/internal/fsx"
)

// TestPairBehindLink: an agent has put a link in the path to which files of a directory
// have to be moved back. Each of them fails with an error, not only the first.
func TestPairBehindLink(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	err := errors.Join(os.Mkdir(filepath.Join(from, "d"), 0o700), os.Symlink(from, filepath.Join(to, "d")))
	if err != nil {
		t.Fatal(err)
	}
	a, err := fsx.OpenDir(from)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := fsx.OpenDir(to)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	var p pair
	defer p.close()
	for i := range 2 {
		if err := p.open("d", a, b); !errors.Is(err, fsx.ErrLink) {
			t.Errorf("time %d: %v, with %v and %v", i, err, p.from, p.to)
		}
	}
}
