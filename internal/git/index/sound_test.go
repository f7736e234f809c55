package index

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestFaults: entries that git would not make are left out, entries out of order are
// sorted, and all others stay. The result is an index without a fault.
func TestFaults(t *testing.T) {
	for name, crafted := range gittest.CraftedIndexes() {
		t.Run(name, func(t *testing.T) {
			x, err := Parse(crafted.File(strings.Repeat("1", 40)), sha1.New())
			if err != nil {
				t.Fatal(err)
			}
			var kept []string
			for _, e := range x.Entries {
				kept = append(kept, e.Path)
			}
			if d := cmp.Diff(crafted.Kept(), kept); d != "" {
				t.Errorf("entries (-want +got):\n%s", d)
			}
			if got := len(x.Faults) > 0; got != crafted.IsFaulty {
				t.Errorf("faults %v", x.Faults)
			}
			requireSound(t, x)
			requirePlain(t, crafted.File(strings.Repeat("1", 40)), x)
		})
	}
}

// requireSound fails if an index has an entry that git would not make, or does not survive
// being written.
func requireSound(t *testing.T, x *Index) {
	t.Helper()
	for i, e := range x.Entries {
		if why := e.fault(""); why != "" {
			t.Errorf("%q: %s", e.Path, why)
		}
		if isBelowFile(x.Entries[:i], e) {
			t.Errorf("%q is below a file", e.Path)
		}
		if i > 0 && x.Entries[i-1].Path >= e.Path && (x.Entries[i-1].Path > e.Path || x.Entries[i-1].Stage >= e.Stage || x.Entries[i-1].Stage == 0) {
			t.Errorf("%q at %d is there twice, or out of order", e.Path, e.Stage)
		}
	}
	data, err := x.EncodeEntries("")
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse(data, sha1.New())
	if err != nil {
		t.Fatal(err)
	}
	if len(again.Faults) > 0 || !cmp.Equal(again.Entries, x.Entries, cmp.AllowUnexported(Entry{})) {
		t.Errorf("written and read again: %v %v, was %v", again.Faults, again.Entries, x.Entries)
	}
}

// TestEncodeEntries: git reads the entries with the stages and flags that they had.
func TestEncodeEntries(t *testing.T) {
	r := gittest.New(t)
	for _, name := range []string{"assumed", "skipped", "plain"} {
		r.Write(name, name)
	}
	r.Commit("more")
	r.Git("update-index", "--assume-unchanged", "assumed")
	r.Git("update-index", "--skip-worktree", "skipped")
	r.Write("new", "new")
	r.Git("add", "--intent-to-add", "new")
	want := r.Git("ls-files", "--stage", "-v") + r.Git("status", "--porcelain=v2")
	file := filepath.Join(r.Dir, ".git", "index")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	x, err := Parse(data, sha1.New())
	if err == nil {
		data, err = x.EncodeEntries("")
	}
	if err == nil {
		err = os.WriteFile(file, data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, r.Git("ls-files", "--stage", "-v")+r.Git("status", "--porcelain=v2")); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// TestSpecialWithoutFaults: no path that leads out of the checkout is examined.
func TestSpecialWithoutFaults(t *testing.T) {
	for _, path := range []string{"/x", "../x", "", "a/", "a//b", "./a", ".git/config", "s/.GIT/x"} {
		crafted := gittest.CraftedIndex{Entries: []gittest.IndexEntry{{Path: path, Mode: 0o160000}, {Path: path, Mode: 0o100644, IsHidden: true}}}
		got, err := ReadSpecial(bytes.NewReader(crafted.File(strings.Repeat("1", 40))), sha1.Size)
		if err != nil || len(got.Links)+len(got.Hidden) > 0 {
			t.Errorf("%q: %+v, %v", path, got, err)
		}
	}
}

// TestIsValidPath: the paths that git refuses, also those that are dangerous only on other
// systems.
func TestIsValidPath(t *testing.T) {
	for path, want := range map[string]bool{
		"a": true, "a/b": true, "gitignore": true, ".gitignore": true, ".github/x": true, "a.git": true, "g": true, "...": true, "a\nb": true, "git~2": true, ".gi": true,
		"": false, "/": false, "/x": false, "x/": false, "a//b": false, ".": false, "..": false, "a/..": false, "a/../b": false, "./a": false,
		".git": false, ".GIT/x": false, "a/.Git": false, "git~1": false, "GIT~1/x": false, ".git.": false, ".git . ": false, ".git:x": false, `a\.git\x`: false, ".g\u200cit": false, "\ufeff.git/x": false,
		strings.Repeat("x", 255): true, strings.Repeat("x", 256): false, strings.Repeat("d/", 2048) + "x": false,
	} {
		if got := isValidPath(path, ""); got != want {
			t.Errorf("%q: %v", path, got)
		}
	}
}

// BenchmarkParse parses an index of 100,000 files.
func BenchmarkParse(b *testing.B) {
	x := &Index{}
	oid := hex.EncodeToString(make([]byte, 20))
	for i := range 100_000 {
		x.Entries = append(x.Entries, Entry{Path: "some/directory/" + strings.Repeat("d", i/20%50+1) + "/" + hex.EncodeToString([]byte{byte(i >> 16), byte(i >> 8), byte(i)}), Mode: "100644", OID: oid})
		x.Entries[i].stat[6] = 0o100644
	}
	x.leaveOutFaults()
	data, err := x.EncodeEntries("")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if x, err := Parse(data, sha1.New()); err != nil || len(x.Entries) != 100_000 {
			b.Fatal(err)
		}
	}
}
