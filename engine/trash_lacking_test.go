package engine_test

import (
	"errors"
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

// lacking returns a workspace with a file that is stored nowhere else, and a staged file
// whose object is deleted or emptied. It has a snapshot from before.
func lacking(t *testing.T, isEmptied bool, now string) (*gittest.Repo, *engine.Engine, croft.Workspace, *croft.Snapshot) {
	t.Helper()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	gittest.WriteFile(t, filepath.Join(w.Path, "z"), "zero\n")
	snap := snapshotOf(t, e, "a")
	gittest.WriteFile(t, filepath.Join(w.Path, "unc"), "precious\n")
	gittest.WriteFile(t, filepath.Join(w.Path, "st"), "staged\n")
	r.GitIn(w.Path, "add", "st")
	loseObject(t, r, r.GitIn(w.Path, "rev-parse", ":st"), isEmptied)
	gittest.WriteFile(t, filepath.Join(w.Path, "st"), now)
	return r, e, w, snap
}

func loseObject(t *testing.T, r *gittest.Repo, oid string, isEmptied bool) {
	t.Helper()
	path := filepath.Join(r.Dir, ".git", "objects", oid[:2], oid[2:])
	err := errors.Join(os.Chmod(path, 0o644), os.Remove(path))
	if isEmptied {
		err = errors.Join(err, os.WriteFile(path, nil, 0o444))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func removeForced(t *testing.T, e *engine.Engine) {
	t.Helper()
	if res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce}); err != nil || len(res.Removed) != 1 {
		t.Fatalf("Remove = %+v, %v", res, err)
	}
}

// TestLostObjectInTheTrash: the object of a staged or committed file was lost, and the file
// still has its content. After gc has deleted the directory both can be restored.
func TestLostObjectInTheTrash(t *testing.T) {
	t.Parallel()
	for name, isCommitted := range map[string]bool{"staged": false, "committed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, e, w, _ := lacking(t, isCommitted, "staged\n")
			want := map[string]string{"st": "staged\n", "unc": "precious\n"}
			if isCommitted { // and there is nothing else to save
				r.GitIn(w.Path, "add", "--all")
				r.GitIn(w.Path, "commit", "--quiet", "-m", "all")
				loseObject(t, r, r.GitIn(w.Path, "rev-parse", "HEAD:st"), true)
			}
			removeForced(t, e)
			late := engineIn(t, r, 8*day, "trash.notice", "0s")
			if res, err := late.GC(t.Context(), croft.GCRequest{}); err != nil || len(res.Reduced) != 1 {
				t.Fatalf("GC = %+v, %v", res, err)
			}
			if _, err := late.Restore(t.Context(), croft.RestoreRequest{Ref: "a"}); err != nil {
				t.Fatal(err)
			}
			for name, text := range want {
				if got := read(t, filepath.Join(w.Path, name)); got != text {
					t.Errorf("%s is %q", name, got)
				}
			}
			r.Git("fsck", "--no-dangling")
		})
	}
}

// TestLostObjectStaysInTheTrash: the content of a staged file is nowhere, so no snapshot
// has it. gc keeps the directory and names the file, until it is staged again.
func TestLostObjectStaysInTheTrash(t *testing.T) {
	t.Parallel()
	r, e, w, _ := lacking(t, false, "another\n")
	removeForced(t, e)
	for _, after := range []time.Duration{8 * day, 60 * day} {
		res, err := engineIn(t, r, after, "trash.notice", "0s").GC(t.Context(), croft.GCRequest{})
		if err != nil || len(res.Kept) != 1 || res.Kept[0].Reason.Code != croft.ObjectMissing || !strings.Contains(res.Kept[0].Reason.Message, `"st"`) || len(res.Purged)+len(res.Reduced) != 0 {
			t.Fatalf("after %s: %+v, %v", after, res, err)
		}
	}
	if got := read(t, filepath.Join(trashedAt(r, w), "tree", "unc")); got != "precious\n" {
		t.Errorf("unc is %q", got)
	}
	late := engineIn(t, r, 61*day, "trash.notice", "0s")
	if _, err := late.Restore(t.Context(), croft.RestoreRequest{Ref: "a"}); err != nil {
		t.Fatal(err)
	}
	r.GitIn(w.Path, "add", "st")
	removeForced(t, late)
	if res, err := engineIn(t, r, 90*day, "trash.notice", "0s").GC(t.Context(), croft.GCRequest{}); err != nil || len(res.Kept) != 0 || len(res.Reduced) != 1 {
		t.Errorf("once it is staged anew: %+v, %v", res, err)
	}
}

// TestRewindOfLostObject: a workspace is rewound to a snapshot, and back, although the
// object of a staged file was lost; the file has its content.
func TestRewindOfLostObject(t *testing.T) {
	t.Parallel()
	_, e, w, snap := lacking(t, true, "staged\n")
	if _, err := e.Restore(t.Context(), croft.RestoreRequest{Ref: string(snap.ID)}); err != nil {
		t.Fatal(err)
	}
	if exists(filepath.Join(w.Path, "st")) {
		t.Error("st is still there")
	}
	if _, err := e.Undo(t.Context(), croft.UndoRequest{}); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"st": "staged\n", "unc": "precious\n"} {
		if got := read(t, filepath.Join(w.Path, name)); got != text {
			t.Errorf("%s is %q", name, got)
		}
	}
}

// TestRewindRefusesLostObject: the content of a staged file is nowhere. The rewind moves no
// file before the current state can be saved; the hint is a way out.
func TestRewindRefusesLostObject(t *testing.T) {
	t.Parallel()
	_, e, w, snap := lacking(t, false, "another\n")
	_, err := e.Restore(t.Context(), croft.RestoreRequest{Ref: string(snap.ID)})
	wantCode(t, err, croft.ObjectMissing)
	for name, text := range map[string]string{"st": "another\n", "unc": "precious\n"} {
		if got := read(t, filepath.Join(w.Path, name)); got != text {
			t.Errorf("%s is %q", name, got)
		}
	}
	if w := show(t, e, "a"); w.State != croft.Ready {
		t.Errorf("the workspace is %s", w.State)
	}
	if runtime.GOOS == "windows" {
		return // the hint is a command for a Unix shell
	}
	command, _, _ := strings.Cut(croft.AsError("restore", err).Hint, ", which")
	if out, err := exec.CommandContext(t.Context(), "sh", "-c", command).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v %s", command, err, out)
	}
	if _, err := e.Restore(t.Context(), croft.RestoreRequest{Ref: string(snap.ID)}); err != nil {
		t.Errorf("after %s: %v", command, err)
	}
}
