package servicetest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

// localTrashUpkeepScenarios need a shared disk.
type localTrashUpkeepScenarios struct{}

func (localTrashUpkeepScenarios) Sizes(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.write(filepath.Join(w.Path, "wip", "large.bin"), strings.Repeat("x", 100_000))
	f.removeForced("a")
	var bytes, inodes int64
	for _, path := range f.tree(f.inTrash(w.ID), "") {
		inodes++
		if mode, err := f.host.Stat(path); err == nil && mode.IsRegular() {
			bytes += int64(len(f.read(path)))
		}
	}
	for range 2 { // the first time measured, the second time from the record
		if got := trashOf(t, f); got.Bytes != bytes || got.Inodes != inodes || got.Left != croft.LeftDirectory || bytes < 100_000 {
			t.Errorf("%d bytes and %d inodes, want %d and %d: %+v", got.Bytes, got.Inodes, bytes, inodes, got)
		}
	}
	// Another removal of the same workspace is measured again.
	f.restore("a")
	f.delete(filepath.Join(w.Path, "wip"))
	f.removed("a")
	if got := trashOf(t, f); got.Bytes >= bytes || got.Inodes != inodes-2 {
		t.Errorf("after it had become smaller: %+v", got)
	}
}
