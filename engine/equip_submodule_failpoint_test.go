//go:build failpoints

package engine_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestKilledWhileFillingSubmodules kills a process at every point of a creation that fills submodules. The next call
// rolls the creation back, the project's own copies are as they were, and a repeated creation fills them.
func TestKilledWhileFillingSubmodules(t *testing.T) {
	t.Parallel()
	for _, mode := range []croft.Mode{croft.ModeWorktree, croft.ModeIsolated} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			setting := func(t *testing.T) (*gittest.Repo, task) {
				return withSubmodule(t), task{Create: &croft.CreateAllRequest{Key: "k", Workspaces: []croft.CreateRequest{{Name: "a", Mode: mode}}}}
			}
			everyPoint(t, 1, setting, func(t *testing.T, r *gittest.Repo, job task, n int) {
				before := traceOf(t, r)
				killed(t, helper(t, r, job, fmt.Sprintf("CROFT_FAILPOINT=kill=#%d", n)))
				e := engineIn(t, r, 0)
				gc(t, e)
				if !wereHandedOut(t, e, job) {
					wantTrace(t, r, before)
				}
				list, err := e.CreateAll(t.Context(), *job.Create)
				if err != nil {
					t.Fatal(err)
				}
				w := list.Workspaces[0]
				if len(w.Provision.Paths) != 2 || w.Provision.Paths[0].How != croft.ProvisionCheckout || w.Provision.Paths[1].How != croft.ProvisionCheckout {
					t.Errorf("%+v", w.Provision)
				}
				for line := range strings.Lines(r.GitIn(w.Path, "submodule", "status", "--recursive")) {
					if strings.ContainsAny(line[:1], "+-U") {
						t.Errorf("submodule status: %q", line)
					}
				}
				if got := r.GitIn(w.Path, "status", "--porcelain"); got != "" {
					t.Errorf("status: %q", got)
				}
				r.GitIn(filepath.Join(w.Path, "lib"), "fsck", "--strict")
			})
		})
	}
}
