package socket

import (
	"fmt"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// peerUID returns the user of the process at the other end: of a client, that of the process
// that connected; of a server, that of the process that began to listen.
func peerUID(conn net.Conn) (int, error) {
	uid := -1
	err := withDescriptor(conn, func(fd int) error {
		cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err == nil {
			uid = int(cred.Uid)
		}
		return err
	})
	return uid, err
}

// shorten returns a short path for a socket whose path is too long for the kernel: through an
// open descriptor of its directory, until done is called.
func shorten(path string) (short string, done func(), err error) {
	if len(path) <= maxPath {
		return path, func() {}, nil
	}
	dir, err := unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", nil, &os.PathError{Op: "open", Path: filepath.Dir(path), Err: err}
	}
	short = fmt.Sprintf("/proc/self/fd/%d/%s", dir, filepath.Base(path))
	if len(short) > maxPath {
		_ = unix.Close(dir)
		return "", nil, tooLongError(path)
	}
	return short, func() { _ = unix.Close(dir) }, nil
}
