//go:build unix

package git

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestKeptIsNamed: a process died when it had moved all files; by now the one that came out was written, and so was its path. Whoever
// recovers that is told where the file lies, and it is listed until its user has taken it.
func TestKeptIsNamed(t *testing.T) {
	r := gittest.New(t)
	r.Write("dir/goes", "goes\n")
	old := r.Commit("second")
	now := next(r, map[string]string{"dir/goes": "new\n"})
	settle(t, r, "dir/goes")
	repo := open(t, r)
	h := repo.Hosts("main")[0]
	a, err := h.Prepare(t.Context(), old, now)
	if err != nil {
		t.Fatal(err)
	}
	if a.move == nil {
		t.Skip("no files are exchanged here")
	}
	if err := a.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	gittest.WriteFile(t, filepath.Join(a.move.Dir(), "dir/goes"), "late\n") // what came out, which somebody had open
	r.Write("dir/goes~", "mine\n")
	if err := os.Rename(filepath.Join(r.Dir, "dir/goes~"), filepath.Join(r.Dir, "dir/goes")); err != nil {
		t.Fatal(err)
	}
	a.move = nil // it dies
	a.Cancel()
	again := repo.Hosts("main")[0]
	b, err := again.Prepare(t.Context(), now, now)
	if err != nil {
		t.Fatal(err)
	}
	b.Cancel()
	if len(again.Kept) != 1 || !slices.Equal(again.Kept[0].Files, []string{"dir/goes"}) {
		t.Fatalf("kept: %v", again.Kept)
	}
	list := repo.Unrestored()
	if len(list) != 1 || list[0].Dir != again.Kept[0].Dir || list[0].Names() != "dir/goes" {
		t.Errorf("listed: %v", list)
	}
	texts := readFile(t, filepath.Join(r.Dir, "dir/goes")) + readFile(t, filepath.Join(list[0].Dir, "dir/goes"))
	if !strings.Contains(texts, "mine\n") || !strings.Contains(texts, "late\n") {
		t.Errorf("%q are left", texts)
	}
}

// TestKeptWholeIsNamed: of a move whose list is damaged all is kept, and whoever recovers it is told so.
func TestKeptWholeIsNamed(t *testing.T) {
	r := gittest.New(t)
	r.Write("dir/goes", "goes\n")
	old := r.Commit("second")
	now := next(r, map[string]string{"dir/goes": "new\n"})
	settle(t, r, "dir/goes")
	repo := open(t, r)
	a, err := repo.Hosts("main")[0].Prepare(t.Context(), old, now)
	if err != nil {
		t.Fatal(err)
	}
	if a.move == nil {
		t.Skip("no files are exchanged here")
	}
	if err := a.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	gittest.WriteFile(t, filepath.Join(filepath.Dir(a.move.Dir()), "files"), "{")
	a.move = nil // it dies
	a.Cancel()
	again := repo.Hosts("main")[0]
	if b, err := again.Prepare(t.Context(), now, now); err == nil {
		b.Cancel()
		t.Error("the list could be read")
	}
	if len(again.Kept) != 1 || len(again.Kept[0].Files) > 0 || again.Kept[0].Whole == "" {
		t.Fatalf("kept: %+v", again.Kept)
	}
	if text := readFile(t, filepath.Join(again.Kept[0].Dir, again.Kept[0].Whole, "new", "dir/goes")); text != "goes\n" {
		t.Errorf("%q is kept", text)
	}
}
