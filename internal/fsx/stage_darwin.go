package fsx

import "golang.org/x/sys/unix"

func exchangeAt(from int, name string, to int, other string) error {
	return unix.RenameatxNp(from, name, to, other, unix.RENAME_SWAP)
}
