package engine_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/journal"
)

// damageRecord makes the record of a workspace unreadable in the database, and in the
// second copy, which is rewritten from the database.
func damageRecord(t *testing.T, r *gittest.Repo, id croft.ID) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(stateDir(r), journal.FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`UPDATE workspaces SET record = '{"x":' WHERE id = ?`, id); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(r.Home, "data", "state")); err != nil {
		t.Fatal(err)
	}
}

// TestUnreadableRecord: the record of one workspace cannot be read. All other workspaces
// work as before, commands that need this one name it, gc deletes nothing, and the two
// commands that the doctor hints at bring the workspace back, whether it is live or
// removed.
func TestUnreadableRecord(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]bool{"Live": false, "Removed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, a, tip := furnished(t)
			if remove {
				brief(t, r, func(e *engine.Engine) {
					if _, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce}); err != nil {
						t.Fatal(err)
					}
				})
			}
			brief(t, r, func(e *engine.Engine) { create(t, e, croft.CreateRequest{Name: "other"}) })
			damageRecord(t, r, a.ID)

			brief(t, r, func(e *engine.Engine) {
				if got := names(t, e); !slices.Equal(got, []string{"other"}) {
					t.Errorf("workspaces %v, want the other one", got)
				}
				_, err := e.Workspace(t.Context(), croft.WorkspaceRequest{Ref: string(a.ID)})
				wantCode(t, err, croft.StateUnavailable)
				if _, err := e.History(t.Context(), croft.HistoryRequest{}); err != nil {
					t.Error(err)
				}
				_, err = e.GC(t.Context(), croft.GCRequest{})
				wantCode(t, err, croft.StateUnavailable)
				_, err = e.Uninstall(t.Context(), croft.UninstallRequest{DryRun: croft.DryRunOn})
				wantCode(t, err, croft.StateUnavailable)
				wantFinding(t, e, croft.DoctorRequest{}, "RECORD_UNREADABLE", string(a.ID))
			})
			brief(t, r, func(e *engine.Engine) {
				wantFinding(t, e, croft.DoctorRequest{Fix: croft.FixAll}, "RECORD_UNREADABLE", string(a.ID))
				gc(t, e)
				wantFinding(t, e, croft.DoctorRequest{Import: croft.ImportAll}, "RECORD_LOST", "")
			})
			brief(t, r, func(e *engine.Engine) {
				if remove {
					if _, err := e.Restore(t.Context(), croft.RestoreRequest{Ref: string(a.ID)}); err != nil {
						t.Fatal(err)
					}
				}
				w, err := e.Workspace(t.Context(), croft.WorkspaceRequest{Ref: string(a.ID)})
				if err != nil {
					t.Fatal(err)
				}
				if on := r.Git("for-each-ref", "--points-at", tip, "refs/heads"); on == "" {
					t.Errorf("no branch is at %s", tip)
				}
				if read(t, filepath.Join(w.Path, "wip.txt")) != "wip" {
					t.Error("what was not committed is lost")
				}
			})
			if aside, err := journal.Damaged(stateDir(r)); err != nil || len(aside) != 0 {
				t.Errorf("set aside: %q, %v", aside, err)
			}
		})
	}
}

// TestGCKeepsBorrowedObjectsWithoutRecord: while the record of an isolated workspace is set
// aside, gc does not delete the objects that it borrows, so that it can be imported.
func TestGCKeepsBorrowedObjectsWithoutRecord(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	var w croft.Workspace
	brief(t, r, func(e *engine.Engine) {
		w = create(t, e, croft.CreateRequest{Name: "a", Mode: croft.ModeIsolated})
		gittest.WriteFile(t, filepath.Join(w.Path, "work.txt"), "work\n")
		r.GitIn(w.Path, "add", "work.txt")
		r.GitIn(w.Path, "commit", "--quiet", "--message", "work")
		show(t, e, "a")
	})
	damageRecord(t, r, w.ID)
	brief(t, r, func(e *engine.Engine) {
		wantFinding(t, e, croft.DoctorRequest{Fix: croft.FixAll}, "RECORD_UNREADABLE", string(w.ID))
		gc(t, e)
	})
	if out := r.GitIn(w.Path, "log", "--format=%s"); !strings.Contains(out, "\n") {
		t.Errorf("the agent's history: %q", out)
	}
	brief(t, r, func(e *engine.Engine) {
		wantFinding(t, e, croft.DoctorRequest{Import: croft.ImportAll}, "RECORD_LOST", "")
		if got := show(t, e, "a"); got.ID != w.ID || got.State != croft.Ready {
			t.Errorf("%+v", got)
		}
	})
}

// wantFinding fails unless the doctor has exactly one finding with this code, and its
// message contains the text.
func wantFinding(t *testing.T, e *engine.Engine, req croft.DoctorRequest, code, text string) {
	t.Helper()
	res, err := e.Doctor(t.Context(), req)
	has := func(f croft.Finding) bool {
		return f.Code == code && strings.Contains(f.Message, text) && f.Fixed == (req.Fix == croft.FixAll || req.Import == croft.ImportAll)
	}
	if err != nil || !slices.ContainsFunc(res.Findings, has) {
		t.Fatalf("Doctor = %+v, %v, want %s", res, err, code)
	}
}
