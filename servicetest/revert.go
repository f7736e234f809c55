package servicetest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft"
)

func revertScenarios() []scenario {
	return []scenario{
		{"Later", revertWithLater},
		{"MergeAgain", revertAndAgain},
		{"Conflict", revertConflict},
		{"TargetMoved", revertTargetMoved},
		{"Twice", revertTwice},
		{"UndoMerge", undoMerge},
		{"Strategies", revertStrategies},
	}
}

// landed makes workspaces with a file each and merges them.
func landed(t *testing.T, f *fixture, names ...string) []croft.Merge {
	t.Helper()
	var merges []croft.Merge
	for _, n := range names {
		w := f.create(croft.CreateRequest{Name: n})
		write(t, w, n+".txt", n+"\n")
		merges = append(merges, f.mustMerge(croft.MergeRequest{Workspace: n, After: croft.AfterKeep}))
	}
	return merges
}

func (f *fixture) has(name string) bool {
	_, err := os.Stat(filepath.Join(f.Dir, name))
	return err == nil
}

func revertWithLater(t *testing.T, f *fixture) {
	merges := landed(t, f, "a", "b", "c")
	plan, err := f.PlanRevert(t.Context(), croft.RevertRequest{Merge: merges[0].ID})
	if err != nil || plan.Later != 2 || plan.Target != f.Git("rev-parse", "main") || len(plan.Conflicts) != 0 {
		t.Fatalf("%+v, %v", plan, err)
	}
	f.Git("branch", "by-hand")
	m, err := f.Revert(t.Context(), croft.RevertRequest{Merge: merges[0].ID, Target: plan.Target})
	if err != nil || m.Status != croft.MergeMerged || m.Kind != croft.KindRevert || m.Reverts != merges[0].ID || m.Later != 2 {
		t.Fatalf("%+v, %v", m, err)
	}
	f.clean(f.Dir)
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

// Merging again after a revert brings the work back, with what was added.
func revertAndAgain(t *testing.T, f *fixture) {
	landed(t, f, "a", "b")
	for range 3 {
		if m, err := f.Revert(t.Context(), croft.RevertRequest{Ref: "a"}); err != nil || m.Status != croft.MergeMerged {
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
	if err != nil {
		t.Fatal(err)
	}
	if m, err := f.Revert(t.Context(), croft.RevertRequest{Ref: "a"}); err != nil || m.Status != croft.MergeMerged {
		t.Fatalf("%+v, %v", m, err)
	}
	write(t, *w, "more.txt", "more\n")
	f.mustMerge(croft.MergeRequest{Workspace: "a"})
	if !f.has("a.txt") || !f.has("more.txt") {
		t.Error("not all came back")
	}
	f.clean(f.Dir)
}

func revertConflict(t *testing.T, f *fixture) {
	a := f.create(croft.CreateRequest{Name: "a"})
	write(t, a, "src/main.txt", "A\n")
	first := f.mustMerge(croft.MergeRequest{Workspace: "a"})
	b := f.create(croft.CreateRequest{Name: "b"})
	write(t, b, "src/main.txt", "A\nB\n")
	f.mustMerge(croft.MergeRequest{Workspace: "b"})
	plan, err := f.PlanRevert(t.Context(), croft.RevertRequest{Ref: "a"})
	if err != nil || len(plan.Conflicts) != 1 || plan.Conflicts[0].Path != "src/main.txt" {
		t.Fatalf("%+v, %v", plan, err)
	}
	before := f.Git("rev-parse", "main")
	m, err := f.Revert(t.Context(), croft.RevertRequest{Merge: first.ID})
	if err != nil || m.Status != croft.MergePending || m.Reason != croft.Conflict || f.Git("rev-parse", "main") != before {
		t.Errorf("%+v, %v", m, err)
	}
}

func revertTargetMoved(t *testing.T, f *fixture) {
	merges := landed(t, f, "a")
	seen := f.Git("rev-parse", "main")
	f.Write("x.txt", "x\n")
	f.Commit("moved")
	_, err := f.Revert(t.Context(), croft.RevertRequest{Merge: merges[0].ID, Target: seen})
	wantCode(t, err, croft.TargetMoved)
}

func revertTwice(t *testing.T, f *fixture) {
	landed(t, f, "a")
	if _, err := f.Revert(t.Context(), croft.RevertRequest{Ref: "a"}); err != nil {
		t.Fatal(err)
	}
	_, err := f.Revert(t.Context(), croft.RevertRequest{Ref: "a"})
	wantCode(t, err, croft.NotMerged)
}

func undoMerge(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	write(t, w, "a.txt", "a\n")
	f.mustMerge(croft.MergeRequest{Workspace: "a"})
	f.last("merge", "done")
	op := f.undo(croft.UndoRequest{})
	if f.has("a.txt") {
		t.Error("the merge is still there")
	}
	if _, err := os.Stat(filepath.Join(w.Path, "a.txt")); err != nil {
		t.Error("the workspace did not come back")
	}
	f.undo(croft.UndoRequest{Operation: op.ID})
	if !f.has("a.txt") {
		t.Error("the undo was not undone")
	}
	f.clean(f.Dir)
}

func revertStrategies(t *testing.T, f *fixture) {
	for _, strategy := range []croft.Strategy{croft.StrategySquash, croft.StrategyRebase} {
		name := string(strategy)
		w := f.create(croft.CreateRequest{Name: name})
		before := f.Git("rev-parse", "main^{tree}")
		for _, file := range []string{"1", "2"} {
			write(t, w, name+file, file)
			f.GitIn(w.Path, "add", "--all")
			f.GitIn(w.Path, "commit", "--quiet", "-m", file)
		}
		f.mustMerge(croft.MergeRequest{Workspace: name, Strategy: strategy, After: croft.AfterKeep})
		if !f.has(name+"1") || !f.has(name+"2") {
			t.Errorf("%s: not all landed", name)
		}
		if m, err := f.Revert(t.Context(), croft.RevertRequest{Ref: name}); err != nil || m.Status != croft.MergeMerged {
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
