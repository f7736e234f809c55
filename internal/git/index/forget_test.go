package index

import (
	"bytes"
	"crypto/sha1"
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestForget: of the paths that are named nothing is known, all else is as it was, and git reads it.
func TestForget(t *testing.T) {
	for _, version := range []string{"2", "3", "4"} {
		t.Run(version, func(t *testing.T) {
			r := gittest.New(t)
			for _, path := range []string{"dir/a", "dir/b", "dir.txt", "x"} {
				r.Write(path, path+"\n")
			}
			r.Commit("files")
			r.Git("update-index", "--index-version", version)
			file := filepath.Join(r.Dir, ".git", "index")
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			out, err := Forget(data, "", func(path []byte) bool { return string(path) == "dir/b" || string(path) == "x" })
			if err != nil {
				t.Fatal(err)
			}
			was, err := Parse(data, sha1.New())
			if err != nil {
				t.Fatal(err)
			}
			now, err := Parse(out, sha1.New())
			if err != nil {
				t.Fatal(err)
			}
			for i, e := range now.Entries {
				want := was.Entries[i]
				if e.Path == "dir/b" || e.Path == "x" {
					want.stat = [10]uint32{statMode: want.stat[statMode]}
				}
				if e != want {
					t.Errorf("%+v, want %+v", e, want)
				}
			}
			if err := os.WriteFile(file, out, 0o600); err != nil {
				t.Fatal(err)
			}
			if got := r.Git("diff-files", "--name-only"); got != "dir/b\nx" {
				t.Errorf("git has to look at %q", got)
			}
		})
	}
}

// TestForgetRefuses: an index that has not all of its entries, or is damaged, is not made another one.
func TestForgetRefuses(t *testing.T) {
	r := gittest.New(t)
	file := filepath.Join(r.Dir, ".git", "index")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(data)
	damaged[20] ^= 1
	r.Git("update-index", "--split-index")
	split, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"damaged": damaged, "split": split, "short": data[:12]} {
		if _, err := Forget(data, "", func([]byte) bool { return true }); err == nil {
			t.Errorf("%s: it is read", name)
		}
	}
}
