package engine_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestLostRules: the object of the target's croft.toml is gone, as an agent can delete
// it in a linked workspace. The target does not count as one without checks.
func TestLostRules(t *testing.T) {
	t.Parallel()
	for _, lost := range []string{"main:croft.toml", "main^{tree}"} {
		t.Run(lost, func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			r.Write("croft.toml", "[merge]\nchecks = [\"false\"]\n")
			before := r.Commit("checks")
			e := engineIn(t, r, 0)
			w := create(t, e, croft.CreateRequest{Name: "a"})
			gittest.WriteFile(t, filepath.Join(w.Path, "work.txt"), "work\n")
			r.GitIn(w.Path, "add", "--all")
			r.GitIn(w.Path, "commit", "--quiet", "-m", "work")
			oid := r.Git("rev-parse", lost)
			if err := os.Remove(filepath.Join(r.Dir, ".git", "objects", oid[:2], oid[2:])); err != nil {
				t.Fatal(err)
			}
			if plan, err := e.Checks(t.Context(), croft.ChecksRequest{}); !errors.Is(err, croft.ObjectMissing) {
				t.Errorf("the checks are %+v, %v, want %s", plan, err, croft.ObjectMissing)
			}
			if m, err := e.Merge(t.Context(), croft.MergeRequest{Workspace: "a"}); err == nil {
				if m, err = e.WaitMerge(t.Context(), m.ID); err == nil && m.Status == croft.MergeMerged {
					t.Errorf("merged without its checks: %+v", m)
				}
			}
			if now := r.Git("rev-parse", "main"); now != before {
				t.Errorf("main was moved to %s", now)
			}
		})
	}
}
