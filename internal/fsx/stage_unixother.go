//go:build unix && !linux && !darwin

package fsx

import "golang.org/x/sys/unix"

func exchangeAt(int, string, int, string) error { return unix.ENOSYS }
