//go:build unix

package attack

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// burrow makes a chain of directories that is deeper than a path may be long, with a file
// at its end.
func burrow(t *testing.T, dir string, levels int) {
	t.Helper()
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	must(t, err)
	for range levels {
		must(t, unix.Mkdirat(fd, "d", 0o755))
		next, err := unix.Openat(fd, "d", unix.O_RDONLY|unix.O_DIRECTORY, 0)
		must(t, err)
		must(t, unix.Close(fd))
		fd = next
	}
	leaf, err := unix.Openat(fd, "leaf", unix.O_WRONLY|unix.O_CREAT, 0o644)
	must(t, err)
	must(t, unix.Close(leaf))
	must(t, unix.Close(fd))
}

// TestDeepDirectories: [W] makes 1,500 levels of directories, or in the long form 5,000.
// With 256 descriptors every command must answer, and gc must delete the removed workspace
// when its time is over.
func TestDeepDirectories(t *testing.T) {
	inModes(t, everyMode, func(t *testing.T, h *host) {
		h.purgeNow() // applies to what is removed from here on
		a := h.agent("a1")
		burrow(t, a.dir, size(1500, 5000))
		t.Cleanup(func() { _ = h.run(h.top, "rm", "-rf", h.path("t")) })
		few := func(command string) result {
			args := append([]string{"-c", "ulimit -n 256; croft=$1; shift; exec \"$croft\" \"$@\"", "sh", binary}, strings.Fields(command)...)
			r := h.run(h.dir, "sh", args...)
			if r.hung {
				t.Errorf("croft %s hangs", command)
			}
			if text := r.stdout + r.stderr; strings.Contains(text, "too many open files") || strings.Contains(text, "goroutine ") {
				t.Errorf("croft %s: %v", command, r)
			}
			return r
		}
		for _, command := range []string{"list", "show a1", "snapshot a1", "diff a1", "finish a1", "remove --force a1"} {
			few(command)
		}
		if _, err := os.Lstat(a.dir); err == nil {
			t.Fatal("the workspace was not removed")
		}
		few("gc")
		few("gc")
		if left, _ := filepath.Glob(filepath.Join(h.dir+".croft", ".trash", "*", "tree")); len(left) > 0 {
			t.Errorf("what was due is still in the trash: %v", left)
		}
	})
}

// TestWideDirectory: [W] makes very many entries in one directory. Removing and
// purging must be bounded in time and memory, and must leave nothing.
func TestWideDirectory(t *testing.T) {
	h := newHost(t, worktree)
	h.bound = 2 * time.Minute
	a := h.agent("a1")
	must(t, os.Mkdir(filepath.Join(a.dir, "wide"), 0o755))
	for i := range size(20_000, 500_000) {
		must(t, os.WriteFile(filepath.Join(a.dir, "wide", itoa(i)), nil, 0o644))
	}
	h.purgeNow()
	for _, command := range []string{"remove --force a1", "gc"} {
		r := h.mustCroft(strings.Fields(command)...)
		h.mustBeSmall(command, r)
		if limit := time.Duration(size(30, 100)) * time.Second; r.took > limit {
			t.Errorf("croft %s took %v, the limit is %v", command, r.took, limit)
		}
	}
	left, _ := filepath.Glob(filepath.Join(h.dir+".croft", ".trash", "*", "*"))
	if _, err := os.Lstat(a.dir); err == nil || len(left) > 0 {
		t.Errorf("the workspace was not deleted: %v", left)
	}
}
