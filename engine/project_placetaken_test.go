package engine_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/journal"
)

// TestPlaceTakenForAWhile: for a while, another repository lies at the path of a known one.
// It has nothing of the first one's, and the first one has all its workspaces and its trash
// again once it is back.
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
	if list, err := e.Trash(t.Context(), croft.TrashRequest{}); err != nil || len(list.Items) != 1 {
		t.Errorf("%d in the trash, %v", len(list.Items), err)
	}
}

// TestRestoredStateKeepsWorkspaceMadeSince: a copy of the state was made during the
// creation of a workspace, and is put back later. It does not say that the creation ended;
// the workspace and the work in it stay.
func TestRestoredStateKeepsWorkspaceMadeSince(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, r *gittest.Repo, e *engine.Engine, w croft.Workspace) {
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
			return errors.Join(tx.PutRecord(rec), tx.Begin(journal.Operation{
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

// TestRestoredStateKeepsWorkAfterRewind: a copy of the state was made during a rewind, and
// is put back later. It knows nothing of the work that was done since. The rewind is
// finished again, and that work is in a snapshot.
func TestRestoredStateKeepsWorkAfterRewind(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, r *gittest.Repo, e *engine.Engine, w croft.Workspace) {
		var snaps [2]*croft.Snapshot
		for i, text := range []string{"one\n", "two\n"} {
			gittest.WriteFile(t, filepath.Join(w.Path, "work.txt"), text)
			var err error
			if snaps[i], err = e.TakeSnapshot(t.Context(), croft.SnapshotRequest{Workspace: "a"}); err != nil {
				t.Fatal(err)
			}
		}
		gittest.WriteFile(t, filepath.Join(w.Path, "work.txt"), "later\n")
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		input, err := json.Marshal(map[string]*croft.Snapshot{"from": snaps[1], "to": snaps[0]})
		if err != nil {
			t.Fatal(err)
		}
		j := database(t, r)
		update(t, j, func(tx *journal.Tx) error {
			rec, err := tx.Record(w.ID)
			if err != nil {
				return err
			}
			rec.Workspace.State = croft.Creating
			return errors.Join(tx.PutRecord(rec), tx.Begin(journal.Operation{
				ID: "back", Act: "back", Kind: "rewind", Repo: rec.RepoID, Workspaces: []croft.ID{w.ID}, Names: []string{"a"},
				Input: input, Owner: dead(), StartedAt: time.Now(),
			}))
		})
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		e = engineIn(t, r, 0)
		create(t, e, croft.CreateRequest{Name: "b"})
		if got := read(t, filepath.Join(w.Path, "work.txt")); got != "one\n" {
			t.Errorf("the rewind was not finished: %q", got)
		}
		list, err := e.Snapshots(t.Context(), croft.SnapshotsRequest{})
		if err != nil || len(list.Items) != 3 {
			t.Fatalf("Snapshots = %+v, %v", list, err)
		}
		list.Items = slices.DeleteFunc(list.Items, func(s croft.Snapshot) bool { return s.ID == snaps[0].ID || s.ID == snaps[1].ID })
		if _, err := e.Restore(t.Context(), croft.RestoreRequest{Ref: string(list.Items[0].ID)}); err != nil {
			t.Fatal(err)
		}
		if got := read(t, filepath.Join(w.Path, "work.txt")); got != "later\n" {
			t.Errorf("what was done later is %q", got)
		}
	})
}

// TestNewRepositoryInheritsNothing: a repository that is made where another one was deleted
// has none of its workspaces, history or trash, also in an engine that was open all the
// time, and also where the directory gets the same inode again.
func TestNewRepositoryInheritsNothing(t *testing.T) {
	t.Parallel()
	for _, engines := range []string{"open", "new"} {
		t.Run(engines, func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			e := engineIn(t, r, 0)
			create(t, e, croft.CreateRequest{Name: "a"})
			create(t, e, croft.CreateRequest{Name: "gone"})
			if _, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"gone"}}); err != nil {
				t.Fatal(err)
			}
			was, err := e.Repo(t.Context(), croft.RepoRequest{})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.RemoveAll(r.Dir); err != nil {
				t.Fatal(err)
			}
			time.Sleep(20 * time.Millisecond) // directories that are made within one tick of the kernel's clock have the same time of birth
			if err := os.MkdirAll(r.Dir, 0o755); err != nil {
				t.Fatal(err)
			}
			r.Git("init", "--quiet", "--initial-branch=main")
			r.Write("other.txt", "other\n")
			r.Commit("another project")
			if engines == "new" {
				e = engineIn(t, r, 0)
			}
			now, err := e.Repo(t.Context(), croft.RepoRequest{})
			if err != nil || now.ID == was.ID {
				t.Errorf("Repo = %+v, %v; the deleted one was %s", now, err, was.ID)
			}
			if got := names(t, e); len(got) != 0 {
				t.Errorf("it has the workspaces %v", got)
			}
			trash, terr := e.Trash(t.Context(), croft.TrashRequest{})
			history, herr := e.History(t.Context(), croft.HistoryRequest{})
			if terr != nil || herr != nil || len(trash.Items) != 0 || len(history.Items) != 0 {
				t.Errorf("it has %+v in the trash and did %+v; %v, %v", trash, history, terr, herr)
			}
			if w := create(t, e, croft.CreateRequest{Name: "fresh"}); !exists(filepath.Join(w.Path, "other.txt")) {
				t.Error("the workspace is of another project")
			}
		})
	}
}

// TestFinishWithoutItsBranch: a user deleted the branch of a workspace. Finish does not
// make it again without its history.
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
