package engine_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// copied replaces a workspace's directory by a copy with other contents. It returns the
// path to which it moved the original directory.
func copied(t *testing.T, w croft.Workspace) (original string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there is no cp")
	}
	original = filepath.Join(t.TempDir(), "original")
	if err := os.Rename(w.Path, original); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", "-a", original, w.Path).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v\n%s", err, out)
	}
	gittest.WriteFile(t, filepath.Join(w.Path, "planted.txt"), "planted\n")
	return original
}

// TestCopyInTheWorkspacesPlace: Croft neither commits from a copy that lies at a
// workspace's path nor removes it, until a person accepts the copy as the workspace.
func TestCopyInTheWorkspacesPlace(t *testing.T) {
	eachMode(t, func(t *testing.T, r *gittest.Repo, e *engine.Engine, w croft.Workspace) {
		copied(t, w)
		tip := r.Git("rev-parse", w.Branch)
		for what, act := range map[string]func() error{
			"status":   func() error { _, err := e.Status(t.Context(), croft.StatusRequest{Workspace: w.ID}); return err },
			"finish":   func() error { _, err := e.Finish(t.Context(), croft.FinishRequest{Workspace: "a"}); return err },
			"merge":    func() error { _, err := e.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "a"}); return err },
			"snapshot": func() error { _, err := e.TakeSnapshot(t.Context(), croft.SnapshotRequest{Workspace: "a"}); return err },
			"review":   func() error { _, err := e.CreateReview(t.Context(), croft.ReviewRequest{Workspace: "a"}); return err },
			"remove": func() error {
				res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce})
				if err == nil && len(res.Kept) == 1 {
					err = res.Kept[0].Reason
				}
				return err
			},
		} {
			err := act()
			told := croft.AsError("", err)
			if !errors.Is(err, croft.WorkspaceBroken) || !strings.Contains(told.Message, "replaced by another") || !strings.Contains(told.Hint, "croft doctor --import") {
				t.Errorf("%s: %+v", what, err)
			}
		}
		if now := r.Git("rev-parse", w.Branch); now != tip {
			t.Error("something was committed")
		}
		if got := show(t, e, "a"); got.State != croft.Broken || got.Fault != croft.FaultTaken {
			t.Errorf("shown is %s, %s", got.State, got.Fault)
		}
		for _, req := range []croft.DoctorRequest{{}, {Fix: croft.FixAll}, {Import: croft.ImportShow}} {
			list, err := e.Doctor(t.Context(), req)
			if err != nil || len(list.Findings) != 1 || list.Findings[0].Code != "WORKSPACE_REPLACED" || list.Findings[0].Fixed || list.Findings[0].CanFix != (req.Import == croft.ImportShow) {
				t.Errorf("Doctor(%+v) = %+v, %v", req, list, err)
			}
		}
		if list, err := e.Doctor(t.Context(), croft.DoctorRequest{Import: croft.ImportAll}); err != nil || len(list.Findings) != 1 || !list.Findings[0].Fixed {
			t.Fatalf("Doctor = %+v, %v", list, err)
		}
		if list, err := e.Doctor(t.Context(), croft.DoctorRequest{}); err != nil || len(list.Findings) != 0 {
			t.Errorf("Doctor = %+v, %v", list, err)
		}
		if _, err := e.Finish(t.Context(), croft.FinishRequest{Workspace: "a"}); err != nil {
			t.Error(err)
		}
		if got := r.Git("show", w.Branch+":planted.txt"); got != "planted" {
			t.Errorf("committed is %q", got)
		}
		if res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}}); err != nil || len(res.Removed) != 1 {
			t.Fatalf("Remove = %+v, %v", res, err)
		}
		if _, err := e.Restore(t.Context(), croft.RestoreRequest{Ref: "a"}); err != nil {
			t.Fatal(err)
		}
		if got := read(t, filepath.Join(w.Path, "planted.txt")); got != "planted\n" {
			t.Errorf("restored is %q", got)
		}
	})
}

// TestCopyBesideTheWorkspace: if the workspace's own directory lies nearby, its record
// follows that directory, and the copy belongs to no workspace.
func TestCopyBesideTheWorkspace(t *testing.T) {
	eachMode(t, func(t *testing.T, r *gittest.Repo, e *engine.Engine, w croft.Workspace) {
		original := copied(t, w)
		beside := w.Path + "-original"
		if err := os.Rename(original, beside); err != nil {
			t.Fatal(err)
		}
		if got := show(t, e, "a"); got.Fault != croft.FaultMoved || got.Path != beside {
			t.Errorf("shown is %+v", got)
		}
		if list, err := e.Doctor(t.Context(), croft.DoctorRequest{Fix: croft.FixAll}); err != nil || len(list.Findings) != 1 || !list.Findings[0].Fixed {
			t.Fatalf("Doctor = %+v, %v", list, err)
		}
		if got := show(t, e, "a"); got.State != croft.Ready || got.Path != beside {
			t.Errorf("shown is %+v", got)
		}
		if _, err := e.Status(t.Context(), croft.StatusRequest{Workspace: w.ID}); err != nil {
			t.Error(err)
		}
		if got := read(t, filepath.Join(w.Path, "planted.txt")); got != "planted\n" {
			t.Errorf("the copy has %q", got)
		}
	})
}

// TestImportRefusesCopyThatWasNotShown: the doctor showed a copy, and another copy replaced
// it before the person accepted the first.
func TestImportRefusesCopyThatWasNotShown(t *testing.T) {
	eachMode(t, func(t *testing.T, _ *gittest.Repo, e *engine.Engine, w croft.Workspace) {
		copied(t, w)
		agreed := func() []string {
			list, err := e.Doctor(t.Context(), croft.DoctorRequest{Import: croft.ImportShow})
			if err != nil || len(list.Findings) != 1 || list.Findings[0].Seen == "" {
				t.Fatalf("Doctor = %+v, %v", list, err)
			}
			return []string{list.Findings[0].Seen}
		}
		first := agreed()
		if err := os.Rename(w.Path, w.Path+".shown"); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.CommandContext(t.Context(), "cp", "-a", w.Path+".shown", w.Path).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		for _, c := range []struct {
			agreed []string
			bound  bool
		}{{first, false}, {agreed(), true}} {
			list, err := e.Doctor(t.Context(), croft.DoctorRequest{Import: croft.ImportAll, Agreed: c.agreed})
			if err != nil || len(list.Findings) != 1 || list.Findings[0].Fixed != c.bound {
				t.Errorf("Doctor with %v = %+v, %v", c.agreed, list, err)
			}
		}
	})
}
