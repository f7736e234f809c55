//go:build failpoints

package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestWrittenDuringRewind: a process writes to the files of a workspace after it was saved
// for a rewind. The rewind is refused, and nothing that was written is lost, whatever kind
// of change it is and however far the rewind had come.
func TestWrittenDuringRewind(t *testing.T) {
	for name, write := range map[string]func(t *testing.T, dir string){
		"tracked":   func(t *testing.T, dir string) { gittest.WriteFile(t, filepath.Join(dir, "README.md"), "late\n") },
		"untracked": func(t *testing.T, dir string) { gittest.WriteFile(t, filepath.Join(dir, "later"), "late\n") },
		"new":       func(t *testing.T, dir string) { gittest.WriteFile(t, filepath.Join(dir, "mine"), "late\n") },
		"directory": func(t *testing.T, dir string) { gittest.WriteFile(t, filepath.Join(dir, "mine", "deep"), "late\n") },
		"same time": func(t *testing.T, dir string) {
			path := filepath.Join(dir, "later")
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			gittest.WriteFile(t, path, "TWO\n")
			if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
				t.Fatal(err)
			}
		},
	} {
		for _, point := range []string{"rewind.begun", "snapshot.restored"} {
			t.Run(name+" at "+point, func(t *testing.T) {
				t.Parallel()
				r := gittest.New(t)
				e := engineIn(t, r, 0)
				w := create(t, e, croft.CreateRequest{Name: "a"})
				gittest.WriteFile(t, filepath.Join(w.Path, "mine"), "one\n")
				snap := snapshotOf(t, e, "a")
				if err := os.Remove(filepath.Join(w.Path, "mine")); err != nil {
					t.Fatal(err)
				}
				gittest.WriteFile(t, filepath.Join(w.Path, "later"), "two\n")
				gittest.WriteFile(t, filepath.Join(w.Path, "done"), "committed\n")
				r.GitIn(w.Path, "add", "done")
				r.GitIn(w.Path, "commit", "--quiet", "-m", "done")
				goOn := paused(t, r, task{Restore: &croft.RestoreRequest{Ref: string(snap.ID)}}, point)
				write(t, w.Path)
				want := everythingIn(t, w.Path)
				out, err := goOn()
				if err == nil || !strings.HasPrefix(out, string(croft.WorkspaceBusy)+" ") {
					t.Errorf("%v, %q, want WORKSPACE_BUSY", err, out)
				}
				wantAsWas(t, want, everythingIn(t, w.Path))
				if got := r.GitIn(w.Path, "log", "-1", "--format=%s"); got != "done" {
					t.Errorf("the branch is at %q", got)
				}
				if got := show(t, e, "a").State; got != croft.Ready {
					t.Errorf("the workspace is %s", got)
				}
				if left, _ := filepath.Glob(filepath.Join(filepath.Dir(w.Path), ".trash", "*")); len(left) > 0 {
					t.Errorf("left beside it: %q", left)
				}
				again(t, e, task{Restore: &croft.RestoreRequest{Ref: string(snap.ID)}})
			})
		}
	}
}

// TestWrittenToOpenFile: a process has a file open that a rewind has already moved away,
// and writes to it.
func TestWrittenToOpenFile(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	snap := snapshotOf(t, e, "a")
	path := filepath.Join(w.Path, "later")
	gittest.WriteFile(t, path, "two\n")
	goOn := paused(t, r, task{Restore: &croft.RestoreRequest{Ref: string(snap.ID)}}, "snapshot.rewind")
	moved := filepath.Join(filepath.Dir(w.Path), ".trash", string(w.ID)+".rewind", "was", "later")
	f, err := os.OpenFile(moved, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("three\n"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if out, err := goOn(); err == nil || !strings.HasPrefix(out, string(croft.WorkspaceBusy)+" ") {
		t.Errorf("%v, %q, want WORKSPACE_BUSY", err, out)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "two\nthree\n" {
		t.Errorf("the file is %q, %v", got, err)
	}
}

// TestMadeInDirectoryOfRewind: a process makes a file in a directory that a rewind has just
// moved into the workspace, and the rewind is rolled back. The file is at its path
// afterwards, although the rewind's directory is gone.
func TestMadeInDirectoryOfRewind(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	// The first by name of the files that the rewind moves in, so that it pauses after it.
	dir := filepath.Join(w.Path, "A")
	gittest.WriteFile(t, filepath.Join(dir, "saved"), "one\n")
	snap := snapshotOf(t, e, "a")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	gittest.WriteFile(t, filepath.Join(w.Path, "later"), "two\n")
	goOn := paused(t, r, task{Restore: &croft.RestoreRequest{Ref: string(snap.ID)}}, "snapshot.moved")
	if _, err := os.Lstat(filepath.Join(dir, "saved")); err != nil {
		t.Fatalf("the directory was not moved in: %v", err)
	}
	gittest.WriteFile(t, filepath.Join(dir, "late"), "late\n")
	gittest.WriteFile(t, filepath.Join(asideOf(w), "was", "later"), "two\nthree\n")
	if out, err := goOn(); err == nil || !strings.HasPrefix(out, string(croft.WorkspaceBusy)+" ") {
		t.Errorf("%v, %q, want WORKSPACE_BUSY", err, out)
	}
	for path, want := range map[string]string{filepath.Join("A", "late"): "late\n", "later": "two\nthree\n"} {
		if got, err := os.ReadFile(filepath.Join(w.Path, path)); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v", path, got, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "saved")); err == nil {
		t.Error("a file of the snapshot is left")
	}
}

// TestWrittenAfterLastLook: a process has a file open that a rewind has moved away, and
// writes to it after the rewind has examined it for the last time before the branch is
// moved. The rewind takes effect, and the written file is kept.
func TestWrittenAfterLastLook(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	snap := snapshotOf(t, e, "a")
	gittest.WriteFile(t, filepath.Join(w.Path, "later"), "two\n")
	goOn := paused(t, r, task{Restore: &croft.RestoreRequest{Ref: string(snap.ID)}}, "rewind.branch")
	gone := filepath.Join(asideOf(w), "gone", "later")
	if _, err := os.Lstat(gone); err != nil {
		t.Fatalf("the file was not moved away: %v", err)
	}
	gittest.WriteFile(t, gone, "two\nthree\n")
	if out, err := goOn(); err == nil || !strings.HasPrefix(out, string(croft.WorkspaceBusy)+" ") {
		t.Errorf("%v, %q, want WORKSPACE_BUSY", err, out)
	}
	kept, err := filepath.Glob(filepath.Join(asideOf(w), "kept-*", "later"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept are %q, %v", kept, err)
	}
	if b, err := os.ReadFile(kept[0]); err != nil || string(b) != "two\nthree\n" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := os.Lstat(filepath.Join(w.Path, "later")); err == nil {
		t.Error("the file is still in the workspace")
	}
}

// asideOf returns the directory to which a rewind of a workspace moves files.
func asideOf(w croft.Workspace) string {
	return filepath.Join(filepath.Dir(w.Path), ".trash", string(w.ID)+".rewind")
}
