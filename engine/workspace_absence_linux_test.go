package engine_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
	"golang.org/x/sys/unix"
)

// absence is one way in which a directory is missing, or is back again.
type absence struct {
	// take moves it away, and returns its new path; "" if it cannot be found.
	take func(t *testing.T, c *cell) string
	// back moves it back.
	back func(t *testing.T, c *cell)
	// isBackFirst says that one act is done while it is away, and the others once it is
	// back.
	isBackFirst bool
}

// aside is a directory where Croft does not search.
func (c *cell) aside() string { return filepath.Join(c.Home, "aside") }

// hide mounts an empty directory over a directory, like the mount point of an unmounted
// drive.
func hide(t *testing.T, c *cell) string {
	t.Helper()
	if err := unix.Mount("none", c.place, "tmpfs", 0, "size=1m"); err != nil {
		if os.Getuid() != 0 || errors.Is(err, unix.EPERM) {
			t.Skipf("needs the right to mount: %v", err)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(c.place, unix.MNT_DETACH) })
	return ""
}

func unhide(t *testing.T, c *cell) {
	t.Helper()
	if err := unix.Unmount(c.place, unix.MNT_DETACH); err != nil {
		t.Fatal(err)
	}
}

func away(t *testing.T, c *cell) string {
	t.Helper()
	rename(t, c.place, c.aside())
	return ""
}

func comeBack(t *testing.T, c *cell) {
	t.Helper()
	// Files that were made there in between are moved out of the way, not deleted.
	if exists(c.place) {
		rename(t, c.place, c.place+".meanwhile")
	}
	rename(t, c.aside(), c.place)
}

var absences = map[string]absence{
	"absent":    {take: away, back: comeBack},
	"returned":  {take: away, back: comeBack, isBackFirst: true},
	"unmounted": {take: hide, back: unhide},
	"remounted": {take: hide, back: unhide, isBackFirst: true},
	"moved": {
		take: func(t *testing.T, c *cell) string { rename(t, c.place, c.place+".moved"); return c.place + ".moved" },
		back: func(t *testing.T, c *cell) {
			if exists(c.place + ".moved") { // otherwise it was removed from there
				if exists(c.place) {
					rename(t, c.place, c.place+".meanwhile")
				}
				rename(t, c.place+".moved", c.place)
			}
		},
	},
	"replaced": {
		take: func(t *testing.T, c *cell) string {
			rename(t, c.place, c.aside())
			gittest.WriteFile(t, filepath.Join(c.place, "theirs", "theirs.txt"), "theirs\n")
			c.foreign[filepath.Join(c.place, "theirs", "theirs.txt")] = "theirs\n"
			return ""
		},
		back: func(t *testing.T, c *cell) {
			c.wantForeign(t)
			c.foreign = map[string]string{}
			comeBack(t, c)
		},
	},
}

// cell is one case of the matrix: a workspace with work in it, a removed one, and files
// that belong to the user alone.
type cell struct {
	*absentee
	place   string // the path that is moved away
	gone    croft.Workspace
	inTrash map[string]string
	foreign map[string]string
}

func newCell(t *testing.T, kind, subject string) *cell {
	t.Helper()
	c := &cell{absentee: newAbsentee(t, kind), foreign: map[string]string{}}
	c.gone = create(t, c.e, croft.CreateRequest{Name: "gone", Mode: c.w.Mode})
	gittest.WriteFile(t, filepath.Join(c.gone.Path, "gone.txt"), "gone\n")
	gittest.WriteFile(t, filepath.Join(c.gone.Path, "gone.log"), "ignored\n")
	c.inTrash = contents(t, c.gone.Path)
	res, err := c.e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"gone"}, Mode: croft.RemoveForce})
	if err != nil || len(res.Removed) != 1 {
		t.Fatalf("Remove = %+v, %v", res, err)
	}
	parent := filepath.Dir(c.w.Path)
	c.place = map[string]string{
		"workspace": c.w.Path, "parent": parent, "trash": filepath.Join(parent, ".trash"), "repository": c.Dir,
	}[subject]
	mine := filepath.Join(filepath.Dir(c.Dir), "mine", "notes.txt")
	gittest.WriteFile(t, mine, "mine\n")
	c.foreign[mine] = "mine\n"
	return c
}

// wantForeign fails if one of the user's files has changed.
func (c *cell) wantForeign(t *testing.T) {
	t.Helper()
	for path, text := range c.foreign {
		if b, err := os.ReadFile(path); err != nil || string(b) != text {
			t.Errorf("%s, which is the user's, holds %q: %v", path, b, err)
		}
	}
}

// acts are all calls that are tried, from reads to forced removals. A call that fails must
// have a code.
func (c *cell) acts(t *testing.T, e *engine.Engine) {
	t.Helper()
	remove := croft.RemoveRequest{Workspaces: []string{"w"}}
	force := croft.RemoveRequest{Workspaces: []string{"w"}, Mode: croft.RemoveForce}
	for i, act := range []func() error{
		func() error { _, err := e.Workspaces(t.Context(), croft.WorkspacesRequest{}); return err },
		func() error { _, err := e.Doctor(t.Context(), croft.DoctorRequest{Fix: croft.FixAll}); return err },
		func() error { _, err := e.Remove(t.Context(), remove); return err },
		func() error { _, err := e.Clean(t.Context(), croft.CleanRequest{}); return err },
		func() error { _, err := e.GC(t.Context(), croft.GCRequest{}); return err },
		func() error { _, err := e.Restore(t.Context(), croft.RestoreRequest{Ref: "gone"}); return err },
		func() error { _, err := e.Undo(t.Context(), croft.UndoRequest{Mode: croft.RemoveForce}); return err },
		func() error { _, err := e.Remove(t.Context(), force); return err },
	} {
		if err := act(); err != nil {
			if _, typed := errors.AsType[*croft.Error](err); !typed || errors.Is(err, croft.Internal) {
				t.Errorf("act %d: %v", i, err)
			}
		}
	}
}

// wantAll fails unless both workspaces can be used, or restored, with all their files.
func (c *cell) wantAll(t *testing.T) {
	t.Helper()
	e := engineIn(t, c.Repo, 0)
	if _, err := e.Doctor(t.Context(), croft.DoctorRequest{Fix: croft.FixAll}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]map[string]string{"w": c.was, "gone": c.inTrash} {
		got, err := e.Workspace(t.Context(), croft.WorkspaceRequest{Ref: name})
		if errors.Is(err, croft.WorktreeNotFound) || err == nil && got.State == croft.Trashed {
			got, err = e.Restore(t.Context(), croft.RestoreRequest{Ref: name})
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		wantContents(t, got.Path, want)
		if got.State != croft.Ready {
			t.Errorf("%s is %s (%s)", name, got.State, got.Fault)
		}
	}
	c.wantForeign(t)
}

// TestAbsence: for every combination of a directory that is missing, moved, back again or
// replaced, and a call: no work is lost, and no file of the user's changes.
func TestAbsence(t *testing.T) {
	t.Parallel()
	for how, a := range absences {
		for _, subject := range []string{"workspace", "parent", "trash", "repository"} {
			for _, kind := range kinds {
				t.Run(how+"/"+subject+"/"+kind, func(t *testing.T) {
					t.Parallel()
					c := newCell(t, kind, subject)
					dir := c.Dir
					to := a.take(t, c)
					if subject == "repository" && to != "" {
						c.Dir = to
					}
					if e, err := engine.Open(t.Context(), c.Dir, &engine.Options{Environ: c.Env}); err == nil {
						c.acts(t, e)
						if err := e.Close(); err != nil {
							t.Error(err)
						}
					}
					c.wantForeign(t)
					a.back(t, c)
					c.Dir = dir
					if a.isBackFirst {
						c.acts(t, engineIn(t, c.Repo, 0))
					}
					c.wantAll(t)
				})
			}
		}
	}
}
