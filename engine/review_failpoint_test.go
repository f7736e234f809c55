//go:build failpoints

package engine_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestKilledReview kills a process that makes a review. There is one review or none; the
// workspace is unchanged, and it can be reviewed.
func TestKilledReview(t *testing.T) {
	setting := func(t *testing.T) (*gittest.Repo, task) {
		r := gittest.New(t)
		brief(t, r, func(e *engine.Engine) {
			w := create(t, e, croft.CreateRequest{Name: "a"})
			gittest.WriteFile(t, filepath.Join(w.Path, "new.txt"), "new\n")
		})
		return r, task{Review: &croft.ReviewRequest{Workspace: "a"}}
	}
	eachPoint(t, setting, func(t *testing.T, r *gittest.Repo, job task, n int) {
		e := kill(t, r, job, n)
		if got := r.GitIn(show(t, e, "a").Path, "status", "--porcelain"); got != "?? new.txt" {
			t.Errorf("the workspace is %q", got)
		}
		review, err := e.CreateReview(t.Context(), *job.Review)
		if err != nil || len(review.Files) != 1 {
			t.Fatalf("%+v, %v", review, err)
		}
		if got := r.Git("fsck", "--no-dangling"); got != "" {
			t.Errorf("git fsck: %s", got)
		}
	})
}

// TestKilledApply kills a process that applies a part of a review. After the call is
// repeated, with the same key or without one, the part is applied once.
func TestKilledApply(t *testing.T) {
	for _, key := range []string{"k", ""} {
		t.Run("key="+key, func(t *testing.T) {
			setting := func(t *testing.T) (*gittest.Repo, task) {
				r := gittest.New(t)
				var review *croft.Review
				brief(t, r, func(e *engine.Engine) { review = reviewed(t, r, e) })
				return r, task{Apply: &croft.ApplyRequest{Key: key, Review: review.ID, Paths: []string{"new.txt"}}}
			}
			eachPoint(t, setting, func(t *testing.T, r *gittest.Repo, job task, n int) {
				e := kill(t, r, job, n)
				m, err := croft.Apply(t.Context(), e, *job.Apply)
				if err != nil || m.Status != croft.MergeMerged {
					t.Fatalf("%+v, %v", m, err)
				}
				if got := r.Git("rev-list", "--count", "main"); got != "2" {
					t.Errorf("%s commits on main, want 2", got)
				}
				if got := r.Git("diff", "--name-only", "main^", "main"); got != "new.txt" {
					t.Errorf("landed: %s", got)
				}
				if got := r.Git("status", "--porcelain"); got != "" {
					t.Errorf("the checkout of the target: %s", got)
				}
				if _, err := os.Stat(filepath.Join(r.Dir, "new.txt")); err != nil {
					t.Error(err)
				}
				if got := r.Git("fsck", "--no-dangling"); got != "" {
					t.Errorf("git fsck: %s", got)
				}
			})
		})
	}
}
