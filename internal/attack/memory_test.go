//go:build unix

package attack

import (
	"os"
	"runtime"
	"syscall"
)

// residentOf is the largest resident size that a process, or any process that
// it waited for, had. Linux counts in KiB, others in bytes.
func residentOf(state *os.ProcessState) int64 {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "linux" {
		return int64(usage.Maxrss) << 10 //nolint:unconvert // an int32 on some systems
	}
	return int64(usage.Maxrss) //nolint:unconvert // an int32 on some systems
}
