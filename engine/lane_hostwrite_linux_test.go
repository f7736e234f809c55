package engine_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/croft-sh/croft"
)

// mounted mounts source on target; unmount undoes that. It needs root.
func mounted(t *testing.T, source, target, kind, options string, flags uintptr) (unmount func()) {
	t.Helper()
	if err := unix.Mount(source, target, kind, flags, options); err != nil {
		if os.Getuid() == 0 {
			t.Logf("nothing can be mounted here: %v", err)
		}
		t.Skip("nothing can be mounted here")
	}
	done := false
	unmount = func() {
		if !done {
			done = true
			_ = unix.Unmount(target, unix.MNT_DETACH)
		}
	}
	t.Cleanup(unmount)
	return unmount
}

// TestHostInUse: any one file of the user's checkout is a mount point, so that the kernel
// refuses to replace it.
func TestHostInUse(t *testing.T) {
	for _, file := range []string{"changed/f", "deleted/f", "mode/f", "todir/d", "grown/f"} {
		t.Run(file, func(t *testing.T) {
			r := changedHost(t)
			path := filepath.Join(r.Dir, filepath.FromSlash(file))
			unmount := mounted(t, path, path, "", "", unix.MS_BIND)
			wantUnwritten(t, r, asRoot, croft.NotWritable)
			unmount()
			wantWritten(t, r, asRoot)
		})
	}
}

// TestHostIsFull: the disk of the user's checkout becomes full after any one of the files.
// The repository and the state are on another disk.
func TestHostIsFull(t *testing.T) {
	for _, room := range []string{"0", "1", "2", "100", "290"} { // pages of 4 kB; the largest file needs 293
		t.Run(room, func(t *testing.T) {
			r := changedHost(t)
			small, aside := r.Dir, r.Dir+".aside"
			if err := os.Rename(small, aside); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(small, 0o755); err != nil {
				t.Fatal(err)
			}
			mounted(t, "tmpfs", small, "tmpfs", "size=64M", 0)
			if out, err := exec.CommandContext(t.Context(), "cp", "-a", aside+"/.", small).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			_ = os.RemoveAll(filepath.Join(small, ".git"))
			if err := os.Mkdir(filepath.Join(small, ".git"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := unix.Mount(filepath.Join(aside, ".git"), filepath.Join(small, ".git"), "", unix.MS_BIND, ""); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = unix.Unmount(filepath.Join(small, ".git"), unix.MNT_DETACH) })
			r.Git("update-index", "-q", "--refresh")
			fill := filepath.Join(small, "fill")
			leave(t, small, fill, room)
			wantUnwritten(t, r, asRoot, croft.NoSpace)
			if err := os.Remove(fill); err != nil {
				t.Fatal(err)
			}
			wantWritten(t, r, asRoot)
		})
	}
}

// leave fills a file system, except for a number of pages.
func leave(t *testing.T, dir, fill, pages string) {
	t.Helper()
	script := `dd if=/dev/zero of="$1" bs=4096 2>/dev/null; size=$(stat -c %s "$1"); truncate -s $((size - $2 * 4096)) "$1"`
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script, "sh", fill, pages)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, strings.TrimSpace(string(out)))
	}
}
