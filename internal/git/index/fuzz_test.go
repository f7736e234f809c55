package index

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/object"
)

// FuzzParseIndex: an agent can write any index. The result is ErrUnreadable, or entries
// that git would make, each with an object and a path.
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
	for _, crafted := range gittest.CraftedIndexes() {
		f.Add(crafted.File(strings.Repeat("1", 40)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 20 {
			clear(data[len(data)-20:]) // the checksum may be zero, and would keep the fuzzer from the rest
		}
		x, err := Parse(data, sha1.New())
		if err != nil {
			if !errors.Is(err, ErrUnreadable) {
				t.Errorf("error %v", err)
			}
			return
		}
		for _, e := range x.Entries {
			if len(e.OID) != 40 || strings.Contains(e.Path, "\x00") || e.Stage < 0 || e.Stage > 3 {
				t.Errorf("entry %+v", e)
			}
		}
		requireSound(t, x)
		requirePlain(t, data, x)
	})
}

// requirePlain fails if an index is plain in place and not in full, or the other way round, or if it has another tree.
func requirePlain(t *testing.T, data []byte, x *Index) {
	t.Helper()
	f, err := ParseFlat(data, sha1.New())
	if err != nil {
		t.Fatal(err)
	}
	isPlain := len(x.Faults) == 0 && !slices.ContainsFunc(x.Entries, func(e Entry) bool {
		return e.Stage != 0 || e.Intended || e.Mode == "160000"
	})
	if f.IsPlain() != isPlain {
		t.Errorf("plain: %v in place, %v in full; %v", f.IsPlain(), isPlain, x.Faults)
	}
	if !isPlain {
		return
	}
	if root, err := x.Trees(""); err != nil || f.Tree("") != hex.EncodeToString(root.OID) {
		t.Errorf("another tree in place, %v", err)
	}
}

func FuzzReadCachedTree(f *testing.F) {
	r := gittest.New(f)
	index, err := os.ReadFile(filepath.Join(r.Dir, ".git", "index"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(index)
	f.Add(index[:40])
	f.Fuzz(func(t *testing.T, data []byte) {
		if oid, err := CachedTree(bytes.NewReader(data), 20); err == nil && !object.IsOID(oid) {
			t.Errorf("%q is no object", oid)
		}
	})
}

func FuzzReadSpecial(f *testing.F) {
	f.Add([]byte("DIRC\x00\x00\x00\x02\x00\x00\x00\x00"+strings.Repeat("x", 20)), 20)
	f.Add([]byte("DIRC\x00\x00\x00\x04\x00\x00\x00\x01"+strings.Repeat("x", 62)+"\x00path\x00"), 20)
	f.Fuzz(func(t *testing.T, data []byte, hashLen int) {
		if hashLen != 20 && hashLen != 32 {
			return
		}
		found, err := ReadSpecial(bytes.NewReader(data), hashLen)
		if err != nil && !errors.Is(err, ErrUnreadable) {
			t.Errorf("error %v", err)
		}
		for _, e := range found.Hidden {
			found.Links = append(found.Links, e.Path)
		}
		for _, l := range found.Links {
			if strings.Contains(l, "\x00") || !isValidPath(strings.TrimSuffix(l, "/"), "") {
				t.Errorf("path %q", l)
			}
		}
	})
}
