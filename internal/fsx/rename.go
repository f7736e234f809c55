package fsx

import (
	"errors"
	"fmt"
	"os"
)

// ErrExists says that something lies where nothing may.
var ErrExists = errors.New("already exists")

// renameChecked looks before it renames, for systems that cannot do both in
// one step.
func renameChecked(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return fmt.Errorf("%s: %w", to, ErrExists)
	}
	return os.Rename(from, to)
}
