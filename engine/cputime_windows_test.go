package engine_test

import (
	"syscall"
	"testing"
	"time"
)

// cpuTime returns the CPU time that this process has used, without its children.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	self, err := syscall.GetCurrentProcess()
	if err != nil {
		t.Fatal(err)
	}
	var made, ended, kernel, user syscall.Filetime
	if err := syscall.GetProcessTimes(self, &made, &ended, &kernel, &user); err != nil {
		t.Fatal(err)
	}
	ticks := func(f syscall.Filetime) time.Duration {
		return time.Duration(int64(f.HighDateTime)<<32|int64(f.LowDateTime)) * 100
	}
	return ticks(kernel) + ticks(user)
}
