package git

import (
	"crypto/sha1"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/git/gittest"
)

// FuzzParseIndex: an agent writes its index. Whatever is in it, the answer is
// errIndex or entries that have an object and a path each.
func FuzzParseIndex(f *testing.F) {
	r := gittest.New(f)
	for _, version := range []string{"2", "3", "4"} {
		r.Git("update-index", "--index-version", version)
		index, err := os.ReadFile(filepath.Join(r.Dir, ".git", "index"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(index)
		f.Add(index[:len(index)-30])
	}
	f.Add([]byte("DIRC\x00\x00\x00\x02\xff\xff\xff\xff" + strings.Repeat("\x00", 100)))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 20 {
			clear(data[len(data)-20:]) // the sum may be left out, and would keep the fuzzer from the rest
		}
		x, err := parseIndex(data, sha1.New())
		if err != nil {
			if !errors.Is(err, errIndex) {
				t.Errorf("error %v", err)
			}
			return
		}
		for _, e := range x.Entries {
			if len(e.OID) != 40 || strings.Contains(e.Path, "\x00") || e.Stage < 0 || e.Stage > 3 {
				t.Errorf("entry %+v", e)
			}
		}
		_ = x.misplaced()
	})
}
