package engine_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// trashOf returns the trash directory of the removed workspace.
func (a *absentee) trashOf() string {
	return filepath.Join(filepath.Dir(a.w.Path), ".trash", string(a.w.ID))
}

// TestTrashMoved: restore and the doctor find a removed workspace in the place to which its
// trash was moved, and it comes back with all its files.
func TestTrashMoved(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		for _, how := range []string{"Parent", "Trash", "Entry"} {
			for _, act := range []string{"restore", "doctor"} {
				t.Run(kind+"/"+how+"/"+act, func(t *testing.T) {
					t.Parallel()
					a := newAbsentee(t, kind)
					a.remove(t)
					trash, parent := a.trashOf(), filepath.Dir(a.w.Path)
					want := a.w.Path
					switch how {
					case "Parent":
						rename(t, parent, parent+".renamed")
						want = filepath.Join(parent+".renamed", "w")
					case "Trash":
						rename(t, filepath.Dir(trash), filepath.Join(parent, "old-trash"))
					case "Entry":
						rename(t, trash, filepath.Join(parent, string(a.w.ID)))
					}
					if act == "doctor" {
						findings, err := a.e.Doctor(t.Context(), croft.DoctorRequest{Fix: croft.FixAll})
						if err != nil || len(findings.Findings) != 1 || findings.Findings[0].Code != "TRASH_MOVED" || !findings.Findings[0].Fixed {
							t.Fatalf("Doctor = %+v, %v", findings, err)
						}
					}
					back, err := a.e.Restore(t.Context(), croft.RestoreRequest{Ref: "w"})
					if err != nil || back.Path != want || len(back.Notes) != 0 {
						t.Fatalf("Restore = %+v, %v, want it at %s", back, err, want)
					}
					a.wantWork(t)
				})
			}
		}
	}
}

// TestTrashUnseen: a trash that cannot be found is not treated as deleted. Nothing is made
// in its place unasked, upkeep deletes no record, and once the trash is back, so is the
// workspace.
func TestTrashUnseen(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		for _, how := range []string{"Parent", "Replaced", "Commits"} {
			t.Run(kind+"/"+how, func(t *testing.T) {
				t.Parallel()
				a := newAbsentee(t, kind)
				a.remove(t)
				parent, aside := filepath.Dir(a.w.Path), filepath.Join(a.Home, "aside")
				rename(t, parent, aside)
				if how == "Replaced" {
					gittest.WriteFile(t, filepath.Join(a.trashOf(), "tree", "mine.txt"), "mine\n")
				}
				for _, act := range []func() error{
					func() error { _, err := a.e.Restore(t.Context(), croft.RestoreRequest{Ref: "w"}); return err },
					func() error { _, err := a.e.Undo(t.Context(), croft.UndoRequest{}); return err },
				} {
					wantCode(t, act(), croft.WorkspaceBroken)
				}
				if _, err := engineIn(t, a.Repo, 20*day).GC(t.Context(), croft.GCRequest{}); err != nil && how != "Replaced" {
					t.Fatal(err)
				}
				if how == "Replaced" {
					wantContents(t, a.trashOf(), map[string]string{"tree/mine.txt": "mine\n"})
					if err := os.RemoveAll(parent); err != nil {
						t.Fatal(err)
					}
				}
				if how == "Commits" {
					a.wantCommits(t, aside)
					return
				}
				rename(t, aside, parent)
				if _, err := a.e.Restore(t.Context(), croft.RestoreRequest{Ref: "w"}); err != nil {
					t.Fatal(err)
				}
				a.wantWork(t)
			})
		}
	}
}

// wantCommits restores a workspace from git's objects while its trash is elsewhere, and
// checks that the trash, and the objects that it needs, are unchanged.
func (a *absentee) wantCommits(t *testing.T, aside string) {
	t.Helper()
	back, err := a.e.Restore(t.Context(), croft.RestoreRequest{Ref: "w", Mode: croft.RestoreCommits})
	if err != nil || len(back.Notes) != 1 || read(t, filepath.Join(back.Path, "done.txt")) != "done\n" {
		t.Fatalf("Restore = %+v, %v", back, err)
	}
	wantContents(t, filepath.Join(aside, ".trash", string(a.w.ID), "tree"), a.was)
	common := a.gitDir(t)
	a.GitIn(a.Home, "--git-dir="+common, "gc", "--quiet", "--prune=now")
	a.GitIn(a.Home, "--git-dir="+common, "cat-file", "-e", a.blob)
}

// TestMovedTogether: a repository that was moved with its workspaces and its trash has them
// again.
func TestMovedTogether(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"worktree", "isolated"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			a := newAbsentee(t, kind)
			gone := create(t, a.e, croft.CreateRequest{Name: "gone", Mode: a.w.Mode})
			gittest.WriteFile(t, filepath.Join(gone.Path, "gone.txt"), "gone\n")
			res, err := a.e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"gone"}, Mode: croft.RemoveForce})
			if err != nil || len(res.Removed) != 1 {
				t.Fatalf("Remove = %+v, %v", res, err)
			}
			if err := a.e.Close(); err != nil {
				t.Fatal(err)
			}
			top := filepath.Dir(a.Dir)
			rename(t, top, top+"2")
			a.Dir = filepath.Join(top+"2", "app")
			a.e = engineIn(t, a.Repo, 0)
			to := filepath.Join(a.Dir+".croft", "w")
			if got := show(t, a.e, "w"); got.Path != to || got.Fault != croft.FaultMoved {
				t.Errorf("%+v", got)
			}
			findings, err := a.e.Doctor(t.Context(), croft.DoctorRequest{Fix: croft.FixAll})
			if err != nil || slices.ContainsFunc(findings.Findings, func(f croft.Finding) bool { return !f.Fixed }) {
				t.Fatalf("Doctor = %+v, %v", findings, err)
			}
			a.wantWork(t)
			back, err := a.e.Restore(t.Context(), croft.RestoreRequest{Ref: "gone"})
			if err != nil || back.Path != filepath.Join(a.Dir+".croft", "gone") || read(t, filepath.Join(back.Path, "gone.txt")) != "gone\n" {
				t.Errorf("Restore = %+v, %v", back, err)
			}
		})
	}
}

// TestUnknownTrash: after the state and its copy are lost, the doctor names the entries of
// the trash, and binds them with all their files once a person agrees.
func TestUnknownTrash(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"worktree", "isolated"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			a := newAbsentee(t, kind)
			a.remove(t)
			if err := errors.Join(a.e.Close(), os.RemoveAll(filepath.Join(a.Home, "state")), os.RemoveAll(filepath.Join(a.Home, "data"))); err != nil {
				t.Fatal(err)
			}
			a.e = engineIn(t, a.Repo, 0)
			if _, err := a.e.Doctor(t.Context(), croft.DoctorRequest{Fix: croft.FixAll}); err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(a.e.Notices(), func(s string) bool { return strings.Contains(s, a.trashOf()) }) {
				t.Errorf("said %q", a.e.Notices())
			}
			wantContents(t, filepath.Join(a.trashOf(), "tree"), a.was)
			if _, err := a.e.Doctor(t.Context(), croft.DoctorRequest{Import: croft.ImportAll}); err != nil {
				t.Fatal(err)
			}
			back, err := a.e.Restore(t.Context(), croft.RestoreRequest{Ref: string(a.w.ID)})
			if err != nil {
				t.Fatal(err)
			}
			wantContents(t, back.Path, a.was)
		})
	}
}
