package git

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/writers"
)

// A commit of uncommitted work has the time of its parent, and the parents of a merge in
// progress.
func TestWorkCommit(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	w := addWorktree(t, r, repo, "w")
	at, err := repo.OpenMergeTree(writers.OnDisk)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(at.Close)
	before := r.ObjectCount()
	gittest.WriteFile(t, filepath.Join(w.Path, "new"), "new\n")
	one, err := w.WorkCommit(t.Context(), at, Work{Paths: []string{"new"}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := at.ReadCommit(t.Context(), one)
	if err != nil || !strings.HasSuffix(c.Signature, " "+r.Git("log", "-1", "--format=%cd", "--date=raw")) {
		t.Errorf("signed %q, %v", c.Signature, err)
	}
	if again, err := w.WorkCommit(t.Context(), at, Work{Paths: []string{"new"}}); err != nil || again != one {
		t.Errorf("the same state gave %s and %s, %v", one, again, err)
	}
	if after := r.ObjectCount(); after != before {
		t.Errorf("%d objects before, %d after", before, after)
	}
	other := r.Branch("other", map[string]string{"o": "o\n"})
	r.GitIn(w.Path, "merge", "--quiet", "--no-commit", "--no-ff", other)
	two, err := w.WorkCommit(t.Context(), at, Work{})
	if err != nil {
		t.Fatal(err)
	}
	if c, err := at.ReadCommit(t.Context(), two); err != nil || len(c.Parents) != 2 || c.Parents[1] != other {
		t.Errorf("in the middle of a merge: %+v, %v", c, err)
	}
}
