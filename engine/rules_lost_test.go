package engine_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestLostRules: the object of the target's croft.toml is lost, as an agent can delete it
// in a linked workspace. Croft does not treat the target as one without checks.
func TestLostRules(t *testing.T) {
	t.Parallel()
	for _, lost := range []string{"main:croft.toml", "main^{tree}"} {
		t.Run(lost, func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			r.Write("croft.toml", "[merge]\nchecks = [\"false\"]\n")
			before := r.Commit("checks")
			e := engineIn(t, r, 0)
			w := create(t, e, croft.CreateRequest{Name: "a"})
			gittest.WriteFile(t, filepath.Join(w.Path, "work.txt"), "work\n")
			r.GitIn(w.Path, "add", "--all")
			r.GitIn(w.Path, "commit", "--quiet", "-m", "work")
			oid := r.Git("rev-parse", lost)
			if err := os.Remove(filepath.Join(r.Dir, ".git", "objects", oid[:2], oid[2:])); err != nil {
				t.Fatal(err)
			}
			e = engineIn(t, r, 0) // which remembers nothing of the target
			if plan, err := e.Checks(t.Context(), croft.ChecksRequest{}); !errors.Is(err, croft.ObjectMissing) {
				t.Errorf("the checks are %+v, %v, want %s", plan, err, croft.ObjectMissing)
			}
			if m, err := e.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "a"}); err == nil {
				if m, err = e.WaitMerge(t.Context(), croft.WaitRequest{Merge: m.ID}); err == nil && m.Status == croft.MergeMerged {
					t.Errorf("merged without its checks: %+v", m)
				}
			}
			if now := r.Git("rev-parse", "main"); now != before {
				t.Errorf("main was moved to %s", now)
			}
		})
	}
}

// TestLostRulesOfOneTarget: the queue shows the merges of all targets, and for the target
// whose croft.toml is lost why it cannot be read.
func TestLostRulesOfOneTarget(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	r.Git("branch", "other")
	e := engineIn(t, r, 0)
	for _, name := range []string{"first", "second"} {
		target := map[string]string{"first": "main", "second": "other"}[name]
		w := create(t, e, croft.CreateRequest{Name: name, Base: target, Target: target})
		gittest.WriteFile(t, filepath.Join(w.Path, name), "work\n")
		r.GitIn(w.Path, "add", "--all")
		r.GitIn(w.Path, "commit", "--quiet", "-m", "work")
		m, err := e.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: name})
		if err == nil {
			m, err = e.WaitMerge(t.Context(), croft.WaitRequest{Merge: m.ID})
		}
		if err != nil || m.Status != croft.MergeMerged {
			t.Fatalf("%+v, %v", m, err)
		}
	}
	r.Write("croft.toml", "[merge]\nchecks = [\"true\"]\n") // main moves outside of its lane
	r.Commit("checks")
	oid := r.Git("rev-parse", "main:croft.toml")
	if err := os.Remove(filepath.Join(r.Dir, ".git", "objects", oid[:2], oid[2:])); err != nil {
		t.Fatal(err)
	}
	lanes, err := e.Lanes(t.Context(), croft.LanesRequest{})
	if err != nil || len(lanes.Items) != 2 {
		t.Fatalf("Lanes = %+v, %v, want both", lanes, err)
	}
	main, other := lanes.Items[0], lanes.Items[1]
	if main.Target != "main" || main.Reason != croft.ObjectMissing || main.Hint == "" || main.Message == "" || main.Added != 1 {
		t.Errorf("main is %+v", main)
	}
	if other.Target != "other" || other.Reason != "" || other.Message != "" {
		t.Errorf("other is %+v", other)
	}
}
