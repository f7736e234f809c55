package git

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/odb"
)

// TestRehashFindsForgeries changes an object in each kind of place where it can be stored.
func TestRehashFindsForgeries(t *testing.T) {
	r := gittest.Aged(t, "sha1")
	repo := open(t, r)
	span := odb.Span{From: r.Git("rev-parse", "HEAD~1"), To: r.Git("rev-parse", "HEAD")}
	whole := func() {
		t.Helper()
		if _, err := repo.Rehash(t.Context(), []odb.Span{span}); err != nil {
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
			i, err := repo.Rehash(t.Context(), []odb.Span{{From: span.From, To: span.From}, span})
			if f, ok := errors.AsType[*object.ForgedError](err); !ok || f.OID != oid || i != 1 {
				t.Errorf("%s, %s: %d, %v", name, what, i, err)
			}
			put(before)
		}
	}
	whole()
	// A second copy counts if git would find it first.
	other := r.Beside("other")
	oid := r.Git("rev-parse", "HEAD:d1/e/f1")
	gittest.WriteFile(t, filepath.Join(other, oid[:2], oid[2:]), "x")
	gittest.WriteFile(t, filepath.Join(r.Dir, ".git", "objects", "info", "alternates"), other+"\n")
	if _, err := repo.Rehash(t.Context(), []odb.Span{span}); !errors.Is(err, object.ErrForged) {
		t.Errorf("a copy elsewhere is not looked at: %v", err)
	}
}

// TestRehashOfManySpans: of many spans, which several workers verify, the first that fails
// is named, wherever it stands.
func TestRehashOfManySpans(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	const count = 70
	commits := []string{r.Git("rev-parse", "HEAD")}
	for i := range count {
		r.Write("f.txt", fmt.Sprintln(i))
		commits = append(commits, r.Commit("next"))
	}
	spans := make([]odb.Span, count)
	for i := range spans {
		spans[i] = odb.Span{From: commits[i], To: commits[i+1]}
	}
	if i, err := repo.Rehash(t.Context(), spans); err != nil || i != -1 {
		t.Fatalf("%d, %v", i, err)
	}
	move := func(list []int, from, to string) {
		for _, at := range list {
			oid := r.Git("rev-parse", commits[at+1]+":f.txt")
			path := filepath.Join(r.Dir, ".git", "objects", oid[:2], oid[2:])
			if err := os.Rename(path+from, path+to); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, bad := range [][]int{{0}, {34}, {35}, {count - 1}, {20, 60}, {60, 61}} {
		move(bad, "", ".away")
		i, err := repo.Rehash(t.Context(), spans)
		if !errors.Is(err, object.ErrMissing) || i != bad[0] {
			t.Errorf("missing in %v: %d, %v", bad, i, err)
		}
		move(bad, ".away", "")
	}
}

// TestScratchOfForgedObjects: a checkout for checks is not used if git wrote other content
// than the tree names, also in a file that the merge does not touch. Files that git
// converts when it writes them are compared after the conversion.
func TestScratchOfForgedObjects(t *testing.T) {
	r := gittest.Aged(t, "sha1")
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
		_, err = repo.ObjectFormat().Deflate(f, kind, int64(len(text)), strings.NewReader(text))
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		if err := prepare(); !errors.Is(err, object.ErrForged) {
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
