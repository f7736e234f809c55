package engine_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestUndoActors: an undo without an ID undoes the caller's own last act; with an ID it
// undoes any act of any actor.
func TestUndoActors(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	ann := open(t, r.Dir, &engine.Options{Environ: r.Env, Actor: "ann"})
	bob := open(t, r.Dir, &engine.Options{Environ: r.Env, Actor: "bob"})
	create(t, ann, croft.CreateRequest{Name: "a"})
	create(t, bob, croft.CreateRequest{Name: "b"})
	op, err := ann.Undo(t.Context(), croft.UndoRequest{})
	if err != nil || op.Actor != "ann" || op.WorkspaceName != "a" {
		t.Fatalf("ann's undo: %+v, %v", op, err)
	}
	if got := names(t, ann); !slices.Equal(got, []string{"b"}) {
		t.Errorf("left are %v, want b", got)
	}
	_, err = ann.Undo(t.Context(), croft.UndoRequest{})
	wantCode(t, err, croft.InvalidRequest)
	if _, err := bob.Undo(t.Context(), croft.UndoRequest{Operation: op.ID}); err != nil {
		t.Fatalf("bob takes ann's undo back by its name: %v", err)
	}
	if got := names(t, bob); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("left are %v, want both", got)
	}
	if op, err = bob.Undo(t.Context(), croft.UndoRequest{}); err != nil || op.WorkspaceName != "b" {
		t.Errorf("bob's undo: %+v, %v; want his own creation", op, err)
	}
}

// TestUndoBehindOthers: one's own last act is found behind many of others, which are named as later ones.
func TestUndoBehindOthers(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	ann := open(t, r.Dir, &engine.Options{Environ: r.Env, Actor: "ann"})
	bob := open(t, r.Dir, &engine.Options{Environ: r.Env, Actor: "bob"})
	create(t, ann, croft.CreateRequest{Name: "a"})
	for i := range 9 {
		create(t, bob, croft.CreateRequest{Name: fmt.Sprintf("b%d", i)})
	}
	if op, err := ann.Undo(t.Context(), croft.UndoRequest{}); err != nil || op.WorkspaceName != "a" {
		t.Errorf("ann's undo: %+v, %v", op, err)
	}
}

// TestRewindBusy: a workspace that another process uses is not rewound, but a snapshot of
// it may be taken.
func TestRewindBusy(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	s, err := e.TakeSnapshot(t.Context(), croft.SnapshotRequest{Workspace: "a"})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(w.Path, "since.txt")
	gittest.WriteFile(t, file, "since\n")
	stop := start(t, helper(t, r, task{Hold: w.ID, Wait: true}))
	_, err = e.Restore(t.Context(), croft.RestoreRequest{Ref: string(s.ID)})
	wantCode(t, err, croft.WorkspaceBusy)
	if !exists(file) {
		t.Error("a file is gone")
	}
	if _, err := e.TakeSnapshot(t.Context(), croft.SnapshotRequest{Workspace: "a"}); err != nil {
		t.Errorf("a snapshot of a workspace in use: %v", err)
	}
	stop()
	if _, err := e.Restore(t.Context(), croft.RestoreRequest{Ref: string(s.ID)}); err != nil || exists(file) {
		t.Errorf("once nobody uses it: %v, the file is there: %v", err, exists(file))
	}
}

// TestRewindAtOnce: many callers rewind a workspace to the same two snapshots at once. A
// rewind that is not refused takes effect as a whole.
func TestRewindAtOnce(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	var ids []croft.ID
	for _, content := range []string{"one\n", "two\n"} {
		for _, name := range []string{"x.txt", "y.txt", "z.txt"} {
			gittest.WriteFile(t, filepath.Join(w.Path, name), content)
		}
		s, err := e.TakeSnapshot(t.Context(), croft.SnapshotRequest{Workspace: "a"})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, s.ID)
	}
	const n = 6
	errs := make(chan error, n)
	for i := range n {
		go func() {
			_, err := e.Restore(t.Context(), croft.RestoreRequest{Ref: string(ids[i%2])})
			errs <- err
		}()
	}
	won := 0
	for range n {
		switch err := <-errs; err {
		case nil:
			won++
		default:
			if code := croft.AsError("restore", err).Code; code != croft.WorkspaceBusy {
				t.Errorf("refused with %v", err)
			}
		}
	}
	x, y, z := read(t, filepath.Join(w.Path, "x.txt")), read(t, filepath.Join(w.Path, "y.txt")), read(t, filepath.Join(w.Path, "z.txt"))
	if won == 0 || x != y || y != z {
		t.Errorf("%d were obeyed, and the files are %q, %q, %q", won, x, y, z)
	}
	if got := show(t, e, "a"); got.State != croft.Ready {
		t.Errorf("the workspace is %s", got.State)
	}
}

// TestSweepSecrets: gc deletes private files that no snapshot names, and keeps those of a
// snapshot.
func TestSweepSecrets(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	r.Write(".gitignore", ".env\n")
	r.Commit("ignore")
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	gittest.WriteFile(t, filepath.Join(w.Path, ".env"), "TOKEN=secret\n")
	s, err := e.TakeSnapshot(t.Context(), croft.SnapshotRequest{Workspace: "a"})
	if err != nil {
		t.Fatal(err)
	}
	dirs, err := filepath.Glob(filepath.Join(stateDir(r), "secrets", "*", string(s.ID)))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("the snapshot's private files: %v, %v", dirs, err)
	}
	orphan := filepath.Join(filepath.Dir(dirs[0]), "000000000000")
	gittest.WriteFile(t, filepath.Join(orphan, "file"), "TOKEN=leaked\n")
	if _, err := e.GC(t.Context(), croft.GCRequest{}); err != nil {
		t.Fatal(err)
	}
	if exists(orphan) || !exists(dirs[0]) {
		t.Errorf("the orphan is there: %v, the snapshot's are there: %v", exists(orphan), exists(dirs[0]))
	}
}

// TestSecretsThatAreNeeded: gc keeps the private files of a workspace in the trash, and
// those of a snapshot that a process is still taking.
func TestSecretsThatAreNeeded(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	gittest.WriteFile(t, filepath.Join(w.Path, "x.txt"), "x\n")
	if _, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce}); err != nil {
		t.Fatal(err)
	}
	repos, err := filepath.Glob(filepath.Join(stateDir(r), "repos", "*"))
	if err != nil || len(repos) != 1 {
		t.Fatal(repos, err)
	}
	const made = "000000000000"
	secrets := filepath.Join(stateDir(r), "secrets", filepath.Base(repos[0]))
	for _, id := range []string{string(w.ID), made} {
		gittest.WriteFile(t, filepath.Join(secrets, id, "file"), "TOKEN=secret\n")
	}
	l, err := flock.Try(filepath.Join(stateDir(r), "ops", "snapshot-"+made+".lock"))
	if err != nil {
		t.Fatal(err)
	}
	gc(t, e)
	if !exists(filepath.Join(secrets, string(w.ID))) || !exists(filepath.Join(secrets, made)) {
		t.Error("they were deleted")
	}
	if err := l.Unlock(); err != nil {
		t.Fatal(err)
	}
	gc(t, e)
	if exists(filepath.Join(secrets, made)) {
		t.Error("those of a snapshot that nobody makes are there")
	}
}
