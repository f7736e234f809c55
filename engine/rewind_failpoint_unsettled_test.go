//go:build failpoints

package engine_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestUnsettledRewindIsSavedOnce: a rewind died, and can be neither finished nor rolled
// back, because the branch is checked out elsewhere. However many commands try to recover
// it, the workspace's files are saved once, and again only after they have changed. The
// workspace's status says that its files are being put back, and why that fails.
func TestUnsettledRewindIsSavedOnce(t *testing.T) {
	for _, point := range []string{"rewind.begun", "snapshot.rewind"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			e := engineIn(t, r, 0)
			w := create(t, e, croft.CreateRequest{Name: "a"})
			gittest.WriteFile(t, filepath.Join(r.Dir, ".git", "info", "exclude"), ".env\n")
			gittest.WriteFile(t, filepath.Join(w.Path, ".env"), "KEY=1\n")
			gittest.WriteFile(t, filepath.Join(w.Path, "f"), "one\n")
			snap := snapshotOf(t, e, "a")
			gittest.WriteFile(t, filepath.Join(w.Path, "f"), "two\n")
			r.GitIn(w.Path, "commit", "--quiet", "--allow-empty", "-m", "later")
			killed(t, helper(t, r, task{Restore: &croft.RestoreRequest{Ref: string(snap.ID)}}, "CROFT_FAILPOINT=kill="+point))
			r.Git("worktree", "add", "--quiet", "--force", filepath.Join(t.TempDir(), "elsewhere"), w.Branch)

			next := func(name string) int {
				t.Helper()
				create(t, engineIn(t, r, 0), croft.CreateRequest{Name: name})
				list, err := e.Snapshots(t.Context(), croft.SnapshotsRequest{})
				if err != nil {
					t.Fatal(err)
				}
				return len(list.Items)
			}
			first := next("b")
			if second, third := next("c"), next("d"); second != first || third != first || first > 3 {
				t.Errorf("%d, %d and %d snapshots", first, second, third)
			}
			gittest.WriteFile(t, filepath.Join(w.Path, "f"), "three\n")
			if got := next("e"); got != first+1 {
				t.Errorf("%d snapshots after another write, want %d", got, first+1)
			}
			gittest.WriteFile(t, filepath.Join(w.Path, ".env"), "KEY=2\n")
			if got := next("f"); got != first+2 {
				t.Errorf("%d snapshots after a private file was written, want %d", got, first+2)
			}
			got := show(t, engineIn(t, r, 0), "a")
			if got.State != croft.Creating || got.Fault != croft.FaultRewinding || !strings.Contains(got.FaultReason, "checked out elsewhere") {
				t.Errorf("the workspace is %s, %s, %q", got.State, got.Fault, got.FaultReason)
			}
		})
	}
}
