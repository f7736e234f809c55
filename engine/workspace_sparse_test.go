package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestSparseLeavesNothingOutOfCommits: in workspaces that are sparse as the project is, with and without cones, or as the
// settings say, files that are left out are no deletions: in a status, a saved commit, a merge, a snapshot, a removal and
// what is restored afterwards, also when the registration was lost.
func TestSparseLeavesNothingOutOfCommits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		project  func(r *gittest.Repo)
		settings []string
	}{
		"cone": {project: func(r *gittest.Repo) { r.Git("sparse-checkout", "set", "--cone", "src") }},
		"no cone": {project: func(r *gittest.Repo) {
			r.Git("sparse-checkout", "set", "--no-cone", "/*", "!/far", "!/src/hidden.txt")
		}},
		"in the common configuration": {project: func(r *gittest.Repo) {
			r.Git("config", "core.sparseCheckout", "true")
			r.Write(".git/info/sparse-checkout", "/*\n!/*/\n/src/\n")
			r.Git("read-tree", "-mu", "HEAD")
		}},
		"set": {settings: []string{"checkout.sparse", "src"}},
		"set otherwise": {
			project: func(r *gittest.Repo) { r.Git("sparse-checkout", "set", "--cone", "far") }, settings: []string{"checkout.sparse", "src"},
		},
	} {
		for _, mode := range []croft.Mode{croft.ModeWorktree, croft.ModeIsolated} {
			t.Run(name+" "+string(mode), func(t *testing.T) {
				t.Parallel()
				r := gittest.New(t)
				for _, file := range []string{"far/a.txt", "far/away/b.txt", "src/hidden.txt", "src/seen.txt"} {
					r.Write(file, file+"\n")
				}
				r.Commit("files")
				if c.project != nil {
					c.project(r)
				}
				e := engineIn(t, r, 0, c.settings...)
				w := create(t, e, croft.CreateRequest{Name: "a", Mode: mode})
				in := func(name string) string { return filepath.Join(w.Path, name) }
				clean := func(when string) {
					t.Helper()
					if exists(in("far")) || !exists(in("src/seen.txt")) {
						t.Errorf("%s: the workspace has other files", when)
					}
					if got := r.GitIn(w.Path, "status", "--porcelain"); got != "" {
						t.Errorf("%s: git status: %s", when, got)
					}
					if s, err := e.Status(t.Context(), croft.StatusRequest{Workspace: w.ID}); err != nil || s.Dirty() {
						t.Errorf("%s: Status = %+v, %v", when, s, err)
					}
				}
				clean("new")

				gittest.WriteFile(t, in("src/one.txt"), "1\n")
				if _, err := e.Save(t.Context(), croft.SaveRequest{Workspace: "a", Message: "one"}); err != nil {
					t.Fatal(err)
				}
				clean("saved")
				gittest.WriteFile(t, in("src/seen.txt"), "seen\n")
				snap, err := e.TakeSnapshot(t.Context(), croft.SnapshotRequest{Workspace: "a"})
				if err != nil || snap.Files != 1 {
					t.Errorf("%+v, %v", snap, err)
				}
				gittest.WriteFile(t, in("src/seen.txt"), "other\n")
				if _, err := e.Restore(t.Context(), croft.RestoreRequest{Ref: string(snap.ID)}); err != nil {
					t.Fatal(err)
				}
				if got := r.GitIn(w.Path, "status", "--porcelain"); strings.TrimSpace(got) != "M src/seen.txt" || exists(in("far")) {
					t.Errorf("rewound: %q", got)
				}
				remove := func() {
					t.Helper()
					if res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce}); err != nil || len(res.Removed) != 1 {
						t.Fatalf("%+v, %v", res, err)
					}
				}
				restore := func(when string) {
					t.Helper()
					if _, err := e.Restore(t.Context(), croft.RestoreRequest{Ref: "a"}); err != nil {
						t.Fatal(err)
					}
					if got := r.GitIn(w.Path, "status", "--porcelain"); strings.TrimSpace(got) != "M src/seen.txt" || exists(in("far")) {
						t.Errorf("%s: %q", when, got)
					}
				}
				remove()
				restore("restored from the trash")
				remove()
				if _, err := engineIn(t, r, 8*24*time.Hour, append([]string{"trash.notice", "0s"}, c.settings...)...).GC(t.Context(), croft.GCRequest{}); err != nil {
					t.Fatal(err)
				}
				if exists(trashedAt(r, w)) {
					t.Error("it is still in the trash")
				}
				restore("restored from the snapshot")
				if mode == croft.ModeWorktree {
					admin := filepath.Join(r.Dir, ".git", "worktrees", "croft-"+string(w.ID))
					if err := os.RemoveAll(admin); err != nil {
						t.Fatal(err)
					}
					if _, err := e.Doctor(t.Context(), croft.DoctorRequest{Fix: croft.FixAll}); err != nil {
						t.Fatal(err)
					}
					if got := r.GitIn(w.Path, "status", "--porcelain"); strings.TrimSpace(got) != "M src/seen.txt" {
						t.Errorf("registered again: %q", got)
					}
				}

				if err := (task{Merge: []croft.MergeRequest{{Workspace: "a"}}}).bringBack(t.Context(), e); err != nil {
					t.Fatal(err)
				}
				if got := r.Git("diff", "--name-status", w.Base, "main"); got != "A\tsrc/one.txt\nM\tsrc/seen.txt" {
					t.Errorf("landed:\n%s", got)
				}
			})
		}
	}
}
