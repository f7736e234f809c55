//go:build !linux

package proc

// Running cannot tell on this platform.
func Running(string) ([]Neighbour, bool) { return nil, false }

// Open cannot tell on this platform.
func Open([]string) map[string]bool { return nil }
