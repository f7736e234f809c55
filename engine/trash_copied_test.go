package engine_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// copyBack replaces a directory by a copy of itself.
func copyBack(t *testing.T, dir string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there is no cp")
	}
	original := filepath.Join(t.TempDir(), "original")
	rename(t, dir, original)
	if out, err := exec.Command("cp", "-a", original, dir).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v\n%s", err, out)
	}
	if err := os.RemoveAll(original); err != nil {
		t.Fatal(err)
	}
}

// TestCopyInTheTrash: a copy in the place of a removed workspace is restored only after a
// person has accepted it as the workspace. The acceptance holds for the copy that was
// shown.
func TestCopyInTheTrash(t *testing.T) {
	for _, part := range []string{".", "tree"} {
		t.Run(part, func(t *testing.T) {
			eachMode(t, func(t *testing.T, r *gittest.Repo, e *engine.Engine, w croft.Workspace) {
				gittest.WriteFile(t, filepath.Join(w.Path, "wip.txt"), "wip\n")
				if res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce}); err != nil || len(res.Removed) != 1 {
					t.Fatalf("Remove: %+v, %v", res, err)
				}
				copyBack(t, filepath.Join(trashedAt(r, w), part))
				refused := func() {
					t.Helper()
					_, err := e.Restore(t.Context(), croft.RestoreRequest{Ref: "a"})
					wantCode(t, err, croft.WorkspaceBroken)
					if hint := croft.AsError("", err).Hint; !strings.HasPrefix(hint, "croft doctor --import") {
						t.Errorf("hint %q", hint)
					}
				}
				doctor := func(req croft.DoctorRequest, fixed bool) croft.Finding {
					t.Helper()
					list, err := e.Doctor(t.Context(), req)
					if err != nil || len(list.Findings) != 1 || list.Findings[0].Code != "TRASH_REPLACED" || list.Findings[0].Fixed != fixed {
						t.Fatalf("Doctor(%+v) = %+v, %v", req, list, err)
					}
					return list.Findings[0]
				}
				refused()
				_, err := engineIn(t, r, 8*24*time.Hour, "trash.notice", "0s").GC(t.Context(), croft.GCRequest{})
				wantCode(t, err, croft.WorkspaceBroken)
				if hint := croft.AsError("", err).Hint; !strings.HasPrefix(hint, "croft doctor --import") {
					t.Errorf("gc: hint %q", hint)
				}
				doctor(croft.DoctorRequest{Fix: croft.FixAll}, false)
				shown := doctor(croft.DoctorRequest{Import: croft.ImportShow}, false)
				copyBack(t, filepath.Join(trashedAt(r, w), part)) // another copy, while the person reads
				doctor(croft.DoctorRequest{Import: croft.ImportAll, Agreed: []string{shown.Seen}}, false)
				refused()
				shown = doctor(croft.DoctorRequest{Import: croft.ImportShow}, false)
				doctor(croft.DoctorRequest{Import: croft.ImportAll, Agreed: []string{shown.Seen}}, true)
				if _, err := e.Restore(t.Context(), croft.RestoreRequest{Ref: "a"}); err != nil {
					t.Fatal(err)
				}
				if got := r.GitIn(w.Path, "status", "--porcelain"); got != "?? wip.txt" {
					t.Errorf("restored has %q", got)
				}
				if list, err := e.Doctor(t.Context(), croft.DoctorRequest{}); err != nil || len(list.Findings) != 0 {
					t.Errorf("Doctor = %+v, %v", list, err)
				}
			})
		})
	}
}

// TestRestoreWithoutTheCopy: a restoration can bring back the commits without the copy that
// lies in the trash. The copy stays.
func TestRestoreWithoutTheCopy(t *testing.T) {
	for _, part := range []string{".", "tree"} {
		t.Run(part, func(t *testing.T) {
			eachMode(t, func(t *testing.T, r *gittest.Repo, e *engine.Engine, w croft.Workspace) {
				gittest.WriteFile(t, filepath.Join(w.Path, "wip.txt"), "wip\n")
				if res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce}); err != nil || len(res.Removed) != 1 {
					t.Fatalf("Remove: %+v, %v", res, err)
				}
				copyBack(t, filepath.Join(trashedAt(r, w), part))
				if _, err := e.Restore(t.Context(), croft.RestoreRequest{Ref: "a", Mode: croft.RestoreCommits}); err != nil {
					t.Fatal(err)
				}
				if got := read(t, filepath.Join(trashedAt(r, w), "tree", "wip.txt")); got != "wip\n" {
					t.Errorf("the copy has %q", got)
				}
				if got := show(t, e, "a"); got.State != croft.Ready || got.Head != r.GitIn(w.Path, "rev-parse", "HEAD") {
					t.Errorf("restored is %+v", got)
				}
			})
		})
	}
}
