package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// reviewed is a review of a workspace with one new file.
func reviewed(t testing.TB, r *gittest.Repo, e croft.Service) *croft.Review {
	t.Helper()
	w := create(t, e, croft.CreateRequest{Name: "a"})
	gittest.WriteFile(t, filepath.Join(w.Path, "new.txt"), "new\n")
	gittest.WriteFile(t, filepath.Join(w.Path, "README.md"), "# changed\n")
	review, err := e.Review(t.Context(), croft.ReviewRequest{Workspace: "a"})
	if err != nil {
		t.Fatal(err)
	}
	return review
}

const eightDays = 8 * 24 * time.Hour

// A review goes when trash of its age would.
func TestReviewsAreForgotten(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	review := reviewed(t, r, e)
	apply := croft.ApplyRequest{Review: review.ID, Paths: []string{"new.txt"}}
	if m, err := e.Apply(t.Context(), apply); err != nil || m.Status != croft.MergeMerged {
		t.Fatalf("%+v, %v", m, err)
	}
	if _, err := e.GC(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(r.Git("for-each-ref", "refs/croft/review"), "\n"); n != 1 {
		t.Errorf("%d lines between the refs of a young review, want 1", n)
	}
	if _, err := engineIn(t, r, eightDays).GC(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if left := r.Git("for-each-ref", "refs/croft/review"); left != "" {
		t.Errorf("left: %s", left)
	}
	_, err := e.Apply(t.Context(), apply)
	wantCode(t, err, croft.ReviewNotFound)
}

// A part of a review that will be tried again keeps it.
func TestReviewsThatAreNeededStay(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	review := reviewed(t, r, e)
	r.Write("README.md", "mine\n")
	m, err := e.Apply(t.Context(), croft.ApplyRequest{Review: review.ID, Paths: []string{"README.md"}})
	if err != nil || m.Reason != croft.HostDirty {
		t.Fatalf("%+v, %v", m, err)
	}
	later := engineIn(t, r, eightDays)
	if _, err := later.GC(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	r.Git("restore", "README.md")
	r.Git("gc", "--quiet", "--prune=now")
	done, err := later.RunQueue(t.Context(), croft.MergesRequest{})
	if err != nil || len(done) != 1 || done[0].ID != m.ID || done[0].Status != croft.MergeMerged {
		t.Fatalf("%+v, %v", done, err)
	}
	if b, err := os.ReadFile(filepath.Join(r.Dir, "README.md")); err != nil || string(b) != "# changed\n" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := later.GC(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if left := r.Git("for-each-ref", "refs/croft/review"); left != "" {
		t.Errorf("left: %s", left)
	}
}
