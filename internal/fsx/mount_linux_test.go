package fsx_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/croft-sh/croft/internal/fsx"
)

func TestRemoveTreeStaysOnItsMount(t *testing.T) {
	d, path := held(t)
	victim, inside := filepath.Join(path, "victim"), filepath.Join(path, "tree", "a", "mnt")
	must(t, os.MkdirAll(inside, 0o755), os.Mkdir(victim, 0o755), os.WriteFile(filepath.Join(victim, "f"), nil, 0o644))
	// A bind mount has the same device as the tree.
	if err := unix.Mount(victim, inside, "", unix.MS_BIND, ""); err != nil {
		t.Skipf("nothing can be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(inside, unix.MNT_DETACH) })
	if err := d.RemoveTree("tree", identity(t, filepath.Join(path, "tree")), nil); !errors.Is(err, fsx.ErrMount) {
		t.Errorf("a mount in the tree: %v", err)
	}
	if !fsx.IsThere(filepath.Join(victim, "f")) {
		t.Error("what is mounted in the tree was deleted")
	}
	parent := open(t, filepath.Dir(inside))
	if err := parent.RemoveTree("mnt", identity(t, inside), nil); !errors.Is(err, fsx.ErrMount) || !fsx.IsThere(filepath.Join(victim, "f")) {
		t.Errorf("what is a mount itself: %v", err)
	}
}
