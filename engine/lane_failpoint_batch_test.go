//go:build failpoints

package engine_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestKilledBatch kills a process that drives a batch of which one merge breaks the check, at
// every point. The next one finishes: each merge lands once with a tree that was checked, or
// is rejected.
func TestKilledBatch(t *testing.T) {
	good := map[string]bool{"a": true, "b": false, "c": true}
	setting := func(t *testing.T) (*gittest.Repo, task) {
		r, passed := recording(t, "")
		r.Env = append(r.Env, "PASSED="+passed)
		brief(t, r, func(e *engine.Engine) {
			approveChecks(t, e)
			for _, name := range []string{"a", "b", "c"} {
				file := "file-" + name
				if !good[name] {
					file = "bad-" + name
				}
				submitFile(t, e, name, "", file, "x")
			}
		})
		return r, task{Queue: true}
	}
	fewPoints(t, setting, func(t *testing.T, r *gittest.Repo, job task, n int) {
		killed(t, helper(t, r, job, fmt.Sprintf("CROFT_FAILPOINT=kill=#%d", n)))
		e := engineIn(t, r, 0)
		gc(t, e)
		if _, err := e.DriveLanes(t.Context(), croft.DriveRequest{}); err != nil {
			t.Fatal(err)
		}
		passed := r.Env[len(r.Env)-1][len("PASSED="):]
		wantWholeQueue(t, r, e, filepath.Clean(passed), good)
	})
}
