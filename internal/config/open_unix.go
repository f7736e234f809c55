//go:build unix

package config

import "syscall"

const (
	// openPlain does not wait for the writer of a named pipe.
	openPlain = syscall.O_RDONLY | syscall.O_NONBLOCK
	// openNoLink fails where a link was put after the file was looked at.
	openNoLink = openPlain | syscall.O_NOFOLLOW
)
