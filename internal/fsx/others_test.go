//go:build unix

package fsx

import (
	"os"
	"path/filepath"
	"testing"
)

// TestClosedToOthers: a state directory that others could enter is closed to them, one that has
// other things in it, or is everybody's, is left as it is.
func TestClosedToOthers(t *testing.T) {
	for _, row := range []struct {
		name, has  string
		mode, want os.FileMode
	}{
		{"empty", "", 0o755, 0o700},
		{"ours", "ours.db", 0o755, 0o700},
		{"group", "ours.db", 0o750, 0o700},
		{"private", "ours.db", 0o700, 0o700},
		{"home", "notes.txt", 0o755, 0o755},
		{"everybody's", "", 0o777 | os.ModeSticky, 0o777 | os.ModeSticky},
	} {
		dir := filepath.Join(t.TempDir(), "state")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if row.has != "" {
			if err := os.WriteFile(filepath.Join(dir, row.has), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(dir, row.mode); err != nil {
			t.Fatal(err)
		}
		CloseToOthers(dir, "ours.db")
		info, err := os.Stat(dir)
		if err != nil || info.Mode()&(os.ModePerm|os.ModeSticky) != row.want {
			t.Errorf("%s: %v, want %v (%v)", row.name, info.Mode(), row.want, err)
		}
	}
}
