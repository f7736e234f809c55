package servicetest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/croft-sh/croft"
)

// localResolveScenarios need a shared disk.
type localResolveScenarios struct{}

// StagedUnresolved: files that are staged as the merge left them are not resolved.
func (localResolveScenarios) StagedUnresolved(t *testing.T, f *fixture) {
	w := inConflict(t, f)
	f.GitIn(w.Path, "add", "--all")
	f.stillIn(allConflicts...)
	text, err := f.host.Read(filepath.Join(w.Path, conflictWide))
	must(t, err)
	for _, name := range []string{conflictText, conflictBinary, conflictTheirs} {
		f.writeIn(w, name, "both\n")
	}
	f.writeIn(w, conflictWide, "more\n"+string(text))
	f.GitIn(w.Path, "add", "--all")
	f.stillIn(conflictMine, conflictWide)
	f.writeIn(w, conflictWide, "both\n")
	must(t, os.Chtimes(filepath.Join(w.Path, conflictMine), time.Time{}, time.Now().Add(time.Second)))
	m := f.mustMerge(croft.MergeRequest{Workspace: "a"})
	if got := f.Git("ls-tree", "--name-only", m.Commit, conflictMine); got != conflictMine {
		t.Errorf("what was touched to be kept is gone: %q", got)
	}
}
