package uninstall

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestUninstallReportsWhatStayed: the repository's records are already deleted when Croft's
// own files are deleted. A file that cannot be deleted is reported as left, not as removed.
func TestUninstallReportsWhatStayed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	held, free := filepath.Join(dir, "held"), filepath.Join(dir, "free")
	for _, place := range []string{held, free} {
		gittest.WriteFile(t, filepath.Join(place, "lock"), "")
	}
	l, err := flock.Try(filepath.Join(held, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Unlock()
	p := &uninstallPlan{checks: []string{held, free}}
	p.Files = []string{held, free}
	p.removeOwn()
	if !slices.Equal(p.Files, []string{free}) || !slices.Equal(p.Left, []croft.Left{{Kind: croft.LeftUnknown, Path: held}}) {
		t.Errorf("removed is %q, left is %+v", p.Files, p.Left)
	}
}
