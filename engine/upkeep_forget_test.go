package engine_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// known lists the workspaces of which a repository has a record.
func known(t *testing.T, r *gittest.Repo) []string {
	t.Helper()
	j := database(t, r)
	defer j.Close()
	repos, err := j.ReposAt(t.Context(), filepath.Join(r.Dir, ".git"))
	if err != nil || len(repos) != 1 {
		t.Fatal(repos, err)
	}
	records, err := j.Records(t.Context(), repos[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, rec := range records {
		ids = append(ids, string(rec.Workspace.ID))
	}
	slices.Sort(ids)
	return ids
}

// TestForget: the record of a workspace of which nothing is left is deleted after its time,
// and not before; the record of one that can be restored stays, however old it is.
func TestForget(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	make := func(name string) croft.Workspace { return create(t, e, croft.CreateRequest{Name: name, Key: name}) }
	empty, saved, ahead, branch, live := make("empty"), make("saved"), make("ahead"), make("branch"), make("live")
	if _, err := e.TakeSnapshot(t.Context(), croft.SnapshotRequest{Workspace: "saved"}); err != nil {
		t.Fatal(err)
	}
	for _, w := range []croft.Workspace{ahead, branch} {
		gittest.WriteFile(t, filepath.Join(w.Path, "new.txt"), w.Name+"\n")
		r.GitIn(w.Path, "add", "--all")
		r.GitIn(w.Path, "commit", "--quiet", "-m", "new")
	}
	for _, w := range []croft.Workspace{empty, saved, ahead, branch} {
		req := croft.RemoveRequest{Workspaces: []string{w.Name}}
		if w.Name == "branch" {
			req.Branch = croft.BranchKeep
		}
		if res, err := e.Remove(t.Context(), req); err != nil || len(res.Removed) != 1 {
			t.Fatalf("Remove(%s) = %+v, %v", w.Name, res, err)
		}
	}
	for _, after := range []time.Duration{6*day + time.Hour, 8 * day, 37 * day, 39 * day, 90 * day} {
		if res := collect(t, r, after); res.Forgotten != 0 {
			t.Errorf("after %v: %d forgotten", after, res.Forgotten)
		}
	}
	if got := len(known(t, r)); got != 5 {
		t.Fatalf("%d workspaces are known, want all five", got)
	}
	if res := collect(t, r, 130*day); res.Forgotten != 1 {
		t.Errorf("%d forgotten, want one", res.Forgotten)
	}
	want := []string{string(saved.ID), string(ahead.ID), string(branch.ID), string(live.ID)}
	slices.Sort(want)
	if got := known(t, r); !slices.Equal(got, want) {
		t.Errorf("known are %v, want %v: all but the empty one", got, want)
	}
	if res := collect(t, r, 131*day); res.Forgotten != 0 {
		t.Errorf("%d forgotten again", res.Forgotten)
	}
	wantForgotten(t, r, live)
}

// wantForgotten checks that the history and the events are about a live workspace only,
// that its key still works, and that the doctor has no findings.
func wantForgotten(t *testing.T, r *gittest.Repo, live croft.Workspace) {
	t.Helper()
	e := engineIn(t, r, 131*day)
	ops, err := e.History(t.Context(), croft.HistoryRequest{})
	if err != nil || len(ops.Items) != 1 || ops.Items[0].WorkspaceName != live.Name || !ops.Items[0].IsUndoable {
		t.Errorf("the history is %+v, %v", ops, err)
	}
	for ev, err := range e.Events(t.Context(), croft.EventsRequest{}) {
		if err != nil || ev.Time.Before(time.Now().Add(40*day)) {
			t.Errorf("event %+v, %v", ev, err)
		}
	}
	if again := create(t, e, croft.CreateRequest{Name: live.Name, Key: live.Name}); again.ID != live.ID {
		t.Errorf("the key of a live workspace made %s, want %s", again.ID, live.ID)
	}
	findings, err := e.Doctor(t.Context(), croft.DoctorRequest{})
	if err != nil || len(findings.Findings) != 0 {
		t.Errorf("the doctor: %+v, %v", findings, err)
	}
	if w, err := e.Restore(t.Context(), croft.RestoreRequest{Ref: "empty"}); !errors.Is(err, croft.WorktreeNotFound) {
		t.Errorf("restored %+v, %v", w, err)
	}
	snaps, err := e.Snapshots(t.Context(), croft.SnapshotsRequest{})
	if err != nil || len(snaps.Items) != 1 {
		t.Fatalf("snapshots %+v, %v", snaps, err)
	}
	if w, err := e.Restore(t.Context(), croft.RestoreRequest{Ref: string(snaps.Items[0].ID)}); err != nil || w.Name != "saved" {
		t.Errorf("an old snapshot brought back %+v, %v", w, err)
	}
}

// TestForgetThenRebuild: deleted records do not come back when the database is rebuilt.
func TestForgetThenRebuild(t *testing.T) {
	t.Parallel()
	r, _ := finishedInTrash(t)
	collect(t, r, 8*day)
	if res := collect(t, r, 130*day); res.Forgotten != 1 || len(known(t, r)) != 0 {
		t.Fatalf("%d forgotten, known %v", res.Forgotten, known(t, r))
	}
	db, err := filepath.Glob(filepath.Join(stateDir(r), "croft.db*"))
	if err != nil || len(db) == 0 {
		t.Fatal("there is no database", err)
	}
	for _, file := range db {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	list, err := engineIn(t, r, 0).Workspaces(t.Context(), croft.WorkspacesRequest{States: []croft.State{croft.Trashed}})
	if err != nil || len(list.Items) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
}
