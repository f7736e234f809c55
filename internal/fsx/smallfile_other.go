//go:build !unix

package fsx

// ReadSmall reads a file that holds a line or two.
func ReadSmall(path string) ([]byte, error) { return ReadFile(path, MaxSmall) }
