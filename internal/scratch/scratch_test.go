package scratch

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/google/go-cmp/cmp"
)

var when = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// copyTo copies to a place in a directory that is made for it.
func copyTo(t *testing.T, from, to string) (int, error) {
	t.Helper()
	into, err := fsx.MakeDir(filepath.Dir(to), 0o755)
	if err != nil {
		t.Fatal(err)
	}
	defer into.Close()
	return Copy(from, into, filepath.Base(to), when)
}

// topDir is a directory no part of whose path is a link.
func topDir(t *testing.T) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return top
}

func TestCopy(t *testing.T) {
	top := topDir(t)
	from, to := filepath.Join(top, "from"), filepath.Join(top, "home", "agent1")
	secret := filepath.Join(top, "secret")
	write(t, secret, "secret")
	write(t, filepath.Join(from, "notes.md"), "notes")
	write(t, filepath.Join(from, "eval", "run.sh"), "run")
	if err := os.Chmod(filepath.Join(from, "eval", "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"out": secret, "up": "../secret", "dir": top, "in": "notes.md"} {
		if err := os.Symlink(target, filepath.Join(from, name)); err != nil {
			t.Skip("needs symbolic links")
		}
	}
	n, err := copyTo(t, from, to)
	if err != nil || n != 6 {
		t.Fatalf("%d files, %v", n, err)
	}
	got := map[string]string{}
	err = filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(to, path)
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		switch {
		case info.Mode().Type() == fs.ModeSymlink:
			got[rel], err = os.Readlink(path)
			return err
		case info.IsDir():
			got[rel] = "directory"
		default:
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			got[rel] = string(b)
		}
		if !info.ModTime().Equal(when) {
			t.Errorf("%s: time %v", rel, info.ModTime())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		".": "directory", "notes.md": "notes", "eval": "directory", filepath.Join("eval", "run.sh"): "run",
		"out": secret, "up": "../secret", "dir": top, "in": "notes.md",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Stat(filepath.Join(to, "eval", "run.sh")); err != nil || info.Mode().Perm()&0o100 == 0 {
		t.Errorf("run.sh: %v, %v", info, err)
	}
}

// The copy of a directory that is empty, does not exist, or is a link has no files.
func TestCopyOfNothing(t *testing.T) {
	top := topDir(t)
	write(t, filepath.Join(top, "full", "file"), "file")
	if err := os.MkdirAll(filepath.Join(top, "empty", "dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("full", filepath.Join(top, "link")); err != nil {
		t.Skip("needs symbolic links")
	}
	for _, from := range []string{"empty", "missing", "link"} {
		to := filepath.Join(top, "to")
		if n, err := copyTo(t, filepath.Join(top, from), to); err != nil || n != 0 {
			t.Errorf("%s: %d, %v", from, n, err)
		}
		if _, err := os.Lstat(to); err == nil {
			t.Errorf("%s: something was made", from)
		}
	}
}
