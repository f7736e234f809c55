package oplog

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
)

const (
	here    = "this machine"
	project = croft.ID("project")
)

// dead is a process of this machine that has ended.
var dead = croft.Owner{Host: here, PID: 2}

// newLog returns a Log whose only kind of operation is settled by settle.
func newLog(t *testing.T, settle Recoverer[string]) *Log[string] {
	t.Helper()
	dir := t.TempDir()
	j, err := journal.Open(t.Context(), dir, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return New(Options[string]{
		Journal: j, Dir: dir + "/ops", Now: time.Now, Self: croft.Owner{Host: here, PID: 1},
		IsDead:  func(o croft.Owner) bool { return o.PID == dead.PID },
		Project: func(_ context.Context, id croft.ID) (string, error) { return string(id), nil },
		Why:     func(err error) string { return "why: " + err.Error() },
	}, map[string]Recoverer[string]{"create": settle})
}

func undo(ctx context.Context, _ string, op *Op) error { return op.EndUndone(ctx, "its process died") }

// write opens an operation and records it.
func write(t *testing.T, l *Log[string], id croft.ID) *Op {
	t.Helper()
	op, err := l.Open(journal.Operation{ID: id, Act: id, Kind: "create", Actor: "user", Repo: project})
	if err != nil {
		t.Fatal(err)
	}
	if err := op.Write(t.Context(), map[string]string{"a": "b"}, nil); err != nil {
		t.Fatal(err)
	}
	return op
}

// abandon records an operation whose process is o, and releases its lock.
func abandon(t *testing.T, l *Log[string], id croft.ID, o croft.Owner) {
	t.Helper()
	self := l.Self
	l.Self = o
	write(t, l, id).Close()
	l.Self = self
}

func wantState(t *testing.T, l *Log[string], id croft.ID, want journal.OpState) journal.Operation {
	t.Helper()
	op, err := l.Journal.Operation(t.Context(), id)
	if err != nil || op.State != want {
		t.Errorf("operation %s is %q, %v; want %q", id, op.State, err, want)
	}
	return op
}

func TestDone(t *testing.T) {
	l := newLog(t, undo)
	op := write(t, l, "a")
	if now := wantState(t, l, "a", journal.OpRunning); string(now.Input) != `{"a":"b"}` || now.Owner != l.Self {
		t.Errorf("%+v", now)
	}
	if len(op.InheritedFiles()) != 1 || op.IsRecovered() {
		t.Error("an operation that is carried out has no lock for its processes")
	}
	if err := op.Amend(t.Context(), "more", nil); err != nil {
		t.Fatal(err)
	}
	if now := wantState(t, l, "a", journal.OpRunning); string(now.Input) != `"more"` {
		t.Errorf("amended: %s", now.Input)
	}
	if err := op.EndDone(t.Context()); err != nil {
		t.Fatal(err)
	}
	op.Close()
	wantState(t, l, "a", journal.OpDone)
	if _, err := os.Stat(l.LockPath("a")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its lock is left: %v", err)
	}
}

// TestNotWritten: an operation is running only if its records were written with it.
func TestNotWritten(t *testing.T) {
	l := newLog(t, undo)
	op, err := l.Open(journal.Operation{ID: "a", Kind: "create", Repo: project})
	if err != nil {
		t.Fatal(err)
	}
	defer op.Close()
	full := errors.New("full")
	if err := op.Write(t.Context(), nil, func(*journal.Tx) error { return full }); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
	if _, err := l.Journal.Operation(t.Context(), "a"); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("it is written down: %v", err)
	}
}

// TestRecover: the operation of a dead process is settled once, under its lock; one whose
// process is alive, is on another machine or is this one is not touched.
func TestRecover(t *testing.T) {
	var settled []croft.ID
	l := newLog(t, func(ctx context.Context, p string, op *Op) error {
		if settled = append(settled, op.ID); p != string(project) || !op.IsRecovered() || op.InheritedFiles() != nil {
			t.Errorf("it is given %q, %+v", p, op)
		}
		return op.EndUndone(ctx, "its process died")
	})
	abandon(t, l, "dead", dead)
	abandon(t, l, "alive", croft.Owner{Host: here, PID: 3})
	abandon(t, l, "elsewhere", croft.Owner{Host: "another", PID: 2})
	own := write(t, l, "own")
	defer own.Close()
	for range 2 {
		if err := l.RecoverAt(t.Context(), project); err != nil {
			t.Fatal(err)
		}
	}
	if len(settled) != 1 || settled[0] != "dead" {
		t.Errorf("settled %v", settled)
	}
	wantState(t, l, "dead", journal.OpUndone)
	for _, id := range []croft.ID{"alive", "elsewhere", "own"} {
		wantState(t, l, id, journal.OpRunning)
	}
	if _, err := os.Stat(l.LockPath("dead")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its lock is left: %v", err)
	}
}

// TestEndedMeanwhile: an operation that another process has settled since it was listed is
// not settled again.
func TestEndedMeanwhile(t *testing.T) {
	l := newLog(t, undo)
	abandon(t, l, "a", dead)
	op := wantState(t, l, "a", journal.OpRunning)
	for i := range 2 {
		called := 0
		err := l.RecoverWith(t.Context(), op, func(op *Op) error {
			called++
			return op.EndDone(t.Context())
		})
		if err != nil || called != 1-i {
			t.Errorf("call %d: settled %d times, %v", i+1, called, err)
		}
	}
}

// TestRecoverFails: an operation that cannot be recovered is an error in its own project,
// and in no other.
func TestRecoverFails(t *testing.T) {
	l := newLog(t, func(context.Context, string, *Op) error { return errors.New("no") })
	abandon(t, l, "a", dead)
	if err := l.RecoverAt(t.Context(), project); !errors.Is(err, croft.CleanupFailed) {
		t.Errorf("%v", err)
	}
	if err := l.RecoverEverywhere(t.Context(), "another"); err != nil {
		t.Errorf("for another project: %v", err)
	}
}

// TestUnsettled: an operation that cannot be settled now stops only the callers that wait
// for it, and they get the reason; once it is settled, they go on.
func TestUnsettled(t *testing.T) {
	fails := true
	l := newLog(t, func(ctx context.Context, _ string, op *Op) error {
		if fails {
			return errors.Join(ErrUnsettled, errors.New("its directory is away"))
		}
		return op.EndDone(ctx)
	})
	abandon(t, l, "a", dead)
	if err := l.RecoverAt(t.Context(), project); err != nil {
		t.Errorf("who does not need it: %v", err)
	}
	if op := wantState(t, l, "a", journal.OpRunning); !strings.Contains(op.Error, "its directory is away") {
		t.Errorf("written down is %q", op.Error)
	}
	if _, err := l.Await(t.Context(), "a", l.RecoverAt); !errors.Is(err, croft.WorkspaceBusy) || !strings.Contains(err.Error(), "neither finished nor rolled back") {
		t.Errorf("who waits for it: %v", err)
	}
	fails = false
	if op, err := l.Await(t.Context(), "a", l.RecoverAt); err != nil || op.State != journal.OpDone {
		t.Errorf("at last: %q, %v", op.State, err)
	}
}

// TestSweepLocks: lock files that no process has locked and that belong to no running
// operation are deleted after some time.
func TestSweepLocks(t *testing.T) {
	l := newLog(t, undo)
	running := write(t, l, "running")
	defer running.Close()
	old := time.Now().Add(-2 * openTime)
	for _, name := range []string{"left", "young", "kept"} {
		if err := os.WriteFile(l.LockPath(name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"left", "kept", "running"} {
		if err := os.Chtimes(l.LockPath(name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	l.SweepLocks(t.Context(), func(name string, _ int64) bool { return name == "kept" })
	for name, want := range map[string]bool{"left": false, "young": true, "kept": true, "running": true} {
		if _, err := os.Stat(l.LockPath(name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
