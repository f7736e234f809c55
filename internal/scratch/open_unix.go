//go:build !windows

package scratch

import "syscall"

// nonBlocking keeps the opening of a pipe that took a file's place from waiting
// for a writer.
const nonBlocking = syscall.O_NONBLOCK
