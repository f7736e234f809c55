package proc

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What a confined process may do only below the directories it is given.
const (
	fileRights = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	dirRights  = fileRights | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER
)

// Versions of the kernel's interface. Below the first a file cannot be renamed
// from one directory to another, which git needs.
const (
	hasRefer    = 2
	hasTruncate = 3
)

// runConfined calls start, which starts a process, on a thread that may write below
// the command's directories only; the process inherits that. If start also waits for the
// process, the thread lives as long: the kernel tells a child of the end of the
// thread that started it. Where the kernel cannot confine, start is just called.
func runConfined(c Command, start func() error) error {
	if c.WriteBelow == nil || landlockVersion() < hasRefer {
		return start()
	}
	done := make(chan error, 1)
	go func() {
		// It is never unlocked, so that the thread ends with this goroutine and
		// nothing else ever runs on it.
		runtime.LockOSThread()
		_ = confineThread(c)
		done <- start()
	}()
	return <-done
}

// CanConfine reports whether the kernel can confine processes.
func CanConfine() bool { return landlockVersion() >= hasRefer }

// startDir is the path by which a process finds the directory that it starts in.
func startDir(c Command) string {
	if c.At == nil {
		return c.Dir
	}
	path := "/proc/self/fd/" + strconv.Itoa(int(c.At.Fd()))
	if _, err := os.Stat(path); err != nil { // a container without it
		return c.Dir
	}
	return path
}

func landlockVersion() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

func confineThread(c Command) error {
	handled := uint64(dirRights)
	if landlockVersion() < hasTruncate {
		handled &^= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&handled)), unsafe.Sizeof(handled), 0)
	if errno != 0 {
		return errno
	}
	defer unix.Close(int(fd))
	for _, dir := range append(slices.Clip(c.WriteBelow), os.DevNull) {
		if err := allowPath(int(fd), dir, handled); err != nil {
			return err
		}
	}
	if c.At != nil {
		if err := allowFD(int(fd), int(c.At.Fd()), handled); err != nil {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// allowPath adds a directory, or an existing file, to a ruleset. A link is not
// followed.
func allowPath(ruleset int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil //nolint:nilerr // what is not there needs no right
	}
	defer unix.Close(fd)
	return allowFD(ruleset, fd, rights)
}

// allowFD adds the directory or file of an open descriptor to a ruleset. It adds nothing
// for a symbolic link.
func allowFD(ruleset, fd int, rights uint64) error {
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
	case unix.S_IFLNK:
		return nil
	default:
		rights &= fileRights
	}
	// The kernel's structure is packed: twelve bytes.
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
