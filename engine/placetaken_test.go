package engine_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/journal"
)

// TestPlaceTakenForAWhile: another repository lies at a known one's path for a
// while. It knows nothing of the first one's, and that is known again with all its
// workspaces and its trash once it is back.
func TestPlaceTakenForAWhile(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	kept := create(t, e, croft.CreateRequest{Name: "kept"})
	create(t, e, croft.CreateRequest{Name: "gone"})
	if _, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"gone"}}); err != nil {
		t.Fatal(err)
	}
	aside := r.Dir + ".aside"
	if err := errors.Join(e.Close(), os.Rename(r.Dir, aside)); err != nil {
		t.Fatal(err)
	}
	r.GitIn(filepath.Dir(r.Dir), "clone", "--quiet", aside, r.Dir)
	e = engineIn(t, r, 0)
	if got := names(t, e); len(got) != 0 {
		t.Errorf("another repository has %v", got)
	}
	if err := errors.Join(e.Close(), os.RemoveAll(r.Dir), os.Rename(aside, r.Dir)); err != nil {
		t.Fatal(err)
	}
	e = engineIn(t, r, 0)
	if got := show(t, e, "kept"); got.ID != kept.ID || got.State != croft.Ready {
		t.Errorf("%+v", got)
	}
	if list, err := e.Trash(t.Context(), ""); err != nil || len(list) != 1 {
		t.Errorf("%d in the trash, %v", len(list), err)
	}
}

// TestOlderStateKeepsWhatWasMade: a state that was saved while a workspace was
// made, and put back later, does not know that it was handed out. What was done
// there since stays.
func TestOlderStateKeepsWhatWasMade(t *testing.T) {
	t.Parallel()
	for _, mode := range []croft.Mode{croft.ModeWorktree, croft.ModeIsolated} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			e := engineIn(t, r, 0)
			w := create(t, e, croft.CreateRequest{Name: "a", Mode: mode})
			gittest.WriteFile(t, filepath.Join(w.Path, "work.txt"), "work\n")
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			j := database(t, r)
			update(t, j, func(tx *journal.Tx) error {
				rec, err := tx.Record(w.ID)
				if err != nil {
					return err
				}
				owner := dead()
				rec.Workspace.State, rec.Maker = croft.Creating, &owner
				return errors.Join(tx.Put(rec), tx.Begin(journal.Operation{
					ID: "made", Act: "made", Kind: "create", Repo: rec.RepoID, Workspaces: []croft.ID{w.ID}, Names: []string{"a"},
					Input: []byte("{}"), Owner: owner, StartedAt: time.Now(),
				}))
			})
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			e = engineIn(t, r, 0)
			create(t, e, croft.CreateRequest{Name: "b"})
			if got := show(t, e, "a"); got.State != croft.Ready || read(t, filepath.Join(w.Path, "work.txt")) != "work\n" {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestFinishWithoutItsBranch: a branch that somebody deleted is not made again
// with a history of nothing.
func TestFinishWithoutItsBranch(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	gittest.WriteFile(t, filepath.Join(w.Path, "work.txt"), "work\n")
	r.Git("update-ref", "-d", "refs/heads/"+w.Branch)
	if m, err := e.Finish(t.Context(), croft.FinishRequest{Workspace: "a"}); !errors.Is(err, croft.WrongBranch) {
		t.Errorf("Finish = %+v, %v, want WRONG_BRANCH", m, err)
	}
	if _, err := r.TryGit(r.Dir, "rev-parse", "--verify", "--quiet", "refs/heads/"+w.Branch); err == nil {
		t.Error("the branch is there again")
	}
}
