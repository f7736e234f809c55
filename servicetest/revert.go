package servicetest

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

type revertScenarios struct{}

// landed makes workspaces with a file each and merges them.
func landed(t *testing.T, f *fixture, names ...string) []croft.Merge {
	t.Helper()
	var merges []croft.Merge
	for _, n := range names {
		f.createWith(n, n+".txt", n+"\n")
		merges = append(merges, f.mustMerge(croft.MergeRequest{Workspace: n, After: croft.AfterKeep}))
	}
	return merges
}

func (f *fixture) has(name string) bool {
	_, err := f.Host.Stat(filepath.Join(f.Dir, name))
	return err == nil
}

func (revertScenarios) Later(t *testing.T, f *fixture) {
	merges := landed(t, f, "a", "b", "c")
	plan, err := f.PlanRevert(t.Context(), croft.RevertRequest{Merge: merges[0].ID})
	if err != nil || plan.Later != 2 || plan.Target != f.Git("rev-parse", "main") || len(plan.Conflicts) != 0 {
		t.Fatalf("%+v, %v", plan, err)
	}
	f.Git("branch", "by-hand")
	m, err := croft.Revert(t.Context(), f, croft.RevertRequest{Merge: merges[0].ID, Target: plan.Target})
	if err != nil || m.Status != croft.MergeMerged || m.Kind != croft.KindRevert || m.Reverts != merges[0].ID || m.Later != 2 {
		t.Fatalf("%+v, %v", m, err)
	}
	if was, err := f.WaitMerge(t.Context(), croft.WaitRequest{Merge: merges[0].ID}); err != nil || was.Status != croft.MergeReverted {
		t.Errorf("what was taken back is %+v, %v", was, err)
	}
	f.WantClean(f.Dir)
	f.Git("switch", "--quiet", "by-hand")
	f.Git("revert", "--no-edit", "-m", "1", merges[0].Commit)
	if f.Git("rev-parse", "by-hand^{tree}") != f.Git("rev-parse", "main^{tree}") {
		t.Error("not what git revert -m 1 gives")
	}
	if f.Git("log", "-1", "--format=%s", "main") != f.Git("log", "-1", "--format=%s", "by-hand") {
		t.Error("not the message of git revert")
	}
	if w, err := f.Workspace(t.Context(), croft.WorkspaceRequest{Ref: "a"}); err != nil || w.MergeStatus != croft.MergeReverted {
		t.Errorf("%+v, %v", w, err)
	}
}

// ResolveWorkspace: a revert in conflict is resolved in a workspace of its own. Merging that takes the merge back; its undo, and
// merging the work again, bring the work back.
func (revertScenarios) ResolveWorkspace(t *testing.T, f *fixture) {
	w := f.createWith("a", "README.md", "theirs\n")
	f.writeIn(w, "a.txt", "a\n")
	first := f.mustMerge(croft.MergeRequest{Workspace: "a", After: croft.AfterKeep})
	wantCode(t, errOf(f.ResolveRevert(t.Context(), croft.RevertRequest{Merge: first.ID})), croft.InvalidRequest) // it has no conflict
	f.commitIn(f.Dir, "README.md", "mine\n")
	m, err := croft.Revert(t.Context(), f, croft.RevertRequest{Merge: first.ID})
	if err != nil || m.Reason != croft.Conflict || m.Hint != "croft revert --resolve a" {
		t.Fatalf("%+v, %v", m, err)
	}
	tip := f.Git("rev-parse", "main")
	req := croft.RevertRequest{Key: "once", Ref: "a"}
	out, err := f.ResolveRevert(t.Context(), req)
	must(t, err)
	r := out.Workspace
	if r.Name != "revert-a" || out.Target != "main" || out.Commit != tip || len(out.Conflicts) != 1 || out.Conflicts[0].Path != "README.md" || f.Git("rev-parse", "main") != tip {
		t.Errorf("%+v", out)
	}
	if again, err := f.ResolveRevert(t.Context(), req); err != nil || again.Workspace.ID != r.ID {
		t.Errorf("again: %+v, %v", again, err)
	}
	wantCode(t, errOf(f.ResolveRevert(t.Context(), croft.RevertRequest{Ref: "a"})), croft.InProgress)
	f.writeIn(r, "README.md", "mine alone\n")
	f.GitIn(r.Path, "add", "README.md")
	done := f.mustMerge(croft.MergeRequest{Workspace: "revert-a"})
	if f.Git("show", "main:README.md") != "mine alone" || f.has("a.txt") {
		t.Errorf("main has\n%s", f.Git("ls-tree", "main"))
	}
	if was, err := f.Merge(t.Context(), croft.GetRequest{Ref: string(first.ID)}); err != nil || was.Status != croft.MergeReverted || f.show("a").MergeStatus != croft.MergeReverted {
		t.Errorf("what was taken back is %+v, %v", was, err)
	}
	must(t, errOf(f.Undo(t.Context(), croft.UndoRequest{})))
	if was, err := f.Merge(t.Context(), croft.GetRequest{Ref: string(first.ID)}); err != nil || was.Status != croft.MergeMerged || !f.has("a.txt") {
		t.Errorf("after the undo: %+v, %v", was, err)
	}
	if now, err := f.Merge(t.Context(), croft.GetRequest{Ref: string(done.ID)}); err != nil || now.Status != croft.MergeReverted {
		t.Errorf("%+v, %v", now, err)
	}
}

// MergeAgain: merging again after a revert brings the work back, together with new work.
func (revertScenarios) MergeAgain(t *testing.T, f *fixture) {
	landed(t, f, "a", "b")
	for range 3 {
		if m, err := croft.Revert(t.Context(), f, croft.RevertRequest{Ref: "a"}); err != nil || m.Status != croft.MergeMerged {
			t.Fatalf("%+v, %v", m, err)
		}
		if f.has("a.txt") || !f.has("b.txt") {
			t.Fatal("not taken back")
		}
		f.mustMerge(croft.MergeRequest{Workspace: "a", After: croft.AfterKeep})
		if !f.has("a.txt") {
			t.Fatal("an empty merge")
		}
	}
	w, err := f.Workspace(t.Context(), croft.WorkspaceRequest{Ref: "a"})
	must(t, err)
	if m, err := croft.Revert(t.Context(), f, croft.RevertRequest{Ref: "a"}); err != nil || m.Status != croft.MergeMerged {
		t.Fatalf("%+v, %v", m, err)
	}
	f.writeIn(*w, "more.txt", "more\n")
	f.mustMerge(croft.MergeRequest{Workspace: "a"})
	if !f.has("a.txt") || !f.has("more.txt") {
		t.Error("not all came back")
	}
	f.WantClean(f.Dir)
}

// mergeAndRevert merges a workspace's work and reverts it.
func mergeAndRevert(t *testing.T, f *fixture, name string) {
	t.Helper()
	f.mustMerge(croft.MergeRequest{Workspace: name, After: croft.AfterKeep})
	if m, err := croft.Revert(t.Context(), f, croft.RevertRequest{Ref: name}); err != nil || m.Status != croft.MergeMerged {
		t.Fatalf("%+v, %v", m, err)
	}
}

// Resolve: merging the target into the workspace does not revert the work there.
func (revertScenarios) Resolve(t *testing.T, f *fixture) {
	w := f.createWith("a", "a.txt", "a\n")
	mergeAndRevert(t, f, "a")
	landed(t, f, "b")
	res, err := f.Resolve(t.Context(), croft.MergeRequest{Workspace: "a"})
	if err != nil || len(res.Conflicts) > 0 {
		t.Fatalf("%+v, %v", res, err)
	}
	for _, name := range []string{"a.txt", "b.txt"} {
		if _, err := f.Host.Stat(filepath.Join(w.Path, name)); err != nil {
			t.Error(err)
		}
	}
	m := f.mustMerge(croft.MergeRequest{Workspace: "a"})
	if !f.has("a.txt") || !f.has("b.txt") {
		t.Error("not all landed")
	}
	if got := f.Git("log", "--format=%P", "-1", m.Commit+"^2"); !strings.HasSuffix(got, " "+res.Commit) {
		t.Errorf("the work is on %s, not on the target %s", got, res.Commit)
	}
	f.WantClean(f.Dir)
}

// ResolveConflict: later changes by others to the reverted lines conflict with the work
// that is merged again.
func (revertScenarios) ResolveConflict(t *testing.T, f *fixture) {
	w := f.createWith("a", "src/main.txt", "one\nA\nthree\n")
	f.writeIn(w, "a.txt", "a\n")
	mergeAndRevert(t, f, "a")
	f.createWith("b", "src/main.txt", "one\nB\nthree\n")
	f.mustMerge(croft.MergeRequest{Workspace: "b"})
	if m := f.merge(croft.MergeRequest{Workspace: "a"}); m.Reason != croft.Conflict {
		t.Fatalf("%+v", m)
	}
	res, err := f.Resolve(t.Context(), croft.MergeRequest{Workspace: "a"})
	if err != nil || len(res.Conflicts) != 1 || res.Conflicts[0].Path != "src/main.txt" {
		t.Fatalf("%+v, %v", res, err)
	}
	wantCode(t, errOf(f.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "a"})), croft.InProgress)
	f.writeIn(w, "src/main.txt", "one\nA and B\nthree\n")
	f.GitIn(w.Path, "add", "src/main.txt")
	m := f.mustMerge(croft.MergeRequest{Workspace: "a"})
	if got := f.Git("show", m.Commit+":src/main.txt"); got != "one\nA and B\nthree" || !f.has("a.txt") {
		t.Errorf("landed %q", got)
	}
}

// Review: a review shows what merging again would bring, also without new work.
func (revertScenarios) Review(t *testing.T, f *fixture) {
	w := f.createWith("a", "a.txt", "a\n")
	mergeAndRevert(t, f, "a")
	landed(t, f, "b")
	shows := func(want ...string) {
		t.Helper()
		var got []string
		for _, file := range f.review("a").Files {
			got = append(got, file.Path)
		}
		if !slices.Equal(got, want) {
			t.Errorf("the review shows %q, want %q", got, want)
		}
	}
	shows("a.txt")
	f.writeIn(w, "more.txt", "more\n")
	shows("a.txt", "more.txt")
	f.mustApply(croft.ApplyRequest{Review: f.review("a").ID, Paths: []string{"a.txt"}})
	if !f.has("a.txt") || f.has("more.txt") {
		t.Error("not what was chosen")
	}
}

func (revertScenarios) Conflict(t *testing.T, f *fixture) {
	f.createWith("a", "src/main.txt", "A\n")
	first := f.mustMerge(croft.MergeRequest{Workspace: "a"})
	f.createWith("b", "src/main.txt", "A\nB\n")
	f.mustMerge(croft.MergeRequest{Workspace: "b"})
	plan, err := f.PlanRevert(t.Context(), croft.RevertRequest{Ref: "a"})
	if err != nil || len(plan.Conflicts) != 1 || plan.Conflicts[0].Path != "src/main.txt" {
		t.Fatalf("%+v, %v", plan, err)
	}
	before := f.Git("rev-parse", "main")
	m, err := croft.Revert(t.Context(), f, croft.RevertRequest{Merge: first.ID})
	if err != nil || m.Status != croft.MergePending || m.Reason != croft.Conflict || f.Git("rev-parse", "main") != before {
		t.Errorf("%+v, %v", m, err)
	}
}

func (revertScenarios) TargetMoved(t *testing.T, f *fixture) {
	merges := landed(t, f, "a")
	seen := f.Git("rev-parse", "main")
	f.commitIn(f.Dir, "x.txt", "x\n")
	wantCode(t, errOf(croft.Revert(t.Context(), f, croft.RevertRequest{Merge: merges[0].ID, Target: seen})), croft.TargetMoved)
}

func (revertScenarios) Twice(t *testing.T, f *fixture) {
	landed(t, f, "a")
	must(t, errOf(croft.Revert(t.Context(), f, croft.RevertRequest{Ref: "a"})))
	wantCode(t, errOf(croft.Revert(t.Context(), f, croft.RevertRequest{Ref: "a"})), croft.NotMerged)
}

func (revertScenarios) UndoMerge(t *testing.T, f *fixture) {
	w := f.createWith("a", "a.txt", "a\n")
	f.mustMerge(croft.MergeRequest{Workspace: "a"})
	f.last("merge", "done")
	op := f.undo(croft.UndoRequest{})
	if f.has("a.txt") {
		t.Error("the merge is still there")
	}
	if _, err := f.Host.Stat(filepath.Join(w.Path, "a.txt")); err != nil {
		t.Error("the workspace did not come back")
	}
	f.undo(croft.UndoRequest{Operation: op.ID})
	if !f.has("a.txt") {
		t.Error("the undo was not undone")
	}
	f.WantClean(f.Dir)
}

func (revertScenarios) Strategies(t *testing.T, f *fixture) {
	for _, strategy := range []croft.Strategy{croft.StrategyNoFF, croft.StrategySquash} {
		name := string(strategy)
		w := f.create(croft.CreateRequest{Name: name})
		before := f.Git("rev-parse", "main^{tree}")
		for _, file := range []string{"1", "2"} {
			f.writeIn(w, name+file, file)
			f.GitIn(w.Path, "add", "--all")
			f.GitIn(w.Path, "commit", "--quiet", "-m", file)
		}
		f.mustMerge(croft.MergeRequest{Workspace: name, Strategy: strategy, After: croft.AfterKeep})
		if !f.has(name+"1") || !f.has(name+"2") {
			t.Errorf("%s: not all landed", name)
		}
		if m, err := croft.Revert(t.Context(), f, croft.RevertRequest{Ref: name}); err != nil || m.Status != croft.MergeMerged {
			t.Fatalf("%s: %+v, %v", name, m, err)
		}
		if got := f.Git("rev-parse", "main^{tree}"); got != before {
			t.Errorf("%s: the tree is not what it was", name)
		}
		f.mustMerge(croft.MergeRequest{Workspace: name, Strategy: strategy, After: croft.AfterKeep})
		if !f.has(name+"1") || !f.has(name+"2") {
			t.Errorf("%s: not all came back", name)
		}
	}
}
