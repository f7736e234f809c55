//go:build !linux

package fsx

import "os"

// addUnnamed is for systems that make files without a name.
func (d *TreeDir) addUnnamed(string, func(*os.File) error) error { return errNoUnnamed }

// IsWritten is for systems that tell whether a process has a file open for writing.
func IsWritten(*os.File) bool { return false }
