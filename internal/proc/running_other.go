//go:build !linux

package proc

// Running cannot tell on this platform.
func Running(string) ([]Neighbour, bool) { return nil, false }

// Any cannot tell on this platform.
func Any(string, func([]string) bool) (found, known bool) { return false, false }

// Open cannot tell on this platform.
func Open([]string) map[string]bool { return nil }

// SeesAll reports that it cannot tell on this platform.
func SeesAll() bool { return false }
