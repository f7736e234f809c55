//go:build unix

package engine_test

import (
	"syscall"
	"testing"
	"time"
)

// cpuTime returns the CPU time that this process has used, without its children.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
