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

// TestWrittenDuringRewind: somebody writes to the files of a workspace after it was
// saved for a rewind. The rewind is refused, and nothing of it is lost, whatever it
// is that was written and however far the rewind had come.
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

// TestWrittenToOpenFile: somebody has a file open that a rewind has moved away
// already, and writes to it.
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
