package fsx_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/croft-sh/croft/internal/fsx"
)

// TestWriteBack: what a process writes into a file that it has mapped and has written to before gives the file another stamp.
func TestWriteBack(t *testing.T) {
	dir := t.TempDir()
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil || uint32(st.Type) == unix.TMPFS_MAGIC {
		t.Skip("a file system that never tells of such writes")
	}
	f, err := os.Create(filepath.Join(dir, "db"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(4096); err != nil {
		t.Fatal(err)
	}
	mapped, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(mapped) }()
	mapped[0] = 1
	tree := fsx.OpenTree(dir)
	defer tree.Release()
	was, err := tree.Stamp("db")
	if err != nil {
		t.Fatal(err)
	}
	if err := fsx.WriteBack(dir); err != nil {
		t.Fatal(err)
	}
	<-time.After(time.Until(was.Settled())) // the clock of the file system counts in steps
	mapped[0] = 2
	if now, err := tree.Stamp("db"); err != nil || now == was {
		t.Errorf("the stamp is as it was: %v", err)
	}
}
