//go:build !unix

package fsx

// IsMountPoint reports whether another file system is mounted on a directory. It is not
// known here.
func IsMountPoint(string) bool { return false }
