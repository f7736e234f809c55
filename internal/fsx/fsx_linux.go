package fsx

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// openPlain opens a directory no part of whose path is a link.
func openPlain(path string) (*os.File, error) {
	fd, err := retry(func() (int, error) {
		return unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
			Flags: dirFlags, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
		})
	})
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) { // an old kernel, or a sandbox that does not know the call
		fd, err = openByParts(path)
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// openByParts opens one part of a path after the other. Those on the way need
// not be readable.
func openByParts(path string) (int, error) {
	if !filepath.IsAbs(path) {
		return -1, unix.EINVAL
	}
	at, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	for part := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if err != nil {
			return -1, err
		}
		next := at
		if part != "" {
			next, err = unix.Openat(at, part, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
			_ = unix.Close(at)
		}
		at = next
	}
	if err != nil {
		return -1, err
	}
	defer unix.Close(at)
	return unix.Openat(at, ".", dirFlags, 0)
}

// IdentityOf returns the identity of an entry. A link is looked at itself.
func (d *Dir) IdentityOf(name string) (Identity, error) {
	if !isName(name) {
		return "", nameError("stat", name)
	}
	id, err := statx(d.fd(), name, unix.AT_SYMLINK_NOFOLLOW)
	if err != nil {
		return "", &os.PathError{Op: "stat", Path: d.join(name), Err: err}
	}
	return id, nil
}

func identityOfOpen(f *os.File) (Identity, error) {
	return statx(int(f.Fd()), "", unix.AT_EMPTY_PATH)
}

func renameNew(from int, name string, to int, newName string) error {
	err := unix.Renameat2(from, name, to, newName, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return renameLooking(from, name, to, newName)
	}
	return err
}

// openOnMount opens an entry of a directory as a directory of the same mount.
func openOnMount(dir int, name string) (int, error) {
	fd, err := retry(func() (int, error) {
		return unix.Openat2(dir, name, &unix.OpenHow{
			Flags: dirFlags, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV | unix.RESOLVE_BENEATH,
		})
	})
	switch {
	case errors.Is(err, unix.EXDEV):
		return -1, ErrMount
	case errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM):
		return openOnDevice(dir, name)
	}
	return fd, err
}

// makeAccessible lets the owner of a directory read and change it. Only a directory is
// changed, never what a link leads to.
func makeAccessible(dir int, name string) error {
	fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	// The call that changes the mode of a descriptor does not take one of this
	// kind; its name in /proc leads to the directory that is held, also if something
	// else was put at the path.
	return unix.Chmod(descriptorPath(fd), 0o700)
}

func inodeAndBirth(path string) (ino uint64, birth int64, err error) {
	ino, birth, err = statxAt(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW)
	if err != nil {
		return 0, 0, &os.PathError{Op: "statx", Path: path, Err: err}
	}
	return ino, birth, nil
}

func statx(dir int, name string, flags int) (Identity, error) {
	ino, birth, err := statxAt(dir, name, flags)
	if err != nil {
		return "", err
	}
	return identity(ino, birth), nil
}

func statxAt(dir int, name string, flags int) (ino uint64, birth int64, err error) {
	var st unix.Statx_t
	if err := unix.Statx(dir, name, flags|unix.AT_STATX_SYNC_AS_STAT, unix.STATX_INO|unix.STATX_BTIME, &st); err != nil {
		return 0, 0, err
	}
	if st.Mask&unix.STATX_BTIME != 0 && (isOnDevice(&st) || !isOverlay(dir, name)) {
		birth = st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
	}
	return st.Ino, birth, nil
}

func descriptorPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// isOnDevice reports whether a directory lies on a file system with a device of its own,
// which one of layers has not. A file may name the device of its layer.
func isOnDevice(st *unix.Statx_t) bool {
	return st.Dev_major != 0 && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

// isOverlay reports whether an entry of a directory lies on a file system of
// layers. There a directory of a lower layer is born again with the first change,
// under the same inode.
func isOverlay(dir int, name string) bool {
	var st unix.Statfs_t
	err := unix.Statfs(name, &st)
	if dir != unix.AT_FDCWD {
		err = unix.Fstatfs(dir, &st)
	}
	return err == nil && st.Type == unix.OVERLAYFS_SUPER_MAGIC
}

// RenameNew renames without replacing anything, not even an empty directory: then it fails
// with [ErrExists], which is not [os.ErrExist].
func RenameNew(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EEXIST):
		return fmt.Errorf("%s: %w", to, ErrExists)
	case errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS): // a file system that cannot
		return renameChecked(from, to)
	}
	return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
}

// cloneInto lets an empty file share the blocks of another one.
func cloneInto(from, to *os.File) error { return unix.IoctlFileClone(int(to.Fd()), int(from.Fd())) }

// cloneTo is for systems that make a clone under a new name.
func cloneTo(_ *os.File, _ string) error { return errors.ErrUnsupported }

// defaultRules are the rules of access that new entries of a directory get.
const defaultRules = "system.posix_acl_default"

func inheritRules(fd, like int) {
	rules := make([]byte, 64<<10)
	n, err := unix.Fgetxattr(like, defaultRules, rules)
	if err == nil && n > 0 {
		_ = unix.Fsetxattr(fd, defaultRules, rules[:n], 0)
	}
}

// MemoryDir is where what is only tried may lie: a file system in memory, on
// which a file costs a tenth of what it does on a disk.
const MemoryDir = "/dev/shm"

// memoryFree is how much room there has to be: what many merges write is less.
const memoryFree = 256 << 20

// HasMemoryDir reports whether MemoryDir exists and has room.
func HasMemoryDir() bool {
	var st unix.Statfs_t
	if err := unix.Statfs(MemoryDir, &st); err != nil || st.Type != unix.TMPFS_MAGIC {
		return false
	}
	return st.Bavail*uint64(st.Bsize) >= memoryFree
}

// networkTypes are the magic numbers of network file systems.
var networkTypes = map[int64]string{
	0x6969:     "nfs",
	0x517b:     "smb",
	0xff534d42: "cifs",
	0xfe534d42: "smb2",
	0x5346414f: "afs",
	0x6b414653: "afs",
	0x73757245: "coda",
	0x564c:     "ncp",
	0x00c36400: "ceph",
	0x0bd00bd0: "lustre",
	0x47504653: "gpfs",
	0x19830326: "fhgfs",
}

func networkFS(dir string) string {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return ""
	}
	return networkTypes[int64(uint32(st.Type))]
}
