//go:build unix

package fsx

import (
	"os"
	"syscall"
)

// ReadSmall reads a file that holds a line or two. A listing
// reads thousands of them, so it asks the kernel for no more than it has to:
// os.ReadFile makes twice the calls. It follows no link, waits for nobody, and
// takes nothing but a regular file.
func ReadSmall(path string) ([]byte, error) {
	var fd int
	var err error
	for {
		fd, err = syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
		if err != syscall.EINTR {
			break
		}
	}
	if err == syscall.ELOOP || err == syscall.ENXIO { // a link, or a socket
		err = ErrNotRegular
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer syscall.Close(fd)
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil || st.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return nil, &os.PathError{Op: "read", Path: path, Err: ErrNotRegular}
	}
	buf := make([]byte, 512)
	n := 0
	for {
		m, err := syscall.Read(fd, buf[n:])
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return nil, &os.PathError{Op: "read", Path: path, Err: err}
		}
		if n += m; m == 0 || n < len(buf) {
			return buf[:n], nil
		}
		if n >= MaxSmall {
			return nil, &os.PathError{Op: "read", Path: path, Err: ErrTooLarge}
		}
		buf = append(buf, make([]byte, len(buf))...)
	}
}
