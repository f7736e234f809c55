package radar

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/git/gittest"
)

// A file that was written when it was stamped could be written once more in the same tick of
// the clock, and look the same.
func TestStampOfAYoungFileIsNotRemembered(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "dir", "file")
	gittest.WriteFile(t, file, "text\n")
	before := time.Now().Add(-time.Hour) // a process may set this time, and not that of the change
	if err := os.Chtimes(file, before, before); err != nil {
		t.Fatal(err)
	}
	stamp := func(at time.Time, paths ...string) (string, bool) {
		s := stamper{top: dir, at: at, sum: sha256.New(), isSettled: true, isDir: map[string]bool{}}
		for _, p := range paths {
			s.addBelow(p)
		}
		return hex.EncodeToString(s.sum.Sum(nil)), s.isSettled
	}
	if _, settled := stamp(time.Now(), "dir/file"); settled {
		t.Error("a file that was just written is taken for settled")
	}
	later := time.Now().Add(time.Hour)
	was, settled := stamp(later, "dir/file")
	if !settled {
		t.Error("a file of an hour ago is not settled")
	}
	if _, settled := stamp(later, "dir/none", "none/file", "dir/file/below"); !settled {
		t.Error("what is not there is not settled")
	}
	if _, settled := stamp(later, "dir"); settled {
		t.Error("a directory in the place of a file is taken for settled")
	}
	if err := os.Symlink("dir", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if now, _ := stamp(later, "link/file"); now == was {
		t.Error("a file behind a link is taken for one of the workspace")
	}
}

// Paths are remembered as they are.
func TestFactsAreKeptAsTheyAre(t *testing.T) {
	for _, paths := range []pathBytes{nil, {"a"}, {"a", "\xff\xfe", "x\ny", "ä"}} {
		text, err := paths.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var back pathBytes
		if err := back.UnmarshalJSON(text); err != nil || fmt.Sprintf("%q", back) != fmt.Sprintf("%q", paths) {
			t.Errorf("%q came back as %q, %v", paths, back, err)
		}
	}
}
