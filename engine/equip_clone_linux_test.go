package engine_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestClone: where the file system can share blocks, a clone takes few of its own, and what is written into
// it is not written in the project.
func TestClone(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to mount a file system")
	}
	image, mount := filepath.Join(t.TempDir(), "image"), filepath.Join(t.TempDir(), "mount")
	gittest.WriteFile(t, image, "")
	if err := os.Truncate(image, 400<<20); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(mount, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"mkfs.xfs", "-q", "-m", "reflink=1", image}, {"mount", "-o", "loop", image, mount}} {
		if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Skipf("%v: %v: %s", args, err, out)
		}
	}
	t.Cleanup(func() { _ = unix.Unmount(mount, unix.MNT_DETACH) })
	t.Setenv("TMPDIR", mount)
	t.Run("xfs", func(t *testing.T) {
		r := gittest.New(t)
		r.Write(".gitignore", "model/\n")
		r.Write("croft.toml", "[[provision.path]]\npath = \"model\"\nhow = \"clone\"\n")
		r.Commit("settings")
		r.Write("model/weights", strings.Repeat("x", 50<<20))
		before := freeBytes(t, mount)
		w := create(t, engineIn(t, r, 0), croft.CreateRequest{Name: "a"})
		if got := w.Provision.Paths[0]; got.How != croft.ProvisionClone || got.Files != 1 || got.Why != "" {
			t.Fatalf("%+v", got)
		}
		if used := before - freeBytes(t, mount); used > 10<<20 {
			t.Errorf("a clone of 50 MiB took %d MiB", used>>20)
		}
		gittest.WriteFile(t, filepath.Join(w.Path, "model/weights"), "mine")
		if len(read(t, filepath.Join(r.Dir, "model/weights"))) != 50<<20 {
			t.Error("the project's file was written")
		}
	})
}

// freeBytes returns the free bytes of a file system whose writes are done.
func freeBytes(t *testing.T, dir string) int64 {
	t.Helper()
	unix.Sync()
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		t.Fatal(err)
	}
	return int64(st.Bavail) * st.Bsize
}
