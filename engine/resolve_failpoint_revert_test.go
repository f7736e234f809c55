//go:build failpoints

package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// revertsInConflict returns a repository in which the merge of a cannot be taken back without a decision, because the
// user changed the same line since, and a task that makes the workspace for it.
func revertsInConflict(t *testing.T) (*gittest.Repo, task) {
	t.Helper()
	r := gittest.New(t)
	r.Write("f", "one\ntwo\nthree\n")
	r.Commit("f")
	brief(t, r, func(e *engine.Engine) {
		w := create(t, e, croft.CreateRequest{Name: "a"})
		gittest.WriteFile(t, filepath.Join(w.Path, "f"), "one\nA\nthree\n")
		gittest.WriteFile(t, filepath.Join(w.Path, "new.txt"), "new\n")
		if err := (task{Merge: []croft.MergeRequest{{Workspace: "a"}}}).bringBack(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	})
	r.Write("f", "one\nA and mine\nthree\n")
	r.Commit("mine")
	r.Write("wip.txt", "the user's\n")
	req, err := json.Marshal(croft.RevertRequest{Ref: "a"})
	if err != nil {
		t.Fatal(err)
	}
	return r, task{Call: "ResolveRevert", Request: req}
}

// wantRevertToResolve asks for the workspace again, and wants one, in conflict, beside a target and a checkout that are as they were.
// Once that is resolved and merged, the merge of a is reverted.
func wantRevertToResolve(t *testing.T, r *gittest.Repo, tip string) {
	t.Helper()
	e := engineIn(t, r, 0)
	if _, err := e.ResolveRevert(t.Context(), croft.RevertRequest{Ref: "a"}); err != nil && !errors.Is(err, croft.InProgress) {
		t.Fatal(err)
	}
	list, err := e.Workspaces(t.Context(), croft.WorkspacesRequest{})
	if err != nil || len(list.Items) != 1 || list.Items[0].Name != "revert-a" {
		t.Fatalf("%+v, %v", list, err)
	}
	path := list.Items[0].Path
	if got := read(t, filepath.Join(path, "f")); !strings.Contains(got, "<<<<<<<") || exists(filepath.Join(path, "new.txt")) {
		t.Errorf("to be resolved is\n%s", got)
	}
	if got := r.Git("status", "--porcelain"); got != "?? wip.txt" || r.Git("rev-parse", "main") != tip {
		t.Errorf("main moved, or its checkout shows %q", got)
	}
	gittest.WriteFile(t, filepath.Join(path, "f"), "one\ntwo and mine\nthree\n")
	r.GitIn(path, "add", "f")
	m, err := e.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "revert-a"})
	if err == nil {
		m, err = e.WaitMerge(t.Context(), croft.WaitRequest{Merge: m.ID})
	}
	if err != nil || m.Status != croft.MergeMerged {
		t.Fatalf("%+v, %v", m, err)
	}
	if got := read(t, filepath.Join(r.Dir, "f")); got != "one\ntwo and mine\nthree\n" || exists(filepath.Join(r.Dir, "new.txt")) {
		t.Errorf("main has %q", got)
	}
	all, err := e.Merges(t.Context(), croft.MergesRequest{Scope: croft.ScopeAll})
	if err != nil {
		t.Fatal(err)
	}
	reverted := 0
	for _, m := range all.Items {
		if m.WorkspaceName == "a" && m.Kind == croft.KindMerge && m.Status == croft.MergeReverted {
			reverted++
		}
	}
	if reverted != 1 {
		t.Errorf("%d merges of a are reverted", reverted)
	}
	r.Git("fsck", "--strict", "--no-dangling")
	wantNoLocks(t, r)
}

// TestKilledResolveRevert kills a process that makes the workspace for a revert in conflict, at every point. The same call goes on: there
// is one workspace, and merging it takes the merge back.
func TestKilledResolveRevert(t *testing.T) {
	fewPoints(t, revertsInConflict, func(t *testing.T, r *gittest.Repo, job task, n int) {
		tip := r.Git("rev-parse", "main")
		killed(t, helper(t, r, job, fmt.Sprintf("CROFT_FAILPOINT=kill=#%d", n)))
		wantRevertToResolve(t, r, tip)
	})
}

// TestFailedResolveRevert has every step fail instead.
func TestFailedResolveRevert(t *testing.T) {
	fewPoints(t, revertsInConflict, func(t *testing.T, r *gittest.Repo, job task, n int) {
		tip := r.Git("rev-parse", "main")
		out, err := run(t, helper(t, r, job, fmt.Sprintf("CROFT_FAILPOINT=fail=#%d", n)))
		if err != nil && strings.Contains(out, untyped) {
			t.Errorf("a failure without a code: %s", out)
		}
		wantRevertToResolve(t, r, tip)
	})
}
