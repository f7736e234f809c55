package fsx_test

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/croft-sh/croft/internal/fsx"
)

// TestIdentityHasTheBirth: where the kernel has a directory's time of birth, its identity
// includes it. The inode number alone is used again.
func TestIdentityHasTheBirth(t *testing.T) {
	dir := t.TempDir()
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, dir, 0, unix.STATX_BTIME, &st); err != nil || st.Mask&unix.STATX_BTIME == 0 {
		t.Skip("this file system keeps no times of birth")
	}
	id, err := fsx.IdentityOf(dir)
	if err != nil || !id.HasBirth() {
		t.Errorf("the identity is %q, %v", id, err)
	}
	held, err := fsx.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if same, err := held.Identity(); err != nil || same != id {
		t.Errorf("held open it is %q, %v, want %q", same, err, id)
	}
}
