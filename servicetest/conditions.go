package servicetest

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/croft-sh/croft"
)

// conditionScenarios are about what workspaces are like, why, and what they wait for.
type conditionScenarios struct{}

// look lists a workspace, looked at for as long as that takes.
func (f *fixture) look(name string) croft.Workspace {
	f.t.Helper()
	list, err := f.Workspaces(f.t.Context(), croft.WorkspacesRequest{Look: croft.NoLimit})
	must(f.t, err)
	if len(list.Unseen) > 0 {
		f.t.Errorf("without a limit %v were not looked at", list.Unseen)
	}
	at := slices.IndexFunc(list.Items, func(w croft.Workspace) bool { return w.Name == name })
	if at < 0 {
		f.t.Fatalf("%s is not listed", name)
	}
	return list.Items[at]
}

// wantLook fails the test unless a workspace that was looked at has a condition, and the same
// one when it is asked for alone. It returns the workspace.
func (f *fixture) wantLook(name string, want croft.Condition, next croft.Action) croft.Workspace {
	f.t.Helper()
	w := f.look(name)
	f.wantCondition(w, want, next)
	one, err := f.Workspace(f.t.Context(), croft.WorkspaceRequest{Ref: name, Look: croft.NoLimit})
	must(f.t, err)
	if one.Status != w.Status || one.Why != w.Why {
		f.t.Errorf("%s alone is %s, %q, in the list %s, %q", name, one.Status, one.Why, w.Status, w.Why)
	}
	return w
}

func (f *fixture) wantCondition(w croft.Workspace, want croft.Condition, next croft.Action) {
	f.t.Helper()
	var action croft.Action
	if w.Next != nil {
		action = w.Next.Action
	}
	if w.Status != want || action != next {
		f.t.Errorf("%s is %s, %q, and waits for %q, want %s and %q", w.Name, w.Status, w.Why, action, want, next)
	}
}

// RestoredAfterDiscard: a discard that was taken back leaves a workspace as it was before it, with
// what is known of its work.
func (conditionScenarios) RestoredAfterDiscard(t *testing.T, f *fixture) {
	failed := f.failingCheck("test ! -e a.txt")
	before := f.wantLook("a", croft.ConditionCheckFailed, croft.ActionLogs)
	must(t, errOf(f.Discard(t.Context(), croft.DiscardRequest{Workspaces: []croft.Ref{"a"}})))
	f.wantCondition(f.gone("a"), croft.ConditionDiscarded, croft.ActionRestore)
	f.restore("a")
	after := f.wantLook("a", croft.ConditionCheckFailed, croft.ActionLogs)
	if after.Why != before.Why || after.MergeStatus != croft.MergePending || after.MergeReason != failed.Reason || after.MergeMessage != failed.Message {
		t.Errorf("after it %+v, before %+v", after, before)
	}
	f.commitIn(after.Path, "b.txt", "new work\n")
	if w := f.look("a"); w.Status == croft.ConditionCheckFailed || w.MergeReason != "" {
		t.Errorf("with new work: %s, %s", w.Status, w.MergeReason)
	}
}

// Work: from an empty workspace to merged work, and what a look counts.
func (conditionScenarios) Work(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.wantCondition(w, croft.ConditionEmpty, croft.ActionWork)
	f.wantLook("a", croft.ConditionEmpty, croft.ActionWork)
	f.writeIn(w, "new.txt", "1\n2\n")
	got := f.wantLook("a", croft.ConditionDirty, croft.ActionDiff)
	if k := got.Work; k.Uncommitted != 1 || k.Added != 2 || k.Deleted != 0 || k.Changed != 1 || k.Ahead != 0 {
		t.Errorf("a new file of two lines: %+v", k)
	}
	f.wantCondition(f.show("a"), croft.ConditionUnseen, croft.ActionWork)
	f.commitIn(w.Path, "more.txt", "x\n")
	f.commitIn(f.Dir, "elsewhere.txt", "x\n")
	f.wantCondition(f.show("a"), croft.ConditionAhead, croft.ActionMerge)
	got = f.wantLook("a", croft.ConditionAhead, croft.ActionMerge)
	if k := got.Work; k.Ahead != 1 || k.Behind != 1 || k.Added != 3 || k.Changed != 2 || k.Uncommitted != 0 {
		t.Errorf("a commit of two files: %+v", k)
	}
	if since := got.Work.IdleSince; since.Before(w.CreatedAt) {
		t.Errorf("idle since %v, made at %v", since, w.CreatedAt)
	}
	f.mustMerge(croft.MergeRequest{Workspace: "a", After: croft.AfterKeep})
	f.wantCondition(f.show("a"), croft.ConditionMerged, croft.ActionRemove)
	f.wantLook("a", croft.ConditionMerged, croft.ActionRemove)
	lock(t, f, "a", "mine")
	f.wantLook("a", croft.ConditionMerged, croft.ActionUnlock)
}

// MergedByOthers: work that reached the target by another way is merged.
func (conditionScenarios) MergedByOthers(t *testing.T, f *fixture) {
	a, b := f.create(croft.CreateRequest{Name: "a"}), f.create(croft.CreateRequest{Name: "b"})
	picked, merged := f.commitIn(a.Path, "a.txt", "a\n"), f.commitIn(b.Path, "b.txt", "b\n")
	f.commitIn(f.Dir, "between.txt", "x\n")
	f.Git("cherry-pick", picked)
	f.Git("merge", "--quiet", "--no-edit", merged)
	f.wantLook("a", croft.ConditionMerged, croft.ActionRemove)
	f.wantLook("b", croft.ConditionMerged, croft.ActionRemove)
	f.commitIn(b.Path, "b.txt", "more\n")
	f.wantLook("b", croft.ConditionAhead, croft.ActionMerge)
	// What was merged by Croft, and is not in the target any more, is not merged.
	c := f.createWith("c", "c.txt", "c\n")
	f.mustMerge(croft.MergeRequest{Workspace: "c", After: croft.AfterKeep})
	f.Git("reset", "--quiet", "--hard", "HEAD~1")
	f.wantLook(c.Name, croft.ConditionAhead, croft.ActionMerge)
}

// Reverted: a merge that was reverted is to be looked at, until there are new commits.
func (conditionScenarios) Reverted(t *testing.T, f *fixture) {
	w := f.createWith("a", "a.txt", "a\n")
	f.mustMerge(croft.MergeRequest{Workspace: "a", After: croft.AfterKeep})
	m, err := croft.Revert(t.Context(), f, croft.RevertRequest{Ref: "a"})
	must(t, err)
	got := f.wantLook("a", croft.ConditionReverted, croft.ActionDiff)
	if want := "as " + m.Commit[:7]; got.Why != want {
		t.Errorf("why %q, want %q", got.Why, want)
	}
	f.commitIn(w.Path, "a.txt", "better\n")
	f.wantLook("a", croft.ConditionAhead, croft.ActionMerge)
	// A part of what was reverted is in the target's history, and not in the target.
	b := f.create(croft.CreateRequest{Name: "b"})
	f.commitIn(b.Path, "b.txt", "1\n")
	f.commitIn(b.Path, "b.txt", "2\n")
	mergeAndRevert(t, f, "b")
	f.GitIn(b.Path, "reset", "--quiet", "--hard", "HEAD~1")
	f.wantLook("b", croft.ConditionReverted, croft.ActionDiff)
	// The end of an agent that did no more changes nothing.
	c := f.createWith("c", "c.txt", "c\n")
	mergeAndRevert(t, f, "c")
	_, err = f.Finish(t.Context(), croft.FinishRequest{Workspace: "c", Policy: croft.MergeNever})
	must(t, err)
	f.wantLook("c", croft.ConditionReverted, croft.ActionDiff)
	// The revert brought into it is.
	f.GitIn(c.Path, "merge", "--quiet", "--ff-only", "main")
	f.wantLook("c", croft.ConditionEmpty, croft.ActionWork)
}

// Conflict: a merge that meets a conflict, its resolution, and a target that gave way.
func (conditionScenarios) Conflict(t *testing.T, f *fixture) {
	w := f.createWith("a", "README.md", "here\n")
	f.commitIn(f.Dir, "README.md", "there\n")
	f.merge(croft.MergeRequest{Workspace: "a"})
	if got := f.wantLook("a", croft.ConditionConflict, croft.ActionResolve); got.Why != "README.md" {
		t.Errorf("why %q", got.Why)
	}
	f.wantCondition(f.show("a"), croft.ConditionConflict, croft.ActionResolve)
	f.conflicts() // the forecast says the same
	f.wantLook("a", croft.ConditionConflict, croft.ActionResolve)
	before := f.Git("rev-parse", "HEAD")
	f.Git("reset", "--quiet", "--hard", "HEAD~1")
	f.conflicts() // the forecast says that it is over
	f.wantLook("a", croft.ConditionPending, croft.ActionMerge)
	f.Git("reset", "--quiet", "--hard", before)
	must(t, errOf(f.Resolve(t.Context(), croft.MergeRequest{Workspace: "a"})))
	f.wantLook("a", croft.ConditionResolving, croft.ActionWork)
	f.GitIn(w.Path, "add", "README.md") // with its markers
	if got := f.wantLook("a", croft.ConditionResolving, croft.ActionWork); got.Work.Unmerged != 1 {
		t.Errorf("%d files are unmerged", got.Work.Unmerged)
	}
	f.writeIn(w, "README.md", "both\n")
	f.GitIn(w.Path, "add", "README.md")
	f.wantLook("a", croft.ConditionResolving, croft.ActionMerge)
	f.mustMerge(croft.MergeRequest{Workspace: "a", After: croft.AfterKeep})
	f.wantLook("a", croft.ConditionMerged, croft.ActionRemove)
}

// Collides: a look finds out what collides with the target before anybody merges or asks for a forecast, and when that is over.
func (conditionScenarios) Collides(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.commitIn(w.Path, "README.md", "here\n")
	f.wantLook("a", croft.ConditionAhead, croft.ActionMerge)
	f.commitIn(f.Dir, "README.md", "there\n")
	f.wantLook("a", croft.ConditionCollides, croft.ActionResolve)
	f.conflicts()
	f.wantLook("a", croft.ConditionCollides, croft.ActionResolve)
	f.commitIn(f.Dir, "other.txt", "x\n")
	f.wantLook("a", croft.ConditionCollides, croft.ActionResolve)
	f.Git("reset", "--quiet", "--hard", "HEAD~2")
	f.wantLook("a", croft.ConditionAhead, croft.ActionMerge)
}

// Queue: merges that wait, are held, and were taken out.
func (conditionScenarios) Queue(t *testing.T, f *fixture) {
	for _, name := range []string{"a", "b"} {
		f.createWith(name, name+".txt", name+"\n")
		must(t, errOf(f.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: name, After: croft.AfterKeep})))
	}
	if got := f.look("b"); got.Status != croft.ConditionQueued {
		t.Errorf("b is %s", got.Status)
	}
	f.queue(croft.QueueHold, "a")
	f.wantLook("a", croft.ConditionHeld, croft.ActionRelease)
	f.queue(croft.QueueCancel, "b")
	if got := f.wantLook("b", croft.ConditionPending, croft.ActionMerge); got.Why != "its merge was canceled" {
		t.Errorf("why %q", got.Why)
	}
	f.queue(croft.QueueRelease, "a")
	must(t, errOf(f.DriveLanes(t.Context(), croft.DriveRequest{})))
	f.wantLook("a", croft.ConditionMerged, croft.ActionRemove)
}

// Checks: a check that fails, and checks that nobody approved.
func (conditionScenarios) Checks(t *testing.T, f *fixture) {
	f.commitIn(f.Dir, "croft.toml", "[merge]\nchecks = [\"test ! -e bad\"]\n")
	f.createWith("a", "bad", "x\n")
	f.merge(croft.MergeRequest{Workspace: "a"})
	must(t, errOf(f.DriveLanes(t.Context(), croft.DriveRequest{})))
	f.wantLook("a", croft.ConditionUnapproved, croft.ActionApprove)
	checks, err := f.Checks(t.Context(), croft.ChecksRequest{})
	must(t, err)
	must(t, errOf(f.Approve(t.Context(), croft.ApproveRequest{Hash: checks.Hash})))
	f.wantLook("a", croft.ConditionPending, croft.ActionMerge)
	must(t, errOf(f.DriveLanes(t.Context(), croft.DriveRequest{}))) // tries again what waited for the approval
	if got := f.wantLook("a", croft.ConditionCheckFailed, croft.ActionLogs); got.Why != "test ! -e bad" {
		t.Errorf("why %q", got.Why)
	}
	f.commitIn(f.Dir, "bad", "mine\n")
	f.createWith("b", "b", "x\n")
	f.merge(croft.MergeRequest{Workspace: "b"})
	f.wantLook("b", croft.ConditionTargetFails, croft.ActionLogs)
	f.commitIn(f.Dir, "other", "x\n")
	f.wantLook("b", croft.ConditionPending, croft.ActionMerge)
}

// Outcome: how an agent ended counts as long as nothing was committed since.
func (conditionScenarios) Outcome(t *testing.T, f *fixture) {
	for outcome, want := range map[croft.Outcome]croft.Condition{
		croft.Failed: croft.ConditionFailed, croft.Killed: croft.ConditionKilled, croft.Succeeded: croft.ConditionPending,
	} {
		w := f.createWith(string(outcome), string(outcome), "x\n")
		must(t, errOf(f.Finish(t.Context(), croft.FinishRequest{Workspace: w.Name, Outcome: outcome, Policy: croft.MergeNever})))
		next := croft.ActionDiff
		if outcome == croft.Succeeded {
			next = croft.ActionMerge
		}
		got := f.wantLook(w.Name, want, next)
		if end := got.Finished; end == nil || end.Outcome != outcome || end.Head != got.Head {
			t.Errorf("finished %+v, want %s at %s", end, outcome, got.Head)
		}
		f.commitIn(w.Path, "more.txt", "x\n")
		f.wantLook(w.Name, croft.ConditionAhead, croft.ActionMerge)
	}
}

// Working: a lease, and its end.
func (conditionScenarios) Working(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	l := f.hold(w.ID)
	f.wantLook("a", croft.ConditionWorking, "")
	must(t, errOf(f.Release(t.Context(), croft.ReleaseRequest{Lease: l.ID})))
	f.wantLook("a", croft.ConditionEmpty, croft.ActionWork)
	lock(t, f, "a", "do not touch")
	if got := f.wantLook("a", croft.ConditionLocked, ""); got.Why != "do not touch" {
		t.Errorf("why %q", got.Why)
	}
}

// Gone: what is missing, and what was removed.
func (conditionScenarios) Gone(t *testing.T, f *fixture) {
	list := f.createAll(croft.CreateRequest{Name: "missing"}, croft.CreateRequest{Name: "broken"}, croft.CreateRequest{Name: "removed"}, croft.CreateRequest{Name: "discarded"})
	f.Delete(list[0].Path)
	f.Delete(filepath.Join(list[1].Path, ".git"))
	f.wantLook("missing", croft.ConditionMissing, croft.ActionDiagnose)
	f.wantLook("broken", croft.ConditionBroken, croft.ActionDiagnose)
	f.removed("removed")
	must(t, errOf(f.Discard(t.Context(), croft.DiscardRequest{Workspaces: []string{"discarded"}})))
	for _, name := range []string{"removed", "discarded"} {
		f.wantCondition(f.gone(name), croft.Condition(name), croft.ActionRestore)
	}
	f.create(croft.CreateRequest{Name: "undone"})
	f.undo(croft.UndoRequest{})
	f.wantCondition(f.gone("undone"), croft.ConditionUndone, croft.ActionRestore)
}

// Filter: a list of some conditions; one that does not exist is refused.
func (conditionScenarios) Filter(t *testing.T, f *fixture) {
	f.createWith("a", "a.txt", "a\n")
	f.create(croft.CreateRequest{Name: "b"})
	f.create(croft.CreateRequest{Name: "c"})
	f.removed("c")
	for _, c := range []struct {
		want  []croft.Condition
		names []string
	}{
		{[]croft.Condition{croft.ConditionDirty}, []string{"a"}},
		{[]croft.Condition{croft.ConditionEmpty, croft.ConditionRemoved}, []string{"b", "c"}},
		{[]croft.Condition{croft.ConditionConflict}, nil},
	} {
		list, err := f.Workspaces(t.Context(), croft.WorkspacesRequest{Conditions: c.want, Look: croft.NoLimit})
		must(t, err)
		var names []string
		for _, w := range list.Items {
			names = append(names, w.Name)
		}
		if !slices.Equal(names, c.names) {
			t.Errorf("%v: %v, want %v", c.want, names, c.names)
		}
	}
	wantCode(t, errOf(f.Workspaces(t.Context(), croft.WorkspacesRequest{Conditions: []croft.Condition{"ready"}})), croft.InvalidRequest)
}

// NoTime: what there was no time to look at is named, and decided by the record.
func (conditionScenarios) NoTime(t *testing.T, f *fixture) {
	a, b := f.createWith("a", "a.txt", "a\n"), f.create(croft.CreateRequest{Name: "b"})
	list, err := f.Workspaces(t.Context(), croft.WorkspacesRequest{Look: 1})
	must(t, err)
	if want := []croft.ID{a.ID, b.ID}; !slices.Equal(list.Unseen, want) {
		t.Errorf("unseen %v, want %v", list.Unseen, want)
	}
	for _, w := range list.Items {
		f.wantCondition(w, croft.ConditionUnseen, croft.ActionWork)
		if w.Why != "not looked at" || !w.IsUnseen() {
			t.Errorf("%s has not been looked at, and is empty because %q", w.Name, w.Why)
		}
		if w.Work.Has(croft.AspectFiles) { // that there are no commits may be known without a look
			t.Errorf("%s: %+v", w.Name, w.Work)
		}
	}
	list, err = f.Workspaces(t.Context(), croft.WorkspacesRequest{})
	must(t, err)
	if want := []croft.ID{a.ID, b.ID}; !slices.Equal(list.Unseen, want) || list.Items[0].Work != nil {
		t.Errorf("without a look: unseen %v, %+v", list.Unseen, list.Items[0].Work)
	}
}
