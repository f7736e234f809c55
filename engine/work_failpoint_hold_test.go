//go:build failpoints

package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// holders are the acts that hold the index of a workspace, in both modes.
func holders(mode croft.Mode, act string) func(t *testing.T) (*gittest.Repo, task) {
	return func(t *testing.T) (*gittest.Repo, task) {
		r := gittest.New(t)
		var job task
		brief(t, r, func(e *engine.Engine) {
			w := create(t, e, croft.CreateRequest{Name: "a", Mode: mode})
			gittest.WriteFile(t, filepath.Join(w.Path, "work.txt"), "work\n")
			switch act {
			case "Finish":
				job.Finish = &croft.FinishRequest{Workspace: "a", Policy: croft.MergeNever}
			case "Resolve":
				r.Write("README.md", "main\n")
				r.Commit("main goes on")
				gittest.WriteFile(t, filepath.Join(w.Path, "README.md"), "work\n")
				job.Resolve = &croft.MergeRequest{Workspace: "a"}
			case "Rewind":
				snap, err := e.TakeSnapshot(t.Context(), croft.SnapshotRequest{Workspace: "a"})
				if err != nil {
					t.Fatal(err)
				}
				gittest.WriteFile(t, filepath.Join(w.Path, "work.txt"), "more work\n")
				job.Restore = &croft.RestoreRequest{Ref: string(snap.ID)}
			}
		})
		return r, job
	}
}

// TestKilledHolder kills acts that hold the index of a workspace, at every point. The next
// command, whichever it is, removes the lock, and the act can be done again.
func TestKilledHolder(t *testing.T) {
	for _, mode := range []croft.Mode{croft.ModeWorktree, croft.ModeIsolated} {
		for _, act := range []string{"Finish", "Resolve", "Rewind"} {
			t.Run(string(mode)+act, func(t *testing.T) {
				t.Parallel()
				each := eachPoint
				if act == "Rewind" {
					each = fewPoints
				}
				each(t, holders(mode, act), func(t *testing.T, r *gittest.Repo, job task, n int) {
					killed(t, helper(t, r, job, fmt.Sprintf("CROFT_FAILPOINT=kill=#%d", n)))
					e := engineIn(t, r, 0)
					gc(t, e)
					wantUnlocked(t, r)
					w := show(t, e, "a")
					r.GitIn(w.Path, "add", "--all")
					if _, err := run(t, helper(t, r, task{Finish: &croft.FinishRequest{Workspace: "a", Policy: croft.MergeNever}})); err != nil && act != "Resolve" {
						t.Errorf("finish afterwards: %v", err)
					}
					wantUnlocked(t, r)
					r.Git("fsck", "--strict", "--no-dangling")
				})
			})
		}
	}
}

// wantUnlocked fails if an index is locked, or the temporary file of such a lock is left:
// in the repository, in its workspaces, or in Croft's state.
func wantUnlocked(t *testing.T, r *gittest.Repo) {
	t.Helper()
	for _, dir := range []string{filepath.Dir(r.Dir), stateDir(r)} {
		_ = filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
			if err == nil && strings.HasPrefix(filepath.Base(path), "index.lock") {
				t.Errorf("a lock is left: %s", path)
			}
			return nil
		})
	}
}
