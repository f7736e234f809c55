//go:build !unix

package gitcmd

import "os"

// IsNull: there is no such device in a file's place on this platform.
func IsNull(os.FileInfo) bool { return false }
