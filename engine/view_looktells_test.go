package engine_test

import (
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestLookWritesNothing: a list that finds another head and uncommitted files tells and
// records nothing, so that it costs no transaction and changes no revision.
func TestLookWritesNothing(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	gittest.WriteFile(t, filepath.Join(w.Path, "a.txt"), "a\n")
	r.GitIn(w.Path, "add", "--all")
	r.GitIn(w.Path, "commit", "--quiet", "--message", "work")
	gittest.WriteFile(t, filepath.Join(w.Path, "b.txt"), "b\n")
	var before croft.Cursor
	for range 2 {
		list, err := e.Workspaces(t.Context(), croft.WorkspacesRequest{Look: croft.NoLimit})
		if err != nil {
			t.Fatal(err)
		}
		got := list.Items[0]
		if got.Head == w.Head || got.Work == nil || got.Work.Uncommitted != 1 || got.Revision != w.Revision {
			t.Errorf("%+v with %+v", got, got.Work)
		}
		if before != "" && list.Cursor != before {
			t.Error("the list has told something")
		}
		before = list.Cursor
	}
}
