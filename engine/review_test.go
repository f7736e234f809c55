package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// reviewed returns a review of a workspace with one new file.
func reviewed(t testing.TB, r *gittest.Repo, e croft.Service) *croft.Review {
	t.Helper()
	w := create(t, e, croft.CreateRequest{Name: "a"})
	gittest.WriteFile(t, filepath.Join(w.Path, "new.txt"), "new\n")
	gittest.WriteFile(t, filepath.Join(w.Path, "README.md"), "# changed\n")
	review, err := e.CreateReview(t.Context(), croft.ReviewRequest{Workspace: "a"})
	if err != nil {
		t.Fatal(err)
	}
	return review
}

const eightDays = 8 * 24 * time.Hour

// gc deletes a review when it is as old as trash that gc deletes.
func TestReviewsAreForgotten(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	review := reviewed(t, r, e)
	apply := croft.ApplyRequest{Review: review.ID, Paths: []string{"new.txt"}}
	if m, err := croft.Apply(t.Context(), e, apply); err != nil || m.Status != croft.MergeMerged {
		t.Fatalf("%+v, %v", m, err)
	}
	if _, err := e.GC(t.Context(), croft.GCRequest{}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(r.Git("for-each-ref", "refs/croft/review"), "\n"); n != 1 {
		t.Errorf("%d lines between the refs of a young review, want 1", n)
	}
	if _, err := engineIn(t, r, eightDays).GC(t.Context(), croft.GCRequest{}); err != nil {
		t.Fatal(err)
	}
	if left := r.Git("for-each-ref", "refs/croft/review"); left != "" {
		t.Errorf("left: %s", left)
	}
	_, err := croft.Apply(t.Context(), e, apply)
	wantCode(t, err, croft.ReviewNotFound)
}

// gc keeps a review while a part of it is going to be tried again.
func TestReviewsThatAreNeededStay(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	review := reviewed(t, r, e)
	r.Write("README.md", "mine\n")
	m, err := croft.Apply(t.Context(), e, croft.ApplyRequest{Review: review.ID, Paths: []string{"README.md"}})
	if err != nil || m.Reason != croft.HostDirty {
		t.Fatalf("%+v, %v", m, err)
	}
	later := engineIn(t, r, eightDays)
	if _, err := later.GC(t.Context(), croft.GCRequest{}); err != nil {
		t.Fatal(err)
	}
	r.Git("restore", "README.md")
	r.Git("gc", "--quiet", "--prune=now")
	done, err := later.DriveLanes(t.Context(), croft.DriveRequest{})
	if err != nil || len(done.Merges) != 1 || done.Merges[0].ID != m.ID || done.Merges[0].Status != croft.MergeMerged {
		t.Fatalf("%+v, %v", done, err)
	}
	if b, err := os.ReadFile(filepath.Join(r.Dir, "README.md")); err != nil || string(b) != "# changed\n" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := later.GC(t.Context(), croft.GCRequest{}); err != nil {
		t.Fatal(err)
	}
	if left := r.Git("for-each-ref", "refs/croft/review"); left != "" {
		t.Errorf("left: %s", left)
	}
}

// gc keeps a review while a part of it waits in a queue.
func TestReviewsInAQueueStay(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	e := engineIn(t, g.Repo, 0)
	g.submit(t, e, "first")
	review := reviewed(t, g.Repo, e)
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := croft.Apply(ctx, e, croft.ApplyRequest{Review: review.ID, Paths: []string{"README.md"}})
		left <- err
	}()
	g.begun(t, 1)
	leave()
	wantStillWaits(t, <-left, "the merge")
	gc(t, engineIn(t, g.Repo, eightDays))
	if g.Git("for-each-ref", "refs/croft/review") == "" {
		t.Error("the review is gone")
	}
}

// A workspace that a power cut may have damaged is not reviewed, because a review can be
// applied unread; a diff of it is allowed.
func TestReviewOfADamagedWorkspace(t *testing.T) {
	t.Parallel()
	r, e, w := agency(t)
	restarted(t, r, w)
	path := filepath.Join(w.Path, "src", "two.txt")
	if err := errors.Join(os.Truncate(path, 0), before(path)); err != nil {
		t.Fatal(err)
	}
	_, err := e.CreateReview(t.Context(), croft.ReviewRequest{Workspace: "a"})
	wantCode(t, err, croft.WorkspaceBroken)
	if d, err := e.Diff(t.Context(), croft.DiffRequest{Workspace: "a"}); err != nil || len(d.Files) == 0 {
		t.Errorf("%+v, %v", d, err)
	}
}

// An apply is not refused because a merge below it in the stack changes the same files, if
// that merge does not pass the checks.
func TestApplyAboveFailingMerge(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the check is for a shell")
	}
	r := gittest.New(t)
	r.Write("croft.toml", "[merge]\nchecks = [\"! grep broken src/main.txt\"]\nbatch = 4\n")
	r.Commit("checks")
	e := engineIn(t, r, 0)
	plan, err := e.Checks(t.Context(), croft.ChecksRequest{})
	if err == nil {
		_, err = e.Approve(t.Context(), croft.ApproveRequest{Hash: plan.Hash})
	}
	if err != nil {
		t.Fatal(err)
	}
	review := reviewed(t, r, e)
	bad := create(t, e, croft.CreateRequest{Name: "bad"})
	gittest.WriteFile(t, filepath.Join(bad.Path, "src", "main.txt"), "broken\n")
	gittest.WriteFile(t, filepath.Join(bad.Path, "new.txt"), "another one\n")
	first, err := e.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "bad"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := croft.Apply(t.Context(), e, croft.ApplyRequest{Review: review.ID, Paths: []string{"new.txt"}})
	if err != nil || m.Status != croft.MergeMerged {
		t.Errorf("%+v, %v", m, err)
	}
	if first, err = e.WaitMerge(t.Context(), croft.WaitRequest{Merge: first.ID}); err != nil || first.Reason != croft.CheckFailed {
		t.Errorf("%+v, %v", first, err)
	}
}

// hunksOf counts the hunks of each file of a new review.
func hunksOf(t *testing.T, e croft.Service) (*croft.Review, map[string]int) {
	t.Helper()
	review, err := e.CreateReview(t.Context(), croft.ReviewRequest{Workspace: "a", Applied: croft.AppliedHidden})
	if err != nil {
		t.Fatal(err)
	}
	hunks := map[string]int{}
	for _, f := range review.Files {
		hunks[f.Path] = len(f.Hunks)
	}
	return review, hunks
}

// TestReviewLeavesOutApplied: a new review does not offer a file or hunk that was applied
// before, also when that review is deleted. It does offer one whose apply was reverted.
func TestReviewLeavesOutApplied(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	var lines []string
	for i := range 30 {
		lines = append(lines, fmt.Sprintf("line %d", i))
	}
	r.Write("many.txt", strings.Join(lines, "\n"))
	r.Commit("many")
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	lines[2], lines[25] = "second", "last"
	gittest.WriteFile(t, filepath.Join(w.Path, "many.txt"), strings.Join(lines, "\n"))
	gittest.WriteFile(t, filepath.Join(w.Path, "new.txt"), "new\n")

	apply := func(want map[string]int, paths []string, hunks map[string][]int) *croft.Merge {
		t.Helper()
		review, got := hunksOf(t, e)
		if !maps.Equal(got, want) {
			t.Fatalf("the review offers %v, want %v", got, want)
		}
		if paths == nil && hunks == nil {
			return nil
		}
		m, err := croft.Apply(t.Context(), e, croft.ApplyRequest{Review: review.ID, Paths: paths, Hunks: hunks})
		if err != nil || m.Status != croft.MergeMerged {
			t.Fatalf("%+v, %v", m, err)
		}
		return m
	}
	first := apply(map[string]int{"many.txt": 2, "new.txt": 1}, []string{"new.txt"}, map[string][]int{"many.txt": {2}})
	r.Write("mine.txt", "mine\n")
	r.Commit("mine")
	apply(map[string]int{"many.txt": 1}, nil, nil)
	if _, err := engineIn(t, r, eightDays).GC(t.Context(), croft.GCRequest{}); err != nil {
		t.Fatal(err)
	}
	r.Git("gc", "--quiet", "--prune=now")
	second := apply(map[string]int{"many.txt": 1}, []string{"many.txt"}, nil)
	apply(map[string]int{}, nil, nil)
	if got := r.Git("show", "main:many.txt"); got != strings.TrimSpace(strings.Join(lines, "\n")) {
		t.Errorf("main has %q", got)
	}

	was := lines[25]
	lines[25] = "mine"
	r.Write("many.txt", strings.Join(lines, "\n")) // the applied line changes in main
	r.Commit("mine, too")
	apply(map[string]int{}, nil, nil)
	lines[25] = was
	r.Write("many.txt", strings.Join(lines, "\n"))
	r.Commit("as before")

	r.Git("revert", "--no-edit", second.Commit) // outside of Croft
	apply(map[string]int{"many.txt": 1}, nil, nil)
	if _, err := croft.Revert(t.Context(), e, croft.RevertRequest{Ref: string(first.ID)}); err != nil {
		t.Fatal(err)
	}
	apply(map[string]int{"many.txt": 2, "new.txt": 1}, nil, nil)
}
