package engine_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/journal"
)

// databaseFile is the database that the engines of a repository's environment
// use.
func databaseFile(r *gittest.Repo) string { return filepath.Join(stateDir(r), journal.FileName) }

// TestDatabaseOlderCopyWithActs: an older copy says that acts are in progress
// which ended long ago. None of them is repeated on workspaces that have gone
// on since.
func TestDatabaseOlderCopyWithActs(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	for _, name := range []string{"made", "removed", "rewound", "leased"} {
		create(t, e, croft.CreateRequest{Name: name})
	}
	old, err := e.Snapshot(t.Context(), croft.SnapshotRequest{Workspace: "rewound"})
	if err != nil {
		t.Fatal(err)
	}
	j := database(t, r)
	begin := func(id croft.ID, kind, name, input string) {
		t.Helper()
		w := show(t, e, name)
		repo, err := e.Repo(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		update(t, j, func(tx *journal.Tx) error {
			return tx.Begin(journal.Operation{
				ID: id, Act: id, Kind: kind, Repo: repo.ID, Workspaces: []croft.ID{w.ID}, Names: []string{name},
				Input: []byte(input), Owner: dead(), StartedAt: time.Now(),
			})
		})
	}
	begin("c", "create", "made", "{}")
	begin("r", "remove", "removed", `{"event":"x","dir":"`+filepath.Join(r.Dir+".croft", ".trash", string(show(t, e, "removed").ID))+`"}`)
	begin("w", "rewind", "rewound", `{"from":{"workspace":"`+string(old.Workspace)+`","commit":"`+old.Commit+`"},"to":{"workspace":"`+
		string(old.Workspace)+`","commit":"`+old.Commit+`"}}`)
	update(t, j, func(tx *journal.Tx) error {
		rec, err := tx.Record(show(t, e, "made").ID)
		if err != nil {
			return err
		}
		rec.Workspace.State, rec.Generation = croft.Creating, 1
		if err := tx.Put(rec); err != nil {
			return err
		}
		queued := journal.Merge{RepoID: rec.RepoID, Merge: croft.Merge{
			ID: "m", Workspace: "made", WorkspaceID: rec.Workspace.ID, Target: "main", State: croft.MergeQueued, Status: croft.MergePending,
		}}
		if err := tx.PutMerge(queued); err != nil {
			return err
		}
		return tx.PutLease(croft.Lease{
			ID: "l", Workspace: show(t, e, "leased").ID, Owner: dead(), ExpiresAt: time.Now().Add(-time.Hour),
		})
	})
	backup := filepath.Join(r.Home, "backup")
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	b := read(t, databaseFile(r))
	if err := os.WriteFile(backup, []byte(b), 0o600); err != nil {
		t.Fatal(err)
	}
	// Time goes on: the acts end, and there is work in every workspace.
	j = database(t, r)
	update(t, j, func(tx *journal.Tx) error {
		now := time.Now()
		errs := tx.DropLease("l")
		for _, id := range []croft.ID{"c", "r", "w"} {
			if err := tx.End(id, journal.OpUndone, "", now); err != nil {
				return err
			}
		}
		return errs
	})
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	e = engineIn(t, r, 0)
	create(t, e, croft.CreateRequest{Name: "later"})
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"made", "removed", "rewound", "leased"} {
		gittest.WriteFile(t, filepath.Join(r.Dir+".croft", name, "work.txt"), name)
	}
	if err := os.WriteFile(databaseFile(r), []byte(read(t, backup)), 0o600); err != nil {
		t.Fatal(err)
	}
	e = engineIn(t, r, 0)
	if _, err := e.Reap(t.Context(), croft.ReapRequest{Mode: croft.RemoveForce}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"made", "removed", "rewound", "leased"} {
		if w := show(t, e, name); w.State != croft.Ready || !exists(filepath.Join(w.Path, "work.txt")) {
			t.Errorf("%s is %s, and its work is there: %v", name, w.State, exists(filepath.Join(w.Path, "work.txt")))
		}
	}
	if m, err := database(t, r).Merge(t.Context(), "m"); err != nil || m.State != croft.MergeDone || m.Reason != croft.Canceled || m.Hint == "" {
		t.Errorf("the merge that had been queued: %+v, %v", m, err)
	}
	if findings, err := e.Doctor(t.Context(), croft.DoctorRequest{}); err != nil || len(findings) != 0 {
		t.Errorf("Doctor = %+v, %v", findings, err)
	}
}

// TestKeysOutliveTheDatabase: the same call is answered with the same
// workspaces, and another one with the same key is refused.
func TestKeysOutliveTheDatabase(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	req := croft.CreateAllRequest{Key: "k", Workspaces: []croft.CreateRequest{{Name: "b"}, {Name: "a"}}}
	first := engineIn(t, r, 0)
	want, err := first.CreateAll(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	// A record that is written again still tells of it.
	if res, err := first.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}}); err != nil || len(res.Removed) != 1 {
		t.Fatalf("Remove = %+v, %v", res, err)
	}
	if _, err := first.Restore(t.Context(), croft.RestoreRequest{Ref: "a"}); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(stateDir(r)); err != nil {
		t.Fatal(err)
	}
	e := engineIn(t, r, 0)
	got, err := e.CreateAll(t.Context(), req)
	if err != nil || len(got) != 2 || got[0].ID != want[0].ID || got[1].ID != want[1].ID {
		t.Errorf("CreateAll again = %+v, %v, want %+v", got, err, want)
	}
	_, err = e.CreateAll(t.Context(), croft.CreateAllRequest{Key: "k", Workspaces: []croft.CreateRequest{{Name: "c"}}})
	wantCode(t, err, croft.KeyConflict)
	if _, err := e.Undo(t.Context(), croft.UndoRequest{}); err != nil {
		t.Errorf("Undo of what was made before: %v", err)
	}
	if got := names(t, e); len(got) != 0 {
		t.Errorf("workspaces %v after undo", got)
	}
}

// TestDatabaseLostInUse: an engine that is open notices, and a lease that it
// holds goes on protecting, from the first moment.
func TestDatabaseLostInUse(t *testing.T) {
	t.Parallel()
	damage := map[string]func(t *testing.T, file string){
		"Deleted": func(t *testing.T, file string) {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		},
		"Noise": func(t *testing.T, file string) {
			if err := os.WriteFile(file+".new", []byte(strings.Repeat("noise ", 10000)), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(os.Remove(file+"-wal"), os.Remove(file+"-shm"), os.Rename(file+".new", file)); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, spoil := range damage {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			e := engineIn(t, r, 0)
			kept := create(t, e, croft.CreateRequest{Name: "kept"})
			held := create(t, e, croft.CreateRequest{Name: "held"})
			lease, err := e.Hold(t.Context(), held.ID)
			if err != nil {
				t.Fatal(err)
			}
			spoil(t, databaseFile(r))
			if got := names(t, e); !slices.Equal(got, []string{"kept", "held"}) {
				t.Errorf("workspaces %v", got)
			}
			other := engineIn(t, r, 0)
			remove := task{Remove: &croft.RemoveRequest{Workspaces: []string{"held"}, Mode: croft.RemoveForce}}
			if out, err := run(t, helper(t, r, remove)); err == nil || !strings.HasPrefix(out, string(croft.WorkspaceBusy)) {
				t.Errorf("removing it before the lease is renewed: %s, %v", out, err)
			}
			renewed, err := e.Renew(t.Context(), lease.ID)
			if err != nil || renewed.ID != lease.ID || renewed.Owner != lease.Owner {
				t.Errorf("Renew = %+v, %v", renewed, err)
			}
			if w := show(t, other, "held"); w.Lease == nil || w.Lease.ID != lease.ID {
				t.Errorf("the lease is %+v, want %+v", w.Lease, lease)
			}
			if err := e.Release(t.Context(), lease.ID); err != nil {
				t.Fatal(err)
			}
			if _, err := e.Renew(t.Context(), lease.ID); err == nil {
				t.Error("a lease that was given back is renewed")
			}
			create(t, e, croft.CreateRequest{Name: "new"})
			for _, name := range []string{"held", "kept", "new"} {
				if res, err := other.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{name}}); err != nil || len(res.Removed) != 1 {
					t.Errorf("Remove(%s) = %+v, %v", name, res, err)
				}
			}
			if exists(kept.Path) {
				t.Error("what was removed is still there")
			}
		})
	}
}

// TestTwoDatabases: two state directories work on one repository, and each
// sees what the other has done when it is opened next.
func TestTwoDatabases(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	elsewhere := slices.Concat(r.Env, []string{"CROFT_STATE_DIR=" + filepath.Join(r.Home, "elsewhere")})
	one := func() *engine.Engine { return open(t, r.Dir, &engine.Options{Environ: r.Env}) }
	two := func() *engine.Engine { return open(t, r.Dir, &engine.Options{Environ: elsewhere}) }
	create(t, one(), croft.CreateRequest{Name: "a"})
	create(t, two(), croft.CreateRequest{Name: "b"})
	if got := names(t, one()); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("the first sees %v", got)
	}
	if res, err := one().Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"b"}}); err != nil || len(res.Removed) != 1 {
		t.Errorf("Remove = %+v, %v", res, err)
	}
	if got := names(t, two()); !slices.Equal(got, []string{"a"}) {
		t.Errorf("the second sees %v", got)
	}
	if n := two().Notices(); len(n) != 0 {
		t.Errorf("Notices = %q", n)
	}
}

// TestDamagedIsToldAndDeleted: the doctor tells of a database that was set
// aside, and upkeep deletes it when its time has come.
func TestDamagedIsToldAndDeleted(t *testing.T) {
	t.Parallel()
	r, _, _ := furnished(t)
	if err := os.WriteFile(databaseFile(r), []byte(strings.Repeat("noise ", 10000)), 0o600); err != nil {
		t.Fatal(err)
	}
	e := engineIn(t, r, 0)
	findings, err := e.Doctor(t.Context(), croft.DoctorRequest{})
	if err != nil || len(findings) != 1 || findings[0].Code != "DATABASE_DAMAGED" || !findings[0].Fixed || !exists(findings[0].Subject) {
		t.Fatalf("Doctor = %+v, %v", findings, err)
	}
	aside := findings[0].Subject
	if n := e.Notices(); len(n) != 1 || !strings.Contains(n[0], aside) {
		t.Errorf("Notices = %q", n)
	}
	if _, err := engineIn(t, r, time.Hour).GC(t.Context(), ""); err != nil || !exists(aside) {
		t.Errorf("after an hour and gc it is there: %v, %v", exists(aside), err)
	}
	if _, err := engineIn(t, r, 8*24*time.Hour).GC(t.Context(), ""); err != nil || exists(aside) {
		t.Errorf("after 8 days and gc it is there: %v, %v", exists(aside), err)
	}
}
