package fsx

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReturnEntry returns what was moved because it had been exchanged at the moment of the
// rename: nothing of it may stay at the new name, whatever is at the old one by then.
func TestReturnEntry(t *testing.T) {
	for _, tt := range []struct {
		name          string
		isLink, taken bool
		want          string // what is in the directory from which it came
	}{
		{"Directory", false, false, "a/precious"},
		{"DirectoryTaken", false, true, "a/other a.exchanged-*/precious"},
		{"Link", true, false, ""},
		{"LinkTaken", true, true, "a/other"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			top := t.TempDir()
			write := func(path string) {
				t.Helper()
				if err := os.MkdirAll(filepath.Join(top, filepath.Dir(path)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(top, path), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write("from/first")
			write("to/first")
			write("victim/precious")
			if tt.isLink {
				if err := os.Symlink(filepath.Join(top, "victim"), filepath.Join(top, "to", "tree")); err != nil {
					t.Fatal(err)
				}
			} else {
				write("to/tree/precious")
			}
			if tt.taken {
				write("from/a/other")
			}
			from, err := OpenDir(filepath.Join(top, "from"))
			if err != nil {
				t.Fatal(err)
			}
			defer from.Close()
			to, err := OpenDir(filepath.Join(top, "to"))
			if err != nil {
				t.Fatal(err)
			}
			defer to.Close()
			if err := to.returnEntry("tree", from, "a"); err != nil {
				t.Fatal(err)
			}
			if to.Has("tree") {
				t.Error("it stands at the new name")
			}
			want := strings.Fields(tt.want)
			for _, pattern := range want {
				if found, err := filepath.Glob(filepath.Join(top, "from", pattern)); err != nil || len(found) != 1 {
					t.Errorf("%s: %q, %v", pattern, found, err)
				}
			}
			if names, err := from.Names(); err != nil || len(names) != len(want)+1 {
				t.Errorf("in the directory from which it came: %q, %v", names, err)
			}
			if _, err := os.Stat(filepath.Join(top, "victim", "precious")); err != nil {
				t.Error(err)
			}
		})
	}
}
