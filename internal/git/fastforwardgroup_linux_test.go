package git

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestAdvanceInheritsByDirectory: what a directory gives to the files that are made in it, they have too where a
// checkout goes along; also if the top of the checkout gives something else.
func TestAdvanceInheritsByDirectory(t *testing.T) {
	// user::rwx, user:1:r--, group::r-x, mask::r-x, other::---
	rules := "\x02\x00\x00\x00" + "\x01\x00\x07\x00\xff\xff\xff\xff" + "\x02\x00\x04\x00\x01\x00\x00\x00" +
		"\x04\x00\x05\x00\xff\xff\xff\xff" + "\x10\x00\x05\x00\xff\xff\xff\xff" + "\x20\x00\x00\x00\xff\xff\xff\xff"
	for name, tt := range map[string]struct {
		give func(dir string) error
		has  func(file string) bool
	}{
		"group": {
			func(dir string) error {
				group, err := otherGroup()
				if err != nil {
					return err
				}
				if err := os.Chown(dir, -1, group); err != nil {
					return err
				}
				return os.Chmod(dir, 0o755|os.ModeSetgid)
			},
			func(file string) bool {
				info, err := os.Lstat(file)
				want, _ := otherGroup()
				return err == nil && int(info.Sys().(*syscall.Stat_t).Gid) == want
			},
		},
		"rules of access": {
			func(dir string) error { return unix.Setxattr(dir, "system.posix_acl_default", []byte(rules), 0) },
			func(file string) bool {
				n, err := unix.Getxattr(file, "system.posix_acl_access", nil)
				return err == nil && n > 0
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := gittest.New(t)
			r.Write("dir/changed", "old\n")
			old := r.Commit("second")
			if err := tt.give(filepath.Join(r.Dir, "dir")); err != nil {
				t.Skip(err)
			}
			now := next(r, map[string]string{"dir/changed": "new\n", "dir/new": "new\n", "dir/deep/new": "new\n"})
			if err := advance(t, open(t, r), old, now); err != nil {
				t.Fatal(err)
			}
			for _, file := range []string{"dir/changed", "dir/new", "dir/deep/new"} {
				if !tt.has(filepath.Join(r.Dir, file)) {
					t.Errorf("%s has not what its directory gives", file)
				}
			}
		})
	}
}

// otherGroup returns a group that is not the one that new files get by themselves.
func otherGroup() (int, error) {
	if os.Geteuid() == 0 {
		return os.Getegid() + 1, nil
	}
	groups, err := os.Getgroups()
	for _, g := range groups {
		if g != os.Getegid() {
			return g, nil
		}
	}
	if err == nil {
		err = os.ErrPermission
	}
	return 0, err
}
