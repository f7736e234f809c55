//go:build !failpoints

package failpoint

// Enabled says whether points obey CROFT_FAILPOINT.
const Enabled = false

// Hit does nothing in an ordinary build.
func Hit(string) error { return nil }

// Commit does nothing in an ordinary build.
func Commit(string) {}
