package fsx_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/croft-sh/croft/internal/fsx"
)

// TestIdentityOnLayers: a directory of a lower layer, as in a container's image, is copied
// up at its first change, and has a new time of birth then. Its identity stays the same, by
// its path, as an entry, or held open.
func TestIdentityOnLayers(t *testing.T) {
	top := t.TempDir()
	at := func(name string) string { return filepath.Join(top, name) }
	must(t, os.MkdirAll(at("lower/dir"), 0o755), os.Mkdir(at("upper"), 0o755), os.Mkdir(at("work"), 0o755), os.Mkdir(at("merged"), 0o755),
		os.WriteFile(at("lower/dir/f"), []byte("f\n"), 0o644))
	options := "lowerdir=" + at("lower") + ",upperdir=" + at("upper") + ",workdir=" + at("work")
	if err := unix.Mount("overlay", at("merged"), "overlay", 0, options); err != nil {
		t.Skipf("no layers can be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(at("merged"), unix.MNT_DETACH) })
	d, dir := open(t, at("merged")), at("merged/dir")
	looks := func() (ids [3]fsx.Identity) {
		held, err := d.OpenDir("dir")
		must(t, err)
		defer held.Close()
		for i, look := range []func() (fsx.Identity, error){
			func() (fsx.Identity, error) { return fsx.IdentityOf(dir) }, func() (fsx.Identity, error) { return d.IdentityOf("dir") }, held.Identity,
		} {
			ids[i], err = look()
			must(t, err)
		}
		return ids
	}
	before := looks()
	must(t, os.WriteFile(filepath.Join(dir, "new"), []byte("new\n"), 0o644))
	if _, err := os.Lstat(at("upper/dir")); err != nil {
		t.Fatalf("nothing was copied up: %v", err)
	}
	for i, id := range append(before[:], func() []fsx.Identity { a := looks(); return a[:] }()...) {
		if id != before[0] || id.HasBirth() {
			t.Errorf("look %d: the identity is %q, and was %q", i, id, before[0])
		}
	}
	if err := d.RemoveTree("dir", before[0], nil); err != nil || fsx.IsThere(dir) {
		t.Errorf("it cannot be removed as what it is: %v", err)
	}
}
