//go:build unix

package socket

import "syscall"

func closeOnExec(fd int) { syscall.CloseOnExec(fd) }
