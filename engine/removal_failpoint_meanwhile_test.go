//go:build failpoints

package engine_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestRemovedMeanwhile: another process removes a workspace after a call has found it. A
// lock and the restoring of a snapshot fail with WorktreeNotFound, and a forecast leaves
// the workspace out.
func TestRemovedMeanwhile(t *testing.T) {
	for _, mode := range []croft.Mode{croft.ModeWorktree, croft.ModeIsolated} {
		for point, tt := range map[string]struct {
			job  task
			want string
		}{
			"lock.found":      {task{Lock: &croft.LockRequest{Workspace: "a"}}, string(croft.WorktreeNotFound) + " "},
			"conflicts.found": {task{Forecast: true}, ""},
			"rewind.saved":    {task{Restore: &croft.RestoreRequest{}}, string(croft.WorktreeNotFound) + " "},
		} {
			t.Run(string(mode)+"/"+point, func(t *testing.T) {
				t.Parallel()
				r := gittest.New(t)
				e := engineIn(t, r, 0)
				w := create(t, e, croft.CreateRequest{Name: "a", Mode: mode})
				gittest.WriteFile(t, filepath.Join(w.Path, "wip"), "wip\n")
				snap, err := e.TakeSnapshot(t.Context(), croft.SnapshotRequest{Workspace: "a"})
				if err != nil {
					t.Fatal(err)
				}
				if tt.job.Restore != nil {
					tt.job.Restore = &croft.RestoreRequest{Ref: string(snap.ID)}
				}
				goOn := paused(t, r, tt.job, point)
				if res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce}); err != nil || len(res.Kept) > 0 {
					t.Fatalf("%+v, %v", res, err)
				}
				out, err := goOn()
				if (err != nil) != (tt.want != "") || !strings.HasPrefix(out, tt.want) {
					t.Errorf("%v: %q, want %q", err, out, tt.want)
				}
			})
		}
	}
}
