//go:build failpoints

package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// swapRestorations returns a removed workspace, and a task that restores it.
func swapRestorations(t *testing.T) (*gittest.Repo, task) {
	r := worked(t, "")
	removeA(t, r)
	return r, task{Restore: &croft.RestoreRequest{Ref: "a"}}
}

// swapRemovals returns a workspace with all kinds of work, and a task that removes it.
func swapRemovals(t *testing.T) (*gittest.Repo, task) {
	return worked(t, ""), task{Remove: &croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce}}
}

// TestLinksAtEveryStep replaces a directory by a link to a victim at every step of a
// removal, a restoration, a reduction and a purge. The step may fail; the victim stays
// unchanged, and the work is not lost: once the link is gone, it is in the workspace, in
// the trash or in a snapshot.
func TestLinksAtEveryStep(t *testing.T) {
	for name, setting := range map[string]func(t *testing.T) (*gittest.Repo, task){
		"Remove": swapRemovals, "Restore": swapRestorations, "Reduce": reductions, "Purge": purges,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			total, step := min(points(t, setting), 24), 2 // the points after that delete more files in the same way
			if os.Getenv("CROFT_LONG") != "" {
				step = 1
			}
			t.Logf("%d points", total)
			for n := 1; n <= total; n++ {
				for which := range 8 {
					if step > 1 && (n+which)%8 != 0 && (n+which)%8 != 3 {
						continue
					}
					t.Run(fmt.Sprintf("%d/%d", n, which), func(t *testing.T) {
						t.Parallel()
						r, job := setting(t)
						swapAt(t, r, job, n, which)
						if name == "Remove" || name == "Restore" {
							wantWork(t, r)
						}
					})
				}
			}
		})
	}
}

// swapAt runs a task up to a failpoint, replaces a directory by a link, and lets the task
// go on.
func swapAt(t *testing.T, r *gittest.Repo, job task, n, which int) {
	t.Helper()
	var id croft.ID
	brief(t, r, func(e *engine.Engine) {
		for _, f := range []croft.WorkspacesRequest{{}, {States: []croft.State{croft.Trashed}}} {
			if list, err := e.Workspaces(t.Context(), f); err == nil && len(list.Items) > 0 {
				id = list.Items[0].ID
			}
		}
	})
	victim := victimOf(t, r, id)
	before := digestOf(t, victim)
	file := filepath.Join(r.Home, "pause")
	cmd := helper(t, r, job, fmt.Sprintf("CROFT_FAILPOINT=pause=%s#%d", file, n))
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for !exists(file + ".paused") {
		select {
		case err := <-ended:
			t.Fatalf("it ended before point %d: %v: %s", n, err, out.String())
		case <-time.After(time.Millisecond):
		}
	}
	place := swapped(r, id)[which]
	undo := swap(place, victim)
	if err := os.WriteFile(file+".go", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended: // with or without an error
	case <-time.After(time.Minute):
		_ = cmd.Process.Kill()
		t.Fatalf("it hangs after %s was exchanged at %s: %s", place, read(t, file+".paused"), out.String())
	}
	if after := digestOf(t, victim); after != before {
		t.Errorf("the victim changed when %s was exchanged at %s:\n%s\nwas\n%s\n%s", place, read(t, file+".paused"), after, before, out.String())
	}
	undo()
	brief(t, r, func(e *engine.Engine) { _, _ = e.GC(t.Context(), croft.GCRequest{}) })
	if after := digestOf(t, victim); after != before {
		t.Errorf("the victim changed later:\n%s\nwas\n%s", after, before)
	}
}

// wantWork checks that the workspace's uncommitted work can be restored from some place.
func wantWork(t *testing.T, r *gittest.Repo) {
	t.Helper()
	brief(t, r, func(e *engine.Engine) {
		if len(names(t, e)) == 0 {
			if _, err := e.Restore(t.Context(), croft.RestoreRequest{Ref: "a"}); err != nil {
				t.Errorf("it cannot be restored: %v", err)
			}
		}
	})
	found := false
	_ = filepath.WalkDir(filepath.Dir(r.Dir), func(path string, d os.DirEntry, err error) error {
		found = found || err == nil && strings.HasSuffix(path, filepath.Join("new", "untracked.txt"))
		return nil
	})
	if !found {
		t.Error("uncommitted work is gone")
	}
}
