package index

import (
	"os"
	"path/filepath"
	"testing"
	"time"

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

// TestIsAsStaged: a file is taken for the staged one as git takes it: by all of its stat data, and
// only if it is older than the index by the second.
func TestIsAsStaged(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	gittest.WriteFile(t, file, "text")
	at := time.Unix(1_700_000_000, 200_000_000)
	if err := os.Chtimes(file, at, at); err != nil {
		t.Fatal(err)
	}
	now, err := Lstat(file)
	if err != nil {
		t.Fatal(err)
	}
	e := Entry{Mode: "100644"}
	e.SetStat(now)
	other := now
	other.noted[1]++ // changed in the same second
	for _, k := range []struct {
		written time.Time
		now     FileStat
		want    bool
	}{
		{at.Add(time.Second), now, true},
		{at.Add(700 * time.Millisecond), now, false},
		{at, now, false},
		{at.Add(-time.Second), now, false},
		{at.Add(time.Hour), other, false},
	} {
		x := &Index{Written: k.written}
		if got := x.IsAsStaged(e, k.now); got != k.want {
			t.Errorf("index written %v after the file: %v, want %v", k.written.Sub(at), got, k.want)
		}
	}
}
