package git

import (
	"crypto/sha1"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/index"
)

// TestAdvanceReadsWhatChanges: a checkout goes along without a look into the files that stay, however
// many there are; and a file that goes is read, whatever its stat data in the index says.
func TestAdvanceReadsWhatChanges(t *testing.T) {
	t.Run("compared here", func(t *testing.T) { advanceReading(t, func(*gittest.Repo) {}) })
	t.Run("compared by git", func(t *testing.T) {
		advanceReading(t, func(r *gittest.Repo) {
			r.Write("mine", "mine\n")
			r.Git("add", "mine")
		})
	})
}

// advanceReading lets a checkout go along after the user did something there.
func advanceReading(t *testing.T, do func(*gittest.Repo)) {
	r := gittest.New(t)
	r.Write("stays", "stays\n")
	r.Write("goes", "goes\n")
	old := r.Commit("second")
	now := next(r, map[string]string{"goes": "new\n"})
	path := func(name string) string { return filepath.Join(r.Dir, name) }
	before := time.Now().Add(-time.Hour)
	for _, name := range []string{"stays", "goes"} {
		if err := os.Chtimes(path(name), before.Add(-48*time.Hour), before); err != nil {
			t.Fatal(err)
		}
	}
	r.Git("update-index", "--refresh")
	for _, name := range []string{"stays", "goes"} { // git has read them
		if err := os.Chtimes(path(name), before.Add(-48*time.Hour), before); err != nil {
			t.Fatal(err)
		}
	}
	r.Git("-c", "core.trustctime=false", "update-index", "--refresh")
	do(r)
	if err := advance(t, open(t, r), old, now); err != nil {
		t.Fatal(err)
	}
	if got := accessed(t, path("stays")); !got.Before(before) {
		t.Errorf("a file that stays was read at %v", got)
	}
	if _ = readFile(t, path("stays")); accessed(t, path("stays")).Before(before) {
		t.Skip("this file system does not note when files are read")
	}
}

func accessed(t *testing.T, path string) time.Time {
	t.Helper()
	var st syscall.Stat_t
	if err := syscall.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	return time.Unix(st.Atim.Unix())
}

// TestAdvanceBelievesNoStat: an edit whose stat data an agent has put beside the old content in the
// index is not overwritten.
func TestAdvanceBelievesNoStat(t *testing.T) {
	for _, version := range []string{"2", "4"} {
		t.Run(version, func(t *testing.T) {
			r := gittest.New(t)
			r.Write("goes", "goes\n")
			old := r.Commit("second")
			now := next(r, map[string]string{"goes": "new\n"})
			was := r.Git("rev-parse", "HEAD:goes")
			r.Write("goes", "mine\n")
			r.Git("add", "goes")
			file := filepath.Join(r.Dir, ".git", "index")
			x, err := index.Parse([]byte(readFile(t, file)), sha1.New())
			if err != nil {
				t.Fatal(err)
			}
			for i := range x.Entries {
				if x.Entries[i].Path == "goes" {
					x.Entries[i].OID = was
				}
			}
			data, err := x.EncodeEntries("")
			if err != nil {
				t.Fatal(err)
			}
			gittest.WriteFile(t, file, string(data))
			later := time.Now().Add(time.Hour)
			if err := os.Chtimes(file, later, later); err != nil {
				t.Fatal(err)
			}
			r.Git("update-index", "--index-version", version)
			if err := os.Chtimes(file, later, later); err != nil {
				t.Fatal(err)
			}
			if got := r.Git("status", "--porcelain"); got != "" {
				t.Fatalf("git notices: %s", got)
			}
			if err := advance(t, open(t, r), old, now); err == nil {
				t.Error("it went along")
			}
			if got := readFile(t, filepath.Join(r.Dir, "goes")); got != "mine\n" {
				t.Errorf("the edit became %q", got)
			}
		})
	}
}
