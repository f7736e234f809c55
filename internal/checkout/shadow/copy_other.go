//go:build !linux && !darwin

package shadow

import (
	"errors"
	"os"
)

// openPlain opens a file for reading.
func openPlain(path string) (*os.File, error) { return os.Open(path) }

// clone is for systems that can share blocks between open files.
func clone(_, _ *os.File) error { return errors.ErrUnsupported }

// clonePath is for systems that make a clone under a new name.
func clonePath(_, _ string) error { return errors.ErrUnsupported }
