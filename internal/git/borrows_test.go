package git

import (
	"os"
	"path/filepath"
	"testing"
)

// TestBorrows: a copy of a submodule that has objects of another repository is not used.
func TestBorrows(t *testing.T) {
	for name, spoil := range map[string]func(objects string) error{
		"alternates": func(objects string) error {
			return os.WriteFile(filepath.Join(objects, "info", "alternates"), []byte("/x\n"), 0o600)
		},
		"a link": func(objects string) error { return os.Symlink("/x", filepath.Join(objects, "ab")) },
		"none":   nil,
	} {
		module := t.TempDir()
		objects := filepath.Join(module, "objects")
		if err := os.MkdirAll(filepath.Join(objects, "info"), 0o700); err != nil {
			t.Fatal(err)
		}
		if spoil != nil {
			if err := spoil(objects); err != nil {
				t.Fatal(err)
			}
		}
		if got := borrows(module); got != (spoil != nil) {
			t.Errorf("%s: %t", name, got)
		}
	}
}
