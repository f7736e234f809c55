//go:build failpoints

package git

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/refs"
)

// TestAdvanceCannotExchange: where no files can be exchanged, that is found out before git writes any, and git writes them into the
// checkout.
func TestAdvanceCannotExchange(t *testing.T) {
	r := gittest.New(t)
	r.Write("goes", "goes\n")
	old := r.Commit("second")
	now := next(r, map[string]string{"goes": "new\n"})
	settle(t, r, "goes")
	repo := open(t, r)
	t.Setenv("CROFT_FAILPOINT", "fail=host.tried")
	a, err := repo.Hosts("main")[0].Prepare(t.Context(), old, now)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Cancel()
	if left, err := os.ReadDir(filepath.Join(repo.Dir, MovingName)); a.move != nil || err != nil || len(left) > 0 {
		t.Errorf("files are to be exchanged: %v, %v, %v", a.move, left, err)
	}
	if err := repo.UpdateRefsAfter(t.Context(), func() error { return a.Apply(t.Context()) }, refs.Update{Ref: "refs/heads/main", New: now, Old: old}); err != nil {
		t.Fatal(err)
	}
	if got := r.Git("status", "--porcelain"); got != "" || readFile(t, filepath.Join(r.Dir, "goes")) != "new\n" {
		t.Errorf("status: %s", got)
	}
}
