package engine_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// eventsAfter reads the events after a cursor.
func eventsAfter(t *testing.T, e *engine.Engine, after croft.Cursor) (kinds []string, last croft.Cursor, err error) {
	t.Helper()
	for ev, err := range e.Events(t.Context(), croft.EventsRequest{After: after}) {
		if err != nil {
			return kinds, last, err
		}
		kinds, last = append(kinds, ev.Kind), ev.Cursor
	}
	return kinds, last, nil
}

// TestCursorExpires: a cursor is refused once events after it were deleted, or were lost
// with the whole state, and not before.
func TestCursorExpires(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	create(t, e, croft.CreateRequest{Name: "a"})
	_, first, err := eventsAfter(t, e, "")
	if err != nil {
		t.Fatal(err)
	}
	create(t, e, croft.CreateRequest{Name: "b"})
	kinds, last, err := eventsAfter(t, e, first)
	if err != nil || len(kinds) != 2 {
		t.Fatalf("after the first: %v, %v", kinds, err)
	}

	gc(t, engineIn(t, r, 100*24*time.Hour))
	if kinds, _, err := eventsAfter(t, e, first); !errors.Is(err, croft.CursorExpired) || len(kinds) > 0 {
		t.Errorf("after an event whose next was deleted: %v, %v", kinds, err)
	}
	if kinds, _, err := eventsAfter(t, e, last); err != nil || len(kinds) != 0 {
		t.Errorf("after the last event that was deleted: %v, %v", kinds, err)
	}
	list, err := e.Workspaces(t.Context(), croft.WorkspacesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	create(t, e, croft.CreateRequest{Name: "c"})
	if kinds, _, err := eventsAfter(t, e, list.Cursor); err != nil || len(kinds) != 2 {
		t.Errorf("after a list: %v, %v", kinds, err)
	}

	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	lose(t, filepath.Join(stateDir(r), "croft.db*"))
	again := engineIn(t, r, 0)
	if kinds, _, err := eventsAfter(t, again, list.Cursor); err != nil || len(kinds) != 2 {
		t.Errorf("after the database was made again from its copy: %v, %v", kinds, err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	lose(t, filepath.Join(stateDir(r), "croft.db*"))
	lose(t, filepath.Join(filepath.Dir(stateDir(r)), "*", "state", "*.log"))
	if kinds, _, err := eventsAfter(t, engineIn(t, r, 0), list.Cursor); !errors.Is(err, croft.CursorExpired) {
		t.Errorf("after the whole state was lost: %v, %v", kinds, err)
	}
}

// lose deletes the files that match a pattern.
func lose(t *testing.T, pattern string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v, %v", pattern, files, err)
	}
	for _, file := range files {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFollowerOfQuietRepository: events of another repository that are deleted do not
// concern a reader who follows this one.
func TestFollowerOfQuietRepository(t *testing.T) {
	t.Parallel()
	r, other := gittest.New(t), gittest.New(t)
	e := engineIn(t, r, 0)
	create(t, e, croft.CreateRequest{Name: "a"})
	repo, err := e.Repo(t.Context(), croft.RepoRequest{})
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := open(t, other.Dir, &engine.Options{Environ: r.Env})
	step := 0
	for ev, err := range e.Events(t.Context(), croft.EventsRequest{Repo: repo.ID, Kinds: []string{croft.EventWorkspaceCreated}, Follow: croft.FollowNew}) {
		if err != nil {
			t.Fatalf("event %d: %v", step, err)
		}
		if step++; step == 2 {
			if ev.Kind != croft.EventWorkspaceCreated {
				t.Errorf("the second event is %+v", ev)
			}
			break
		}
		go func() {
			create(t, elsewhere, croft.CreateRequest{Name: "x"})
			time.Sleep(300 * time.Millisecond) // the reader has seen that there is nothing for it
			gc(t, engineIn(t, r, 100*24*time.Hour))
			create(t, e, croft.CreateRequest{Name: "b"})
		}()
	}
}

// TestUndoneUndoWithKey: an undo with a key, repeated after the act that it brought back was
// undone again by its name, leaves that act undone.
func TestUndoneUndoWithKey(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	create(t, e, croft.CreateRequest{Name: "a"})
	undo := func(req croft.UndoRequest) croft.ID {
		t.Helper()
		op, err := e.Undo(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		return op.ID
	}
	if _, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}}); err != nil {
		t.Fatal(err)
	}
	list, err := e.History(t.Context(), croft.HistoryRequest{})
	if err != nil {
		t.Fatal(err)
	}
	removal := list.Items[0].ID
	first := undo(croft.UndoRequest{Operation: removal})
	undo(croft.UndoRequest{Key: "k", Operation: first})
	undo(croft.UndoRequest{Operation: removal})
	undo(croft.UndoRequest{Key: "k", Operation: first})
	got, err := e.Operation(t.Context(), croft.GetRequest{Ref: croft.Ref(removal)})
	if err != nil || got.State != "undone" {
		t.Errorf("the removal is %+v, %v", got, err)
	}
}
