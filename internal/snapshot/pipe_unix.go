//go:build unix

package snapshot

import (
	"os"

	"golang.org/x/sys/unix"
)

// openFile opens a file to read it. What became a pipe meanwhile does not make
// it wait, and what became a link is not followed.
func openFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
}

func makePipe(path string, mode uint32) error {
	if err := unix.Mkfifo(path, mode); err != nil {
		return err
	}
	return unix.Chmod(path, mode)
}
