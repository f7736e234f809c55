//go:build !unix

package git

import "github.com/croft-sh/croft/internal/fsx"

// readSmall reads a file of git's own that holds a line or two.
func readSmall(path string) ([]byte, error) { return fsx.ReadFile(path, maxSmall) }
