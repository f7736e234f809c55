package servicetest

import (
	"testing"

	"github.com/croft-sh/croft"
)

// seenScenarios are about requests that name the state of the work that the caller has
// seen.
type seenScenarios struct{}

// refusedUnseen submits work that differs from what the caller has seen. Nothing may be
// committed, submitted or published.
func (f *fixture) refusedUnseen(w croft.Workspace, req croft.MergeRequest) {
	f.t.Helper()
	req.Workspace = w.Name
	tip, head, status := f.Git("rev-parse", "main"), f.GitIn(w.Path, "rev-parse", "HEAD"), f.GitIn(w.Path, "status", "--porcelain")
	wantCode(f.t, errOf(f.SubmitMerge(f.t.Context(), req)), croft.WorkChanged)
	f.wantQueue()
	if got := f.Git("rev-parse", "main"); got != tip {
		f.t.Errorf("main moved to %s", got)
	}
	if now := f.GitIn(w.Path, "rev-parse", "HEAD"); now != head {
		f.t.Errorf("a commit was made: %s", now)
	}
	if now := f.GitIn(w.Path, "status", "--porcelain"); now != status {
		f.t.Errorf("the checkout changed: %q, was %q", now, status)
	}
}

// Head: after the caller has looked at the work, the agent wrote or committed a file.
func (seenScenarios) Head(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.commitIn(w.Path, "work.txt", "work\n")
	seen, err := f.Diff(t.Context(), croft.DiffRequest{Workspace: "a"})
	must(t, err)
	if seen.Head == "" {
		t.Fatalf("the diff of committed work has no head: %+v", seen)
	}
	f.writeIn(w, "unseen.txt", "unseen\n")
	f.refusedUnseen(w, croft.MergeRequest{Head: seen.Head})
	f.GitIn(w.Path, "add", "unseen.txt")
	f.refusedUnseen(w, croft.MergeRequest{Head: seen.Head})
	f.GitIn(w.Path, "commit", "--quiet", "--message", "unseen")
	f.refusedUnseen(w, croft.MergeRequest{Head: seen.Head})
	f.GitIn(w.Path, "reset", "--quiet", "--hard", seen.Head)
	m := f.merge(croft.MergeRequest{Workspace: "a", Head: seen.Head})
	if m.Status != croft.MergeMerged || m.Head != seen.Head {
		t.Errorf("%+v", m)
	}
}

// Review: a review covers uncommitted work, too, and allows exactly that to be merged.
func (seenScenarios) Review(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.commitIn(w.Path, "work.txt", "work\n")
	f.writeIn(w, "more.txt", "more\n")
	seen, err := f.CreateReview(t.Context(), croft.ReviewRequest{Workspace: "a"})
	must(t, err)
	f.writeIn(w, "more.txt", "unseen\n")
	f.refusedUnseen(w, croft.MergeRequest{Review: seen.ID})
	f.GitIn(w.Path, "add", "more.txt")
	f.GitIn(w.Path, "commit", "--quiet", "--message", "unseen")
	f.refusedUnseen(w, croft.MergeRequest{Review: seen.ID})
	f.GitIn(w.Path, "reset", "--quiet", "--soft", "HEAD~")
	f.writeIn(w, "more.txt", "more\n")
	m := f.merge(croft.MergeRequest{Workspace: "a", Review: seen.ID, After: croft.AfterKeep})
	if m.Status != croft.MergeMerged || f.Git("show", "main:more.txt") != "more" {
		t.Errorf("%+v", m)
	}
}

// MergeOfTheTarget: an agent that merges the target with the strategy ours leaves every
// file as it was seen. If that landed, it would undo the target's changes.
func (seenScenarios) MergeOfTheTarget(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.commitIn(w.Path, "work.txt", "work\n")
	head := f.GitIn(w.Path, "rev-parse", "HEAD")
	seen, err := f.CreateReview(t.Context(), croft.ReviewRequest{Workspace: "a"})
	must(t, err)
	f.commitIn(f.Dir, "other.txt", "other\n")
	f.seeMain(w.Path)
	f.GitIn(w.Path, "merge", "--quiet", "--no-commit", "--strategy=ours", "main")
	f.refusedUnseen(w, croft.MergeRequest{Head: head})
	f.refusedUnseen(w, croft.MergeRequest{Review: seen.ID})
	f.GitIn(w.Path, "commit", "--quiet", "--message", "nothing taken over")
	f.refusedUnseen(w, croft.MergeRequest{Head: head})
	f.refusedUnseen(w, croft.MergeRequest{Review: seen.ID})
}

// ReviewOfAnother: a review of another workspace, against another target, or one that does
// not exist, allows nothing.
func (seenScenarios) ReviewOfAnother(t *testing.T, f *fixture) {
	f.createWith("a", "work.txt", "work\n")
	f.createWith("b", "work.txt", "work\n")
	seen, err := f.CreateReview(t.Context(), croft.ReviewRequest{Workspace: "a"})
	must(t, err)
	wantCode(t, errOf(f.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "b", Review: seen.ID})), croft.InvalidRequest)
	wantCode(t, errOf(f.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "b", Review: "0000000000000000"})), croft.ReviewNotFound)
	f.Git("branch", "release")
	other, err := f.CreateReview(t.Context(), croft.ReviewRequest{Workspace: "b", Target: "release"})
	must(t, err)
	wantCode(t, errOf(f.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "b", Review: other.ID})), croft.InvalidRequest)
	wantCode(t, errOf(f.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "b", Head: "HEAD"})), croft.InvalidRequest)
	f.wantQueue()
}
