package git

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/git/gittest"
)

// aged is a repository whose files changed a little in many commits, so that a
// gc makes chains of deltas of them.
func aged(t *testing.T, format string) *gittest.Repo {
	t.Helper()
	r := gittest.Empty(t)
	if err := os.RemoveAll(filepath.Join(r.Dir, ".git")); err != nil {
		t.Fatal(err)
	}
	r.Git("init", "--quiet", "--initial-branch=main", "--object-format="+format)
	for n := range 12 {
		for i := range 6 {
			var text strings.Builder
			for line := range 300 {
				fmt.Fprintf(&text, "file %d line %d of %d\n", i, line, n*(line%7/6))
			}
			r.Write(fmt.Sprintf("d%d/e/f%d", i%3, i), text.String())
		}
		r.Commit(fmt.Sprint("commit ", n))
	}
	return r
}

// TestRehashReadsWhatGitReads: every object is found in files, in packs with
// deltas of both kinds and with indexes of both versions, and has its name.
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
			r := aged(t, format)
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
			o, err := open(t, r).openObjects()
			if err != nil {
				t.Fatal(err)
			}
			defer o.close()
			looked := 0
			for line := range strings.Lines(r.Git("cat-file", "--batch-all-objects", "--batch-check") + "\n") {
				f := strings.Fields(line)
				if len(f) != 3 {
					continue
				}
				for _, keep := range []keeping{keepContents, keepNothing} {
					got, err := o.look(t.Context(), f[0], keep)
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

// TestRehashBesideRepacks: objects that somebody's git moves between files and packs
// while they are looked at are found.
func TestRehashBesideRepacks(t *testing.T) {
	repack := []string{"repack", "-a", "-d", "--quiet"}
	for name, do := range map[string]struct{ before, after []string }{
		"files to a pack":   {nil, repack},
		"a pack to another": {repack, repack},
		"a pack to files":   {repack, []string{"repack", "-A", "-d", "--quiet"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := aged(t, "sha1")
			if do.before != nil {
				r.Git(do.before...)
			}
			tip := r.Git("rev-parse", "HEAD")
			o, err := open(t, r).openObjects()
			if err != nil {
				t.Fatal(err)
			}
			defer o.close()
			all := strings.Fields(r.Git("rev-list", "--all", "--objects", "--no-object-names"))
			if name == "a pack to files" { // only what nothing leads to is taken out of a pack
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
				if got, err := o.look(t.Context(), oid, keepNothing); err != nil || got.OID != oid {
					t.Fatalf("%s: %+v, %v", oid, got, err)
				}
			}
			if _, err := o.look(t.Context(), strings.Repeat("ab", 20), keepNothing); !errors.Is(err, ErrNoObject) {
				t.Errorf("what nobody has: %v", err)
			}
		})
	}
}

// TestRehashFindsForgeries changes an object in each place that it can lie in.
func TestRehashFindsForgeries(t *testing.T) {
	r := aged(t, "sha1")
	repo := open(t, r)
	span := Span{From: r.Git("rev-parse", "HEAD~1"), To: r.Git("rev-parse", "HEAD")}
	whole := func() {
		t.Helper()
		if _, err := repo.Rehash(t.Context(), []Span{span}); err != nil {
			t.Fatal(err)
		}
	}
	whole()
	for _, name := range []string{"HEAD", "HEAD^{tree}", "HEAD:d1", "HEAD:d1/e/f1"} {
		oid := r.Git("rev-parse", name)
		path := filepath.Join(r.Dir, ".git", "objects", oid[:2], oid[2:])
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		other := r.Git("rev-parse", strings.Replace(name, "HEAD", "HEAD~3", 1))
		forged, err := os.ReadFile(filepath.Join(r.Dir, ".git", "objects", other[:2], other[2:]))
		if err != nil {
			t.Fatal(err)
		}
		for what, data := range map[string][]byte{"another": forged, "empty": {}, "cut off": before[:len(before)/2]} {
			put := func(data []byte) {
				if err := errors.Join(os.Remove(path), os.WriteFile(path, data, 0o444)); err != nil {
					t.Fatal(err)
				}
			}
			put(data)
			i, err := repo.Rehash(t.Context(), []Span{{span.From, span.From}, span})
			if f, ok := errors.AsType[*ForgedError](err); !ok || f.OID != oid || i != 1 {
				t.Errorf("%s, %s: %d, %v", name, what, i, err)
			}
			put(before)
		}
	}
	whole()
	// A second copy counts, wherever git would find it first.
	other := beside(r, "other")
	oid := r.Git("rev-parse", "HEAD:d1/e/f1")
	gittest.WriteFile(t, filepath.Join(other, oid[:2], oid[2:]), "x")
	gittest.WriteFile(t, filepath.Join(r.Dir, ".git", "objects", "info", "alternates"), other+"\n")
	if _, err := repo.Rehash(t.Context(), []Span{span}); !errors.Is(err, ErrForgedObject) {
		t.Errorf("a copy elsewhere is not looked at: %v", err)
	}
}

// TestScratchOfForgedObjects: a checkout for checks is not handed out if git wrote
// something else than the tree names, in a file that a merge does not touch too,
// and it is where a file is converted on its way to disk.
func TestScratchOfForgedObjects(t *testing.T) {
	r := aged(t, "sha1")
	r.Write(".gitattributes", "d2/** text eol=crlf\nd0/** ident\n")
	r.Write("d0/id", "$Id$\n")
	if err := os.Symlink("d0", filepath.Join(r.Dir, "link")); err != nil {
		t.Fatal(err)
	}
	commit := r.Commit("converted")
	repo := open(t, r)
	spec := ScratchSpec{Commit: commit, Tree: r.Git("rev-parse", "HEAD^{tree}"), Workers: 2}
	prepare := func() error { return repo.Scratch(t.TempDir(), "app").Prepare(t.Context(), spec) }
	if err := prepare(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"HEAD:d1/e/f1", "HEAD:d2/e/f2", "HEAD:d0/id", "HEAD:d1", "HEAD:link"} {
		oid := r.Git("rev-parse", name)
		kind := r.Git("cat-file", "-t", oid)
		text := "forged\n"
		if kind == "tree" {
			text = r.Git("rev-parse", "HEAD~1:d0")
			if out, err := r.TryGit(r.Dir, "cat-file", "tree", text); err == nil {
				text = out
			}
		}
		path := filepath.Join(r.Dir, ".git", "objects", oid[:2], oid[2:])
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = repo.deflate(f, kind, int64(len(text)), strings.NewReader(text))
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		if err := prepare(); !errors.Is(err, ErrForgedObject) {
			t.Errorf("%s: %v", name, err)
		}
		if err := errors.Join(os.Remove(path), os.WriteFile(path, before, 0o444)); err != nil {
			t.Fatal(err)
		}
	}
	if err := prepare(); err != nil {
		t.Fatal(err)
	}
}
