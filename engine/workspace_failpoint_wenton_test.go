//go:build failpoints

package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// pulled returns a repository with an isolated workspace whose first commit was pulled.
func pulled(t *testing.T) *gittest.Repo {
	t.Helper()
	r := company(t)
	brief(t, r, func(e *engine.Engine) {
		w := create(t, e, croft.CreateRequest{Name: "a", Mode: croft.ModeIsolated})
		commitIn(t, r, w.Path, "first")
		if _, err := e.Status(t.Context(), croft.StatusRequest{Workspace: w.ID}); err != nil {
			t.Fatal(err)
		}
	})
	return r
}

// TestAgentWentOnAfterKilledChange: Croft is killed while it commits an agent's work. The
// agent removes the lock that was left and goes on: its later work stays as it is, and the
// repository gets it, whether it was committed or only staged. If the agent changed nothing
// that matters, its checkout gets Croft's commit.
func TestAgentWentOnAfterKilledChange(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"change.begun", "change.acted", "deliver.sent", "deliver.copied"} {
		for act, goOn := range map[string]func(t *testing.T, r *gittest.Repo, path string) (made string){
			"commit": func(t *testing.T, r *gittest.Repo, path string) string {
				commitIn(t, r, path, "later")
				r.GitIn(path, "rm", "--quiet", "--cached", "later.txt")
				r.GitIn(path, "commit", "--quiet", "-m", "without it")
				return r.GitIn(path, "rev-parse", "HEAD~:later.txt")
			},
			"stage": func(t *testing.T, r *gittest.Repo, path string) string {
				gittest.WriteFile(t, filepath.Join(path, "later.txt"), "later\n")
				r.GitIn(path, "add", "later.txt")
				return r.GitIn(path, "rev-parse", ":later.txt")
			},
			"branch": func(t *testing.T, r *gittest.Repo, path string) string {
				r.GitIn(path, "branch", "side", r.GitIn(path, "commit-tree", "-m", "side", "HEAD^{tree}"))
				return r.GitIn(path, "rev-parse", "side")
			},
			"refresh": func(t *testing.T, r *gittest.Repo, path string) string {
				gittest.WriteFile(t, filepath.Join(path, "first.txt"), read(t, filepath.Join(path, "first.txt")))
				r.GitIn(path, "update-index", "--refresh")
				return r.GitIn(path, "rev-parse", "HEAD")
			},
		} {
			t.Run(point+"/"+act, func(t *testing.T) {
				t.Parallel()
				r := pulled(t)
				path := pathOfA(r)
				writeIn(t, r, map[string]string{"half.txt": "not committed\n"})
				killed(t, helper(t, r, task{Finish: &croft.FinishRequest{Workspace: "a"}}, "CROFT_FAILPOINT=kill="+point))
				if err := os.Remove(filepath.Join(path, ".git", "index.lock")); err != nil {
					t.Fatal(err)
				}
				made := goOn(t, r, path)
				head, staged := r.GitIn(path, "rev-parse", "HEAD"), r.GitIn(path, "ls-files", "--stage")
				e := engineIn(t, r, 0)
				w := show(t, e, "a")
				if _, err := e.Status(t.Context(), croft.StatusRequest{Workspace: w.ID}); err != nil {
					t.Fatal(err)
				}
				if act == "commit" || act == "stage" {
					if now := r.GitIn(path, "rev-parse", "HEAD"); now != head {
						t.Errorf("the agent's HEAD was moved from %s to %s", head, now)
					}
					if now := r.GitIn(path, "ls-files", "--stage"); now != staged {
						t.Errorf("the agent's index was\n%s\nand is\n%s", staged, now)
					}
				} else {
					wantSound(t, r, e)
				}
				r.Git("gc", "--quiet", "--prune=now")
				r.Git("cat-file", "-e", head)
				r.Git("cat-file", "-e", made)
				r.Git("fsck", "--no-dangling")
			})
		}
	}
}

// TestAmendedAfterInterruptedPull: a pull was interrupted after it had moved the
// repository's branch. The branch still follows the agent, who amends the commit.
func TestAmendedAfterInterruptedPull(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"kill=harvest.fetched", "kill=harvest.refs", "kill=harvest.copied", "nospace=harvest.refs", "nospace=harvest.copied"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			r := pulled(t)
			path := pathOfA(r)
			commitIn(t, r, path, "second")
			out, err := run(t, helper(t, r, task{Snapshot: &croft.SnapshotRequest{Workspace: "a"}}, "CROFT_FAILPOINT="+fault))
			if err == nil || strings.HasPrefix(fault, "nospace") && !strings.Contains(out, "failpoint") {
				t.Fatalf("the pull was to fail: %v, %s", err, out)
			}
			r.GitIn(path, "commit", "--quiet", "--amend", "-m", "amended")
			wantSound(t, r, engineIn(t, r, 0))
		})
	}
}
