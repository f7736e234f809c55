//go:build !unix

package process

// maxFiles is how many files this process may open: 0 if that is not known.
func maxFiles() int { return 0 }
