//go:build unix && !linux

package proc

import "golang.org/x/sys/unix"

// LowerPriority gives this process, and what it starts from now on, less of the
// machine than others. That it cannot is no failure.
func LowerPriority() { _ = unix.Setpriority(unix.PRIO_PROCESS, 0, 19) }
