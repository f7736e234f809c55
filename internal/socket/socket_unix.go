//go:build unix

package socket

import (
	"errors"
	"net"
	"os"
	"syscall"
)

func ownerOf(info os.FileInfo) (int, bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(stat.Uid), true
}

func isRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// withDescriptor calls f with the descriptor of a socket.
func withDescriptor(conn net.Conn, f func(fd int) error) error {
	sys, ok := conn.(syscall.Conn)
	if !ok {
		return errors.New("no socket of the system")
	}
	raw, err := sys.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := raw.Control(func(fd uintptr) { inner = f(int(fd)) }); err != nil {
		return err
	}
	return inner
}
