//go:build !unix

package git

import "os"

// readSmall reads a file of git's own that holds a line or two.
func readSmall(path string) ([]byte, error) { return os.ReadFile(path) }
