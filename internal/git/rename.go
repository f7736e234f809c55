package git

import (
	"fmt"
	"os"
)

// renameChecked looks before it renames, for systems that cannot do both in
// one step.
func renameChecked(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return fmt.Errorf("%s: %w", to, ErrExists)
	}
	return os.Rename(from, to)
}
