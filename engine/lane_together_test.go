package engine_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/proc"
)

// transactions counts what the second copy of the database has grown by.
func transactions(t *testing.T, r *gittest.Repo, do func()) int {
	t.Helper()
	count := func() (n int) {
		files, err := filepath.Glob(filepath.Join(filepath.Dir(stateDir(r)), "*", "state", "*.log"))
		if err != nil || len(files) != 1 {
			t.Fatalf("copies: %v, %v", files, err)
		}
		text, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Count(text, []byte("\n"))
	}
	before := count()
	do()
	return count() - before
}

// manyWith makes workspaces with one uncommitted file each.
func manyWith(t *testing.T, e *engine.Engine, prefix string, n int) (names []string) {
	t.Helper()
	for i := range n {
		name := fmt.Sprintf("%s%d", prefix, i)
		w := create(t, e, croft.CreateRequest{Name: name})
		gittest.WriteFile(t, filepath.Join(w.Path, name), name+"\n")
		names = append(names, name)
	}
	return names
}

// mergeAll submits the work of workspaces by one call and lands it.
func mergeAll(t *testing.T, e *engine.Engine, names []string) map[string]croft.Merge {
	t.Helper()
	res, err := e.SubmitMerges(t.Context(), croft.SubmitMergesRequest{Workspaces: names})
	if err != nil {
		t.Fatal(err)
	}
	done := map[string]croft.Merge{}
	for _, m := range res.Merges {
		now, err := e.WaitMerge(t.Context(), croft.WaitRequest{Merge: m.ID})
		if err != nil {
			t.Fatal(err)
		}
		done[now.WorkspaceName] = *now
	}
	return done
}

// TestTogetherCosts: workspaces that are merged and removed, or only removed, by one call take
// fewer transactions than there are workspaces.
func TestTogetherCosts(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	const n = 12
	names := manyWith(t, e, "m", n)
	took := transactions(t, r, func() {
		for name, m := range mergeAll(t, e, names) {
			if m.Status != croft.MergeMerged || m.Kept != nil {
				t.Errorf("%s: %+v", name, m)
			}
		}
	})
	t.Logf("%d merges: %d transactions", n, took)
	if took >= n {
		t.Errorf("%d merges take %d transactions", n, took)
	}
	names = manyWith(t, e, "r", n)
	took = transactions(t, r, func() {
		res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: names, Mode: croft.RemoveForce})
		if err != nil || len(res.Removed) != n {
			t.Errorf("%+v, %v", res, err)
		}
	})
	t.Logf("%d removals: %d transactions", n, took)
	if took >= n {
		t.Errorf("%d removals take %d transactions", n, took)
	}
	for _, name := range names { // each can be brought back by itself, with its work
		w, err := e.Restore(t.Context(), croft.RestoreRequest{Ref: name})
		if err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(filepath.Join(w.Path, name)); err != nil || string(text) != name+"\n" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

// TestTogetherKept: of several workspaces that are merged by one call, one that has a process in
// it, one that was written after it was submitted, and one with commits that came after stay, and
// say why; the others go.
func TestTogetherKept(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	names := manyWith(t, e, "w", 6)
	res, err := e.SubmitMerges(t.Context(), croft.SubmitMergesRequest{Workspaces: names})
	if err != nil {
		t.Fatal(err)
	}
	path := func(name string) string {
		w, err := e.Workspace(t.Context(), croft.WorkspaceRequest{Ref: name})
		if err != nil {
			t.Fatal(err)
		}
		return w.Path
	}
	sleeper := exec.Command("sleep", "600")
	sleeper.Dir = path("w1")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sleeper.Process.Kill(); _ = sleeper.Wait() }()
	gittest.WriteFile(t, filepath.Join(path("w2"), "later"), "later\n")
	gittest.WriteFile(t, filepath.Join(path("w3"), "later"), "later\n")
	r.GitIn(path("w3"), "add", "later")
	r.GitIn(path("w3"), "commit", "--quiet", "--message", "later")
	want := map[string]croft.Code{"w1": croft.WorkspaceBusy, "w2": croft.WorkspaceDirty, "w3": croft.WorkspaceDirty}
	if _, known := proc.Occupants(t.TempDir()); !known {
		delete(want, "w1") // this platform does not tell
	}
	for _, m := range res.Merges {
		now, err := e.WaitMerge(t.Context(), croft.WaitRequest{Merge: m.ID})
		if err != nil || now.Status != croft.MergeMerged {
			t.Fatalf("%+v, %v", now, err)
		}
		code := croft.Code("")
		if now.Kept != nil {
			code = now.Kept.Code
		}
		if code != want[m.WorkspaceName] {
			t.Errorf("%s was kept because of %q (%+v), want %q", m.WorkspaceName, code, now.Kept, want[m.WorkspaceName])
		}
		_, err = e.Workspace(t.Context(), croft.WorkspaceRequest{Ref: m.WorkspaceName})
		if isThere := err == nil; isThere != (want[m.WorkspaceName] != "") {
			t.Errorf("%s is there: %v", m.WorkspaceName, isThere)
		}
	}
}

// TestTogetherOneFails: of several workspaces that are removed by one call, one whose place in the
// trash is taken stays live, and can be removed once it is free; the others go.
func TestTogetherOneFails(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	names := manyWith(t, e, "w", 4)
	// A lock on the archive's ref of one of them refuses what pins it.
	w, err := e.Workspace(t.Context(), croft.WorkspaceRequest{Ref: "w1"})
	if err != nil {
		t.Fatal(err)
	}
	r.Git("update-ref", "refs/croft/archive/"+string(w.ID), "HEAD") // a file where a directory is needed
	res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: names, Mode: croft.RemoveForce})
	if err != nil || len(res.Removed) != 3 || len(res.Kept) != 1 || res.Kept[0].Name != "w1" {
		t.Fatalf("%+v, %v", res, err)
	}
	if _, err := os.Stat(filepath.Join(w.Path, "w1")); err != nil {
		t.Error(err)
	}
	r.Git("update-ref", "-d", "refs/croft/archive/"+string(w.ID))
	if res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"w1"}, Mode: croft.RemoveForce}); err != nil || len(res.Removed) != 1 {
		t.Fatalf("%+v, %v", res, err)
	}
}
