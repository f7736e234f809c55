//go:build unix

package restore

import "golang.org/x/sys/unix"

func makePipe(path string, mode uint32) error {
	if err := unix.Mkfifo(path, mode); err != nil {
		return err
	}
	return unix.Chmod(path, mode)
}
