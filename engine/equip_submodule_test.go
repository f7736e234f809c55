package engine_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// withSubmodule returns a repository that asks for its submodules to be filled, and has one with another inside,
// whose remotes are gone.
func withSubmodule(t *testing.T) *gittest.Repo {
	t.Helper()
	inner, lib := gittest.New(t), gittest.New(t)
	lib.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner.Dir, "inner")
	lib.Commit("inner")
	r := gittest.New(t)
	r.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib.Dir, "lib")
	r.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init", "--recursive")
	r.Write("croft.toml", "[provision]\nsubmodules = true\n")
	r.Commit("submodules")
	if err := errors.Join(os.RemoveAll(inner.Dir), os.RemoveAll(lib.Dir)); err != nil {
		t.Fatal(err)
	}
	return r
}

// workInSubmodules makes commits and leaves files in the submodules of a workspace, and returns a check that they are there.
func workInSubmodules(t *testing.T, r *gittest.Repo, w croft.Workspace) (check func(when string)) {
	t.Helper()
	type state struct{ log, open string }
	see := func(sub string) state {
		dir := filepath.Join(w.Path, sub)
		log, err := r.TryGit(dir, "log", "--format=%H %s", "--patch", "HEAD", "other")
		if err != nil {
			log = err.Error()
		}
		open, _ := os.ReadFile(filepath.Join(dir, "open"))
		status, _ := r.TryGit(dir, "status", "--porcelain", "--branch")
		return state{log + status, string(open)}
	}
	was := map[string]state{}
	for _, sub := range []string{"lib/inner", "lib"} {
		dir := filepath.Join(w.Path, sub)
		gittest.WriteFile(t, filepath.Join(dir, "new"), sub)
		r.GitIn(dir, "branch", "other")
		r.GitIn(dir, "add", "new")
		r.GitIn(dir, "commit", "--quiet", "--message", "work in "+sub)
		gittest.WriteFile(t, filepath.Join(dir, "open"), "open in "+sub)
	}
	for _, sub := range []string{"lib/inner", "lib"} {
		was[sub] = see(sub)
	}
	return func(when string) {
		t.Helper()
		for sub, s := range was {
			if now := see(sub); now != s {
				t.Errorf("%s: %s is %+v, was %+v", when, sub, now, s)
			}
		}
	}
}

// TestWorkInSubmodulesIsKept: commits and files in a filled submodule come back after the workspace was removed, from
// the trash and, when the directory is deleted, from the snapshot, and after it was rewound.
func TestWorkInSubmodulesIsKept(t *testing.T) {
	t.Parallel()
	for _, mode := range []croft.Mode{croft.ModeWorktree, croft.ModeIsolated} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			r := withSubmodule(t)
			e := engineIn(t, r, 0)
			w := create(t, e, croft.CreateRequest{Name: "a", Mode: mode})
			if got := w.Provision; got == nil || len(got.Paths) != 2 || got.Paths[1].How != croft.ProvisionCheckout {
				t.Fatalf("%+v", got)
			}
			if s, err := e.Status(t.Context(), croft.StatusRequest{Workspace: w.ID}); err != nil || s.Dirty() {
				t.Fatalf("Status = %+v, %v", s, err)
			}
			check := workInSubmodules(t, r, w)
			if res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}}); err == nil && len(res.Removed) > 0 {
				t.Errorf("work in a submodule does not keep the workspace: %+v", res)
			}
			remove := func(e *engine.Engine) {
				t.Helper()
				if res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce}); err != nil || len(res.Removed) != 1 {
					t.Fatalf("Remove: %+v, %v", res, err)
				}
			}
			restore := func() {
				t.Helper()
				if _, err := e.Restore(t.Context(), croft.RestoreRequest{Ref: "a"}); err != nil {
					t.Fatal(err)
				}
			}
			remove(e)
			restore()
			check("restored from the trash")
			snap, err := e.TakeSnapshot(t.Context(), croft.SnapshotRequest{Workspace: "a"})
			if err == nil {
				err = os.RemoveAll(filepath.Join(w.Path, "lib"))
			}
			if err == nil {
				_, err = e.Restore(t.Context(), croft.RestoreRequest{Ref: string(snap.ID)})
			}
			if err != nil {
				t.Fatal(err)
			}
			check("rewound")
			if err := os.RemoveAll(filepath.Join(r.Dir, ".git", "modules")); err != nil {
				t.Fatal(err)
			}
			remove(e)
			if _, err := engineIn(t, r, 8*24*time.Hour, "trash.notice", "0s").GC(t.Context(), croft.GCRequest{}); err != nil {
				t.Fatal(err)
			}
			if exists(trashedAt(r, w)) {
				t.Error("the directory stays in the trash")
			}
			restore()
			check("restored from the snapshot")
		})
	}
}

// TestSubmodulesAreTheUsersChoice: the croft.toml of an agent's commit does not decide.
func TestSubmodulesAreTheUsersChoice(t *testing.T) {
	t.Parallel()
	r := withSubmodule(t)
	r.Git("checkout", "--quiet", "-b", "agents")
	r.Git("checkout", "--quiet", "main")
	r.Write("croft.toml", "")
	w := create(t, engineIn(t, r, 0), croft.CreateRequest{Name: "a", Base: "agents"})
	if w.Provision != nil || exists(filepath.Join(w.Path, "lib", ".git")) {
		t.Errorf("filled: %+v", w.Provision)
	}
}
