//go:build !linux

package proc

// confined: only Linux can.
func confined(_ Command, start func() error) error { return start() }

func startDir(c Command) string { return c.Dir }

// CanConfine reports whether the kernel can confine processes.
func CanConfine() bool { return false }
