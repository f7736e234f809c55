package fsx

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestRenameNewReplacesNothing(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	for name, rename := range map[string]func(from, to string) error{"in one step": RenameNew, "with a look before": renameChecked} {
		if err := errors.Join(os.Mkdir(from, 0o755), os.Mkdir(to, 0o755)); err != nil {
			t.Fatal(err)
		}
		if err := rename(from, to); !errors.Is(err, ErrExists) || !IsThere(from) {
			t.Errorf("%s: onto an empty directory: %v, want ErrExists", name, err)
		}
		if err := os.Remove(to); err != nil {
			t.Fatal(err)
		}
		if err := rename(from, to); err != nil || IsThere(from) || !IsThere(to) {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.Remove(to); err != nil {
			t.Fatal(err)
		}
		if err := rename(from, to); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: of nothing: %v, want os.ErrNotExist", name, err)
		}
	}
}
