package object

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestRehashReadsWhatGitReads: every object is found in loose files, in packs with deltas
// of both kinds and with indexes of both versions, and matches its name.
func TestRehashReadsWhatGitReads(t *testing.T) {
	for name, pack := range map[string][]string{
		"files":       nil,
		"ofs deltas":  {"repack", "-a", "-d", "-f", "--depth=50", "--window=50", "--quiet"},
		"ref deltas":  {"-c", "repack.usedeltabaseoffset=false", "repack", "-a", "-d", "-f", "--window=50", "--quiet"},
		"old index":   {"-c", "pack.indexVersion=1", "repack", "-a", "-d", "-f", "--window=50", "--quiet"},
		"long places": {"repack", "-a", "-d", "-f", "--quiet"},
		"sha256":      {"repack", "-a", "-d", "-f", "--depth=50", "--window=50", "--quiet"},
	} {
		t.Run(name, func(t *testing.T) {
			format := "sha1"
			if name == "sha256" {
				format = name
			}
			r := gittest.Aged(t, format)
			if pack != nil {
				r.Git(pack...)
			}
			if name == "long places" {
				packs, err := filepath.Glob(filepath.Join(r.Dir, ".git", "objects", "pack", "*.pack"))
				if err != nil || len(packs) != 1 {
					t.Fatal(packs, err)
				}
				index := strings.TrimSuffix(packs[0], ".pack") + ".idx"
				if err := os.Remove(index); err != nil {
					t.Fatal(err)
				}
				r.Git("index-pack", "--index-version=2,0x40", "-o", index, packs[0])
			}
			o, err := OpenFiles(Format(format), filepath.Join(r.Dir, ".git", "objects"))
			if err != nil {
				t.Fatal(err)
			}
			defer o.Close()
			looked := 0
			for line := range strings.Lines(r.Git("cat-file", "--batch-all-objects", "--batch-check") + "\n") {
				f := strings.Fields(line)
				if len(f) != 3 {
					continue
				}
				for _, keep := range []Keep{KeepContents, KeepNothing} {
					got, err := o.Verify(t.Context(), f[0], keep)
					if err != nil || got.Type != f[1] || fmt.Sprint(got.Size) != f[2] {
						t.Fatalf("%s: %+v, %v", line, got, err)
					}
				}
				looked++
			}
			if looked < 100 {
				t.Fatalf("only %d objects were looked at", looked)
			}
		})
	}
}

// TestRehashBesideRepacks: objects that another git process moves between loose files and
// packs at the same time are found.
func TestRehashBesideRepacks(t *testing.T) {
	repack := []string{"repack", "-a", "-d", "--quiet"}
	for name, do := range map[string]struct{ before, after []string }{
		"files to a pack":   {nil, repack},
		"a pack to another": {repack, repack},
		"a pack to files":   {repack, []string{"repack", "-A", "-d", "--quiet"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := gittest.Aged(t, "sha1")
			if do.before != nil {
				r.Git(do.before...)
			}
			tip := r.Git("rev-parse", "HEAD")
			o, err := OpenFiles("", filepath.Join(r.Dir, ".git", "objects"))
			if err != nil {
				t.Fatal(err)
			}
			defer o.Close()
			all := strings.Fields(r.Git("rev-list", "--all", "--objects", "--no-object-names"))
			if name == "a pack to files" { // only unreachable objects are taken out of a pack
				r.Git("reset", "--hard", "--quiet", "HEAD~5")
				r.Git("reflog", "expire", "--expire=all", "--all")
			} else {
				r.Write("more", "more\n")
				r.Commit("more")
			}
			r.Git(do.after...)
			if len(all) < 100 || !slices.Contains(all, tip) {
				t.Fatalf("only %d objects", len(all))
			}
			for _, oid := range all {
				if got, err := o.Verify(t.Context(), oid, KeepNothing); err != nil || got.OID != oid {
					t.Fatalf("%s: %+v, %v", oid, got, err)
				}
			}
			if _, err := o.Verify(t.Context(), strings.Repeat("ab", 20), KeepNothing); !errors.Is(err, ErrMissing) {
				t.Errorf("what nobody has: %v", err)
			}
		})
	}
}

// TestObjectLongerThanItsHeader: an object whose content is longer than its header says is
// invalid, and is not read to its end.
func TestObjectLongerThanItsHeader(t *testing.T) {
	r := gittest.New(t)
	text := append([]byte("tree 33\x00"), make([]byte, 64<<20)...)
	oid := strings.Repeat("a", 40)
	gittest.WriteFile(t, filepath.Join(r.Dir, ".git", "objects", oid[:2], oid[2:]), string(deflated(t, text)))
	o, err := OpenFiles("", filepath.Join(r.Dir, ".git", "objects"))
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if _, err := o.Verify(t.Context(), oid, KeepContents); err == nil {
		t.Error("it was taken for an object")
	}
}

func deflated(t *testing.T, text []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zlib.NewWriter(&out)
	if _, err := z.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
