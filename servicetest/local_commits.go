package servicetest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft"
)

// localCommitScenarios need a shared disk.
type localCommitScenarios struct{}

// LinkInstead: a directory with an assume-unchanged file that was replaced by a link to
// itself is committed as a link.
func (localCommitScenarios) LinkInstead(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.GitIn(w.Path, "update-index", "--assume-unchanged", "src/main.txt")
	must(t, errors.Join(os.RemoveAll(filepath.Join(w.Path, "src")), os.Symlink("src", filepath.Join(w.Path, "src"))))
	m := f.finish("a")
	if got := f.Git("diff", "--name-status", w.Base, m.Head); got != "A\tsrc\nD\tsrc/main.txt" {
		t.Errorf("committed:\n%s", got)
	}
}
