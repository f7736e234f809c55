package index

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestReadDir: ReadDir returns the same files and stat data as Lstat.
func TestReadDir(t *testing.T) {
	dir := t.TempDir()
	gittest.WriteFile(t, filepath.Join(dir, "file"), "text")
	gittest.WriteFile(t, filepath.Join(dir, "sub", "x"), "x")
	if err := os.Symlink("nowhere", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	list, err := ReadDir(dir)
	if err != nil || len(list) != 3 {
		t.Fatalf("ReadDir = %+v, %v", list, err)
	}
	for _, got := range list {
		want, err := Lstat(filepath.Join(dir, got.Name))
		if err != nil || got.FileStat != want {
			t.Errorf("%s: %+v, want %+v, %v", got.Name, got.FileStat, want, err)
		}
		info, err := os.Lstat(filepath.Join(dir, got.Name))
		if err != nil || info.Mode() != got.Mode || info.Size() != got.Size || !info.ModTime().Equal(got.ModTime) {
			t.Errorf("%s: %+v, want %v, %v", got.Name, got.FileStat, info, err)
		}
	}
}
