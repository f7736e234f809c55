package index

import (
	"crypto/sha1"
	"os"
	"path/filepath"
	"strings"
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
	x := &Index{Entries: []Entry{{Path: "file", Mode: "100644", OID: strings.Repeat("1", 40)}}}
	x.Entries[0].SetStat(now)
	x.Entries[0].stat[statMode] = 0o100644
	data, err := x.EncodeEntries("")
	if err != nil {
		t.Fatal(err)
	}
	f, err := ParseFlat(data, sha1.New())
	if err != nil {
		t.Fatal(err)
	}
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
		if got := f.At(0).IsAsStaged(k.now, k.written); got != k.want {
			t.Errorf("index written %v after the file: %v, want %v", k.written.Sub(at), got, k.want)
		}
	}
}
