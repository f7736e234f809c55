//go:build linux

package attack

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestBorrowedObjects: [W] an agent in an isolated or plain checkout overwrites every file
// that its git reads objects from and that it may write: in its own git directory and in
// its alternates. The project's objects must be whole, and share no inode with these files.
func TestBorrowedObjects(t *testing.T) {
	inModes(t, []mode{isolated, plain}, func(t *testing.T, h *host) {
		if h.mode == isolated {
			h.git(h.dir, "gc", "--quiet")
		}
		a := h.agent("i1")
		stores := []string{filepath.Join(a.gitDir(), "objects")}
		if text, err := os.ReadFile(filepath.Join(a.gitDir(), "objects", "info", "alternates")); err == nil {
			stores = append(stores, strings.Fields(string(text))...)
		}
		own := map[uint64]string{}
		if h.mode == isolated {
			own = inodes(t, filepath.Join(h.dir, ".git", "objects"))
		}
		for _, store := range stores {
			for inode, path := range inodes(t, store) {
				if theirs, shared := own[inode]; shared {
					t.Errorf("the agent's store shares %s with the project's %s", path, theirs)
					must(t, os.Chmod(path, 0o644))
					f, err := os.OpenFile(path, os.O_WRONLY, 0)
					must(t, err)
					_, err = f.WriteAt([]byte("XXXXXXXX"), 20)
					must(t, err)
					must(t, f.Close())
				}
			}
		}
		if h.mode == isolated {
			if r := h.run(h.dir, "git", "fsck", "--full"); r.code != 0 {
				t.Errorf("the project's objects are damaged: %v", r)
				if r := h.croft("doctor"); r.code == 0 && !strings.Contains(r.stdout+r.stderr, "damage") {
					t.Errorf("the doctor does not see it: %v", r)
				}
			}
		}
	})
}

// inodes returns the regular files below a directory by their inode.
func inodes(t *testing.T, dir string) map[uint64]string {
	t.Helper()
	list := map[uint64]string{}
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			list[stat.Ino] = path
		}
		return nil
	}))
	return list
}

// TestDoctorSeesDamage: objects of the project are damaged. The doctor must say so.
func TestDoctorSeesDamage(t *testing.T) {
	h := newHost(t, isolated)
	h.git(h.dir, "gc", "--quiet")
	h.agent("i1")
	packs, err := filepath.Glob(filepath.Join(h.dir, ".git", "objects", "pack", "*.pack"))
	must(t, err)
	if len(packs) == 0 {
		t.Fatal("there is no pack")
	}
	must(t, os.Chmod(packs[0], 0o644))
	f, err := os.OpenFile(packs[0], os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteAt([]byte("XXXXXXXX"), 40)
	must(t, err)
	must(t, f.Close())
	if r := h.croft("doctor"); strings.Contains(r.stdout+r.stderr, "all is well") {
		t.Errorf("the doctor sees nothing: %v", r)
	}
}
