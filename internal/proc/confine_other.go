//go:build !linux

package proc

// confined: only Linux can.
func confined(_ []string, start func() error) error { return start() }

// CanConfine reports whether the kernel can confine processes.
func CanConfine() bool { return false }
