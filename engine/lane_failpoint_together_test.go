//go:build failpoints

package engine_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/proc"
)

// TestTogetherOccupied: a process comes into a workspace after it was judged, and before those
// that are removed with it go. It stays, and the other one goes.
func TestTogetherOccupied(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	if _, known := proc.Occupants(t.TempDir()); !known {
		t.Skip("this platform does not tell")
	}
	a := create(t, e, croft.CreateRequest{Name: "a"})
	create(t, e, croft.CreateRequest{Name: "b"})
	goOn := paused(t, r, task{Remove: &croft.RemoveRequest{Workspaces: []string{"a", "b"}}}, "remove.judged")
	sleeper := exec.Command("sleep", "600")
	sleeper.Dir = a.Path
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sleeper.Process.Kill(); _ = sleeper.Wait() }()
	out, _ := goOn()
	if left := names(t, e); fmt.Sprint(left) != "[a]" {
		t.Errorf("left %v: %s", left, out)
	}
}

// TestTogetherKilled kills a process that removes three workspaces at each of its steps. Each of
// them is live or removed after that, and none has lost anything.
func TestTogetherKilled(t *testing.T) {
	setting := func(t *testing.T) (*gittest.Repo, task) {
		r := company(t)
		brief(t, r, func(e *engine.Engine) {
			for _, name := range []string{"a", "b", "c"} {
				w := create(t, e, croft.CreateRequest{Name: name})
				gittest.WriteFile(t, filepath.Join(w.Path, "work.txt"), name+"\n")
			}
		})
		return r, task{Remove: &croft.RemoveRequest{Workspaces: []string{"a", "b", "c"}, Mode: croft.RemoveForce}}
	}
	total := points(t, setting)
	t.Logf("%d points", total)
	for n := 1; n <= total; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			r, job := setting(t)
			e := kill(t, r, job, n)
			for _, name := range []string{"a", "b", "c"} {
				if !slices.Contains(names(t, e), name) {
					if _, err := e.Restore(t.Context(), croft.RestoreRequest{Ref: name}); err != nil {
						t.Fatalf("%s is neither live nor can it be restored: %v", name, err)
					}
				}
				if got := read(t, filepath.Join(show(t, e, name).Path, "work.txt")); got != name+"\n" {
					t.Errorf("%s has %q", name, got)
				}
			}
			if rep, err := e.Doctor(t.Context(), croft.DoctorRequest{}); err != nil || len(rep.Findings) > 0 {
				t.Errorf("the doctor finds %+v, %v", rep, err)
			}
		})
	}
}
