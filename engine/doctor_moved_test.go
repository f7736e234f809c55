package engine_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// moves are the ways in which a workspace's directory can be moved. Each returns the new
// path.
func moves(a *absentee) map[string]func(t *testing.T) string {
	top := filepath.Dir(a.Dir)
	moved := map[string]func(t *testing.T) string{
		"Beside": func(t *testing.T) string {
			rename(t, a.w.Path, a.w.Path+".moved")
			return a.w.Path + ".moved"
		},
		"Up": func(t *testing.T) string {
			rename(t, a.w.Path, filepath.Join(top, "moved"))
			return filepath.Join(top, "moved")
		},
		"Down": func(t *testing.T) string {
			into := filepath.Join(filepath.Dir(a.w.Path), "old")
			if err := os.Mkdir(into, 0o755); err != nil {
				t.Fatal(err)
			}
			rename(t, a.w.Path, filepath.Join(into, "w"))
			return filepath.Join(into, "w")
		},
		"Parent": func(t *testing.T) string {
			rename(t, filepath.Dir(a.w.Path), filepath.Join(top, "renamed"))
			return filepath.Join(top, "renamed", "w")
		},
		"Replaced": func(t *testing.T) string {
			rename(t, a.w.Path, filepath.Join(top, "moved"))
			gittest.WriteFile(t, filepath.Join(a.w.Path, "mine.txt"), "mine\n")
			return filepath.Join(top, "moved")
		},
	}
	return moved
}

// TestMoved: a workspace whose directory was moved is shown at its new path. Its lease,
// branch and record stay, and the record gets the new path when the doctor is asked to mend
// it, or when the workspace is removed.
func TestMoved(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		for how := range moves(&absentee{Repo: &gittest.Repo{}}) {
			for _, act := range []string{"doctor", "remove"} {
				t.Run(kind+"/"+how+"/"+act, func(t *testing.T) {
					t.Parallel()
					a := newAbsentee(t, kind)
					to := moves(a)[how](t)
					a.wantMoved(t, to)
					if act == "doctor" {
						a.wantFollowed(t, to)
					} else {
						a.wantRemovedAndRestored(t, to)
					}
					if how == "Replaced" {
						wantContents(t, a.w.Path, map[string]string{"mine.txt": "mine\n"})
					}
				})
			}
		}
	}
}

// wantMoved fails unless the workspace is shown at its new path and is still live.
func (a *absentee) wantMoved(t *testing.T, to string) {
	t.Helper()
	got := show(t, a.e, "w")
	if got.Path != to || got.MovedFrom != a.w.Path || got.State != croft.Broken || got.Fault != croft.FaultMoved {
		t.Errorf("%s (%s) at %s from %s, want it moved to %s", got.State, got.Fault, got.Path, got.MovedFrom, to)
	}
	findings, err := a.e.Doctor(t.Context(), croft.DoctorRequest{})
	if err != nil || len(findings.Findings) != 1 || findings.Findings[0].Code != "WORKSPACE_MOVED" || findings.Findings[0].Fixed {
		t.Errorf("Doctor = %+v, %v", findings, err)
	}
	wantContents(t, to, a.was)
}

// wantFollowed has the doctor update the record, and checks that all files are there.
func (a *absentee) wantFollowed(t *testing.T, to string) {
	t.Helper()
	findings, err := a.e.Doctor(t.Context(), croft.DoctorRequest{Fix: croft.FixAll})
	if err != nil || len(findings.Findings) != 1 || !findings.Findings[0].Fixed {
		t.Fatalf("Doctor = %+v, %v", findings, err)
	}
	if got := show(t, a.e, "w"); got.Path != to || got.MovedFrom != "" {
		t.Errorf("%+v", got)
	}
	a.wantWork(t)
	if findings, err := a.e.Doctor(t.Context(), croft.DoctorRequest{}); err != nil || len(findings.Findings) != 0 {
		t.Errorf("Doctor = %+v, %v", findings, err)
	}
}

// wantRemovedAndRestored removes the workspace from its new path, and restores it.
func (a *absentee) wantRemovedAndRestored(t *testing.T, to string) {
	t.Helper()
	res, err := a.e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"w"}})
	if err != nil {
		t.Fatal(err)
	}
	wantKept(t, "Remove", res.Removed, res.Kept, croft.WorkspaceDirty)
	wantContents(t, to, a.was)
	a.remove(t)
	if exists(to) {
		t.Errorf("%s is still there", to)
	}
	if _, err := a.e.Restore(t.Context(), croft.RestoreRequest{Ref: "w"}); err != nil {
		t.Fatal(err)
	}
	a.wantWork(t)
}

// TestMovedByGit: after git worktree move, or git worktree repair after mv, git has nothing
// to mend, and Croft's record follows.
func TestMovedByGit(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"move", "repair", "prune"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			a := newAbsentee(t, "worktree")
			to := filepath.Join(filepath.Dir(a.Dir), "far", "from", "here", "w")
			if how == "prune" { // git has no registration any more, so the directory is found only where the doctor searches
				to = filepath.Join(filepath.Dir(a.Dir), "moved")
			}
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				t.Fatal(err)
			}
			switch how {
			case "move":
				a.Git("worktree", "move", a.w.Path, to)
			case "repair":
				rename(t, a.w.Path, to)
				a.Git("worktree", "repair", to)
			case "prune":
				rename(t, a.w.Path, to)
				a.Git("worktree", "prune", "--expire=now")
			}
			a.wantMoved(t, to)
			if how != "prune" {
				a.wantFollowed(t, to)
				return
			}
			findings, err := a.e.Doctor(t.Context(), croft.DoctorRequest{Fix: croft.FixAll})
			if err != nil || len(findings.Findings) != 1 || !findings.Findings[0].Fixed {
				t.Fatalf("Doctor = %+v, %v", findings, err)
			}
			if got := show(t, a.e, "w"); got.Path != to || got.State != croft.Ready {
				t.Errorf("%+v", got)
			}
			wantContents(t, to, a.was)
		})
	}
}

// TestMissing: a workspace whose directory is not found keeps its record unless it is
// removed with force. It can be used again once the directory is back.
func TestMissing(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			a := newAbsentee(t, kind)
			aside := filepath.Join(a.Home, "aside")
			rename(t, a.w.Path, aside)
			if got := show(t, a.e, "w"); got.State != croft.Broken || got.Fault != croft.FaultMissing || got.Path != a.w.Path {
				t.Errorf("%+v", got)
			}
			findings, err := a.e.Doctor(t.Context(), croft.DoctorRequest{Fix: croft.FixAll})
			if err != nil || len(findings.Findings) != 1 || findings.Findings[0].Code != "WORKSPACE_MISSING" || findings.Findings[0].Fixed {
				t.Errorf("Doctor = %+v, %v", findings, err)
			}
			res, err := a.e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"w"}})
			if err != nil {
				t.Fatal(err)
			}
			wantKept(t, "Remove", res.Removed, res.Kept, croft.WorkspaceBroken)
			clean, err := a.e.Clean(t.Context(), croft.CleanRequest{})
			if err != nil || len(clean.Removed) != 0 {
				t.Errorf("Clean = %+v, %v", clean, err)
			}
			reap, err := a.e.Reap(t.Context(), croft.ReapRequest{OlderThan: 1, Mode: croft.RemoveForce})
			if err != nil {
				t.Fatal(err)
			}
			wantKept(t, "Reap", reap.Removed, reap.Kept, croft.WorkspaceBroken)
			if _, err := a.e.GC(t.Context(), croft.GCRequest{}); err != nil {
				t.Fatal(err)
			}
			rename(t, aside, a.w.Path)
			a.wantWork(t)
		})
	}
}

// TestMovedInARound: the end of a round commits the work of an agent whose directory was
// moved during the round.
func TestMovedInARound(t *testing.T) {
	t.Parallel()
	for _, mode := range []croft.Mode{croft.ModeWorktree, croft.ModeIsolated} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			e := engineIn(t, r, 0)
			ses, err := e.StartSession(t.Context(), croft.SessionRequest{})
			if err != nil {
				t.Fatal(err)
			}
			round, err := e.StartRound(t.Context(), croft.RoundRequest{Session: croft.ByID(ses.ID), Agents: []string{"a"}, Mode: mode})
			if err != nil {
				t.Fatal(err)
			}
			w := round.Workspaces[0]
			gittest.WriteFile(t, filepath.Join(w.Path, "work.txt"), "work\n")
			rename(t, w.Path, w.Path+".moved")
			if ended, err := e.EndRound(t.Context(), croft.EndRoundRequest{Round: round.ID}); err != nil || len(ended.Failed) != 0 {
				t.Fatalf("EndRound = %+v, %v", ended, err)
			}
			if got := r.Git("show", w.Branch+":work.txt"); got != "work" {
				t.Errorf("the branch has %q", got)
			}
		})
	}
}
