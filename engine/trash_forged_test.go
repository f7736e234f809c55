//go:build unix

package engine_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestForgedAdminArchives replaces git's archived admin files of a removed workspace, in
// the trash, by ones that an agent has forged. The workspace's files are restored, the
// victim stays unchanged, and the registration points to the repository.
func TestForgedAdminArchives(t *testing.T) {
	t.Parallel()
	for name, forge := range map[string]func(t *testing.T, admin, victim string) error{
		"a link": func(_ *testing.T, admin, victim string) error {
			return errors.Join(os.RemoveAll(admin), os.Symlink(filepath.Join(victim, "admin"), admin))
		},
		"a file": func(_ *testing.T, admin, _ string) error {
			return errors.Join(os.RemoveAll(admin), os.WriteFile(admin, []byte("x"), 0o644))
		},
		"a pipe": func(_ *testing.T, admin, _ string) error {
			return errors.Join(os.RemoveAll(admin), unix.Mkfifo(admin, 0o644))
		},
		"links in it": func(_ *testing.T, admin, victim string) error {
			var errs []error
			for _, file := range []string{"gitdir", "locked", "commondir", "index", "HEAD"} {
				_ = os.Remove(filepath.Join(admin, file))
				errs = append(errs, os.Symlink(filepath.Join(victim, "admin", "HEAD"), filepath.Join(admin, file)))
			}
			return errors.Join(errs...)
		},
		"a link to a directory in it": func(_ *testing.T, admin, victim string) error {
			return errors.Join(os.RemoveAll(filepath.Join(admin, "logs")), os.Symlink(victim, filepath.Join(admin, "logs")))
		},
		"pipes in it": func(_ *testing.T, admin, _ string) error {
			var errs []error
			for _, file := range []string{"HEAD", "index", "ORIG_HEAD"} {
				_ = os.Remove(filepath.Join(admin, file))
				errs = append(errs, unix.Mkfifo(filepath.Join(admin, file), 0o644))
			}
			return errors.Join(errs...)
		},
		"a huge file in it": func(_ *testing.T, admin, _ string) error {
			return os.Truncate(filepath.Join(admin, "index"), 1<<40)
		},
		"the way to another repository": func(_ *testing.T, admin, victim string) error {
			return errors.Join(os.WriteFile(filepath.Join(admin, "commondir"), []byte(victim+"\n"), 0o644),
				os.WriteFile(filepath.Join(admin, "gitdir"), []byte("../../../../victim/.git\n"), 0o644))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			e := engineIn(t, r, 0)
			w := create(t, e, croft.CreateRequest{Name: "a"})
			gittest.WriteFile(t, filepath.Join(w.Path, "wip"), "wip\n")
			if _, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce}); err != nil {
				t.Fatal(err)
			}
			victim := victimOf(t, r, w.ID)
			before := digestOf(t, victim)
			if err := forge(t, filepath.Join(filepath.Dir(w.Path), ".trash", string(w.ID), "admin"), victim); err != nil {
				t.Fatal(err)
			}
			back, err := e.Restore(t.Context(), croft.RestoreRequest{Ref: "a"})
			if err != nil {
				t.Fatalf("Restore: %v", err)
			}
			if after := digestOf(t, victim); after != before {
				t.Errorf("the victim changed:\n%s\nwas\n%s", after, before)
			}
			if got := r.GitIn(back.Path, "rev-parse", "--path-format=absolute", "--git-common-dir"); got != filepath.Join(r.Dir, ".git") {
				t.Errorf("its repository is %s", got)
			}
			if b, err := os.ReadFile(filepath.Join(back.Path, "wip")); err != nil || string(b) != "wip\n" {
				t.Errorf("its work: %q, %v", b, err)
			}
			if got := r.GitIn(back.Path, "status", "--porcelain"); got != "?? wip" {
				t.Errorf("its status: %q", got)
			}
		})
	}
}

// TestMadeAgainByTheUser: a user makes a directory at the path of a workspace whose own
// directory is gone. Croft neither removes that directory nor restores over it.
func TestMadeAgainByTheUser(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	pointer := read(t, filepath.Join(w.Path, ".git"))
	if err := os.RemoveAll(w.Path); err != nil {
		t.Fatal(err)
	}
	gittest.WriteFile(t, filepath.Join(w.Path, ".git"), pointer)
	gittest.WriteFile(t, filepath.Join(w.Path, "mine"), "mine\n")
	res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce})
	if err != nil || len(res.Kept) != 1 || res.Kept[0].Reason.Code != croft.WorkspaceBroken {
		t.Errorf("Remove = %+v, %v", res, err)
	}
	if !exists(filepath.Join(w.Path, "mine")) {
		t.Error("what the user made was moved")
	}
}

// TestMovedAwayAndBack: a directory was moved away while its workspace was removed, and
// moved back before the restoration. It is the workspace again, and is not overwritten.
func TestMovedAwayAndBack(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, r *gittest.Repo, e *engine.Engine, w croft.Workspace) {
		gittest.WriteFile(t, filepath.Join(w.Path, "u"), "U\n")
		aside := filepath.Join(r.Home, "aside")
		if err := os.Rename(w.Path, aside); err != nil {
			t.Fatal(err)
		}
		if res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce}); err != nil || len(res.Removed) != 1 {
			t.Fatalf("Remove = %+v, %v", res, err)
		}
		if err := os.Rename(aside, w.Path); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Restore(t.Context(), croft.RestoreRequest{Ref: "a"}); err != nil {
			t.Errorf("Restore: %v", err)
		}
		if b, err := os.ReadFile(filepath.Join(w.Path, "u")); err != nil || string(b) != "U\n" {
			t.Errorf("its work: %q, %v", b, err)
		}
	})
}

// TestExchangedInTheTrash: Croft neither deletes nor restores a directory that has replaced
// an entry of the trash.
func TestExchangedInTheTrash(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "tree"} {
		t.Run("place "+name, func(t *testing.T) {
			t.Parallel()
			r, dir := finishedInTrash(t)
			place := filepath.Join(dir, name)
			if err := os.Rename(place, filepath.Join(r.Home, "aside")); err != nil {
				t.Fatal(err)
			}
			mine := filepath.Join(dir, "tree", "mine")
			gittest.WriteFile(t, mine, "mine\n")
			if _, err := engineIn(t, r, 60*day).GC(t.Context(), croft.GCRequest{}); !errors.Is(err, croft.WorkspaceBroken) {
				t.Errorf("GC: %v", err)
			}
			if _, err := engineIn(t, r, 0).Restore(t.Context(), croft.RestoreRequest{Ref: "a"}); !errors.Is(err, croft.WorkspaceBroken) {
				t.Errorf("Restore: %v", err)
			}
			if !exists(mine) {
				t.Error("something else was deleted or moved")
			}
			if err := errors.Join(os.RemoveAll(place), os.Rename(filepath.Join(r.Home, "aside"), place)); err != nil {
				t.Fatal(err)
			}
			if _, err := engineIn(t, r, 0).Restore(t.Context(), croft.RestoreRequest{Ref: "a"}); err != nil {
				t.Errorf("once it is back: %v", err)
			}
		})
	}
}
