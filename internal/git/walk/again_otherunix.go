//go:build unix && !linux && !darwin

package walk

// datesDirs reports whether the times of a directory tell which names it has. Nothing is known of that here.
func datesDirs(int) bool { return false }
