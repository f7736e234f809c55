package servicetest

import (
	"strings"
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

// Shown: what an agent wrote or committed after a person was shown its work stays where it is, whatever was
// agreed to.
func (seenScenarios) Shown(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	made, err := f.History(t.Context(), croft.HistoryRequest{})
	must(t, err)
	f.writeIn(w, "draft.txt", "draft\n")
	for _, change := range []func(){
		func() { f.writeIn(w, "draft.txt", "DRAFT\n") },
		func() { f.writeIn(w, "late.txt", "late\n") },
		func() { f.commitIn(w.Path, "more.txt", "more\n") },
	} {
		plan, err := f.PlanUndo(t.Context(), croft.UndoRequest{Operation: made.Items[0].ID})
		must(t, err)
		shown, err := f.Status(t.Context(), croft.StatusRequest{Workspace: w.ID})
		must(t, err)
		if shown.Stamp == "" || plan.Stamps[w.ID] != shown.Stamp {
			t.Fatalf("the stamp of the work is %q, that of the plan %q", shown.Stamp, plan.Stamps[w.ID])
		}
		change()
		agreed := &croft.Agreed{Workspaces: []croft.ID{w.ID}, WithWork: []croft.ID{w.ID}, Stamps: plan.Stamps}
		discarded, err := f.Discard(t.Context(), croft.DiscardRequest{Workspaces: []croft.Ref{"a"}, Agreed: agreed})
		must(t, err)
		removed, err := f.Remove(t.Context(), croft.RemoveRequest{Workspaces: []croft.Ref{"a"}, Agreed: agreed})
		must(t, err)
		if m := discarded.Merges[0]; m.Reason != croft.WorkChanged || len(removed.Kept) != 1 || removed.Kept[0].Reason.Code != croft.WorkChanged {
			t.Errorf("it went: %+v, %+v", m, removed)
		}
		undo := croft.UndoRequest{Operation: made.Items[0].ID, Mode: croft.RemoveForce, Stamps: plan.Stamps}
		wantCode(t, errOf(f.Undo(t.Context(), undo)), croft.WorkChanged)
		undo.Key = "k-" + shown.Stamp
		wantCode(t, errOf(f.Undo(t.Context(), undo)), croft.WorkChanged)
	}
	plan, err := f.PlanUndo(t.Context(), croft.UndoRequest{Operation: made.Items[0].ID})
	must(t, err)
	if len(plan.Steps) != 1 || !strings.Contains(plan.Steps[0], "1 commit that main lacks") {
		t.Errorf("the plan does not name the commit: %q", plan.Steps)
	}
	must(t, errOf(f.Undo(t.Context(), croft.UndoRequest{Operation: made.Items[0].ID, Mode: croft.RemoveForce, Stamps: plan.Stamps, Key: "k"})))
}
