package servicetest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft"
)

// localSwarmScenarios need a shared disk.
type localSwarmScenarios struct{}

func (localSwarmScenarios) FullCleanupKeepsForeign(t *testing.T, f *fixture) {
	f.create(swarm("researcher", "1"))
	mine := filepath.Join(f.Dir, ".worktrees", "notes.txt")
	f.write(mine, "mine")
	// A worktree of the user's on a disk that is not mounted.
	disk := filepath.Join(f.Home, "disk")
	f.Git("worktree", "add", "--quiet", filepath.Join(disk, "own"))
	must(t, os.Rename(disk, disk+".away"))
	must(t, errOf(f.Clean(t.Context(), croft.CleanRequest{All: croft.ScopeAll})))
	must(t, errOf(f.GC(t.Context(), croft.GCRequest{})))
	must(t, os.Rename(disk+".away", disk))
	if got := f.GitIn(filepath.Join(disk, "own"), "rev-parse", "--abbrev-ref", "HEAD"); got != "own" {
		t.Errorf("the user's worktree is on %q", got)
	}
	f.wantFile(mine, "mine")
}
