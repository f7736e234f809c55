//go:build unix

package process

import (
	"math"
	"syscall"
)

// maxFiles is how many files this process may open, or 0 if that is not known. The runtime of Go
// has raised its own limit to the hard one when the process began.
func maxFiles() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	return int(min(uint64(limit.Cur), math.MaxInt32))
}
