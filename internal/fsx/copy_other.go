//go:build !linux && !darwin

package fsx

import (
	"errors"
	"os"
)

// cloneTo is for systems that make a clone under a new name.
func cloneTo(_ *os.File, _ string) error { return errors.ErrUnsupported }

// cloneInto is for systems that can share blocks between open files.
func cloneInto(_, _ *os.File) error { return errors.ErrUnsupported }
