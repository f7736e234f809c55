package engine_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestProjectRestoredFromBackup: a project and its workspaces that were copied back from a
// backup have other inodes. Croft does not accept them by itself; after a person has, the
// workspaces and the trash are known again.
func TestProjectRestoredFromBackup(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "kept"})
	gittest.WriteFile(t, filepath.Join(w.Path, "work.txt"), "work\n")
	gone := create(t, e, croft.CreateRequest{Name: "gone"})
	gittest.WriteFile(t, filepath.Join(gone.Path, "gone.txt"), "gone\n")
	if _, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"gone"}, Mode: croft.RemoveForce}); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{r.Dir, r.Dir + ".croft"} {
		if out, err := exec.CommandContext(t.Context(), "cp", "-a", dir, dir+".backup").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if err := errors.Join(os.RemoveAll(dir), os.Rename(dir+".backup", dir)); err != nil {
			t.Fatal(err)
		}
	}
	e = engineIn(t, r, 0)
	if got := names(t, e); len(got) != 0 {
		t.Errorf("%v are known before a person said so", got)
	}
	if _, err := e.Doctor(t.Context(), croft.DoctorRequest{}); err != nil || !slices.ContainsFunc(e.Notices(), func(s string) bool { return strings.Contains(s, "--import") }) {
		t.Errorf("%v, said %q", err, e.Notices())
	}
	if _, err := e.Doctor(t.Context(), croft.DoctorRequest{Import: croft.ImportAll}); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = engineIn(t, r, 0)
	if got := show(t, e, "kept"); got.ID != w.ID || got.State != croft.Ready {
		t.Errorf("%+v", got)
	}
	back, err := e.Restore(t.Context(), croft.RestoreRequest{Ref: "gone"})
	if err != nil || read(t, filepath.Join(back.Path, "gone.txt")) != "gone\n" {
		t.Errorf("Restore = %+v, %v", back, err)
	}
	res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"kept"}, Mode: croft.RemoveForce})
	if err != nil || len(res.Removed) != 1 {
		t.Errorf("Remove = %+v, %v", res, err)
	}
}
