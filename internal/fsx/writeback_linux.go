package fsx

import (
	"os"

	"golang.org/x/sys/unix"
)

// WriteBack writes what is changed on the file system of a directory to disk. A process that has a file mapped writes into
// pages that are changed already without a new time; once they are written back, its next write gives the file another [Stamp]. On
// tmpfs nothing is written back.
func WriteBack(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = retry(func() (int, error) { return 0, unix.Syncfs(int(f.Fd())) })
	return err
}
