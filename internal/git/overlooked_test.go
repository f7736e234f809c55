//go:build unix

package git

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/git/object"
)

// TestOverlookedEdit: an edit of the same size, in the second in which the index was written, with the mtime put back, is hidden from
// git. Croft lists it, remembers it, and commits it.
func TestOverlookedEdit(t *testing.T) {
	r := gittest.New(t)
	for _, name := range []string{"file", "other"} {
		r.Write(name, "a\nb\nc\n")
	}
	r.Commit("files")
	w := mainTree(t, r)
	path, past := filepath.Join(r.Dir, "file"), time.Now().Add(-time.Minute).Truncate(time.Second)
	changed := func() int64 {
		st, err := index.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		return st.Changed().Unix()
	}
	edit := func(text string) int64 {
		r.Write("file", text)
		if err := os.Chtimes(path, past, past); err != nil {
			t.Fatal(err)
		}
		return changed()
	}
	for try := 0; ; try++ {
		staged := edit("a\nb\nc\n")
		r.Git("update-index", "--refresh")
		if edit("x\ny\nz\n") == staged && r.Git("status", "--porcelain") == "" {
			break
		}
		if try == 20 {
			t.Fatal("git is not deceived here")
		}
	}
	const want = ".M file"
	if got := statusOf(t, w, UntrackedAll); !slices.Equal(got, []string{want}) {
		t.Errorf("Status = %q, want %q", got, want)
	}
	repo := open(t, r)
	for range 2 {
		s := repo.RememberedStatuses(t.Context())
		list, err := s.Of(t.Context(), w, UntrackedAll)
		if err != nil || len(list) != 1 || list[0].Path != "file" || list[0].Work != 'M' {
			t.Errorf("Of = %+v, %v", list, err)
		}
		s.Close()
	}
	_, err := w.CommitWork(t.Context(), Work{
		Branch: "main", Paths: []string{"file"}, Commit: object.Commit{Signature: object.Signature("A <a@b>", time.Unix(1, 0)), Message: "m"},
	})
	if got := r.Git("show", "main:file"); err != nil || got != "x\ny\nz" {
		t.Errorf("the commit has %q, %v", got, err)
	}
}
