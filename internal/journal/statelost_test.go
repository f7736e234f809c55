package journal_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft/internal/journal"
)

// TestStateComesBack loses the database or its second copy in every form. All committed
// data is there afterwards, and both are whole again, so that the other one may be lost
// next.
func TestStateComesBack(t *testing.T) {
	t.Parallel()
	type old struct{ db, copy []byte }
	losses := map[string]func(t *testing.T, s state, o old){
		"Nothing":   func(*testing.T, state, old) {},
		"Database":  func(t *testing.T, s state, _ old) { drop(t, s.db(), s.db()+"-wal", s.db()+"-shm") },
		"Directory": func(t *testing.T, s state, _ old) { drop(t, s.dir) },
		"LogFiles":  func(t *testing.T, s state, _ old) { drop(t, s.db()+"-wal", s.db()+"-shm") },
		"Copy":      func(t *testing.T, s state, _ old) { drop(t, filepath.Dir(s.copy)) },
		"OlderDatabase": func(t *testing.T, s state, o old) {
			drop(t, s.db()+"-wal", s.db()+"-shm")
			put(t, s.db(), o.db)
		},
		"OlderDatabaseAndNewCopy": func(t *testing.T, s state, o old) {
			drop(t, s.copy)
			_ = s.open(t).Close() // rewritten, it has no transactions any more
			drop(t, s.db()+"-wal", s.db()+"-shm")
			put(t, s.db(), o.db)
		},
		"OlderCopy":   func(t *testing.T, s state, o old) { put(t, s.copy, o.copy) },
		"DamagedCopy": func(t *testing.T, s state, _ old) { put(t, s.copy, overwrite(keep(t, s.copy), 1000, 3000)) },
		"NoiseCopy":   func(t *testing.T, s state, _ old) { put(t, s.copy, []byte("noise")) },
		"EmptyCopy":   func(t *testing.T, s state, _ old) { put(t, s.copy, nil) },
		"TornCopy":    func(t *testing.T, s state, _ old) { b := keep(t, s.copy); put(t, s.copy, b[:len(b)-10]) },
	}
	for name := range damages {
		losses["Damaged"+name] = func(t *testing.T, s state, _ old) {
			drop(t, s.db()+"-wal", s.db()+"-shm")
			put(t, s.db(), damages[name](keep(t, s.db())))
		}
	}
	for name, lose := range losses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newState(t)
			_ = s.open(t).Close()
			j := s.open(t)
			update(t, j, func(tx *journal.Tx) error { return tx.Emit(event("first")) })
			_ = j.Close()
			o := old{keep(t, s.db()), keep(t, s.copy)}
			s.fill(t)
			want := s.contents(t)
			if len(want.Records) != 100 || len(want.Events) != 104 || len(want.Pins) != 1 || len(want.Merges) != 1 {
				t.Fatalf("the state to lose is not what it should be: %+v", want)
			}
			lose(t, s, o)
			// Damage that opening does not find is found by reading.
			j = s.open(t)
			if err := j.Check(t.Context()); err != nil {
				t.Fatal(err)
			}
			_ = j.Close()
			if diff := cmp.Diff(want, s.contents(t)); diff != "" {
				t.Fatalf("after the loss:\n%s", diff)
			}
			j = s.open(t)
			update(t, j, func(tx *journal.Tx) error { return tx.Emit(event("after")) })
			events, err := j.Events(t.Context(), want.Events[103].At, journal.Subject{}, 10)
			if err != nil || len(events) != 1 {
				t.Errorf("the next event = %v, %v: its cursor is not after the last one", events, err)
			}
			_ = j.Close()
			want = s.contents(t)
			drop(t, s.dir)
			if diff := cmp.Diff(want, s.contents(t)); diff != "" {
				t.Errorf("after the database was lost as well:\n%s", diff)
			}
			for _, path := range []string{s.db(), s.copy} {
				if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("%s: %v, %v, want 0600", path, info.Mode(), err)
				}
			}
		})
	}
}

// TestStateIsLostWithBoth: without both there are no records, and no error.
func TestStateIsLostWithBoth(t *testing.T) {
	t.Parallel()
	s := newState(t)
	s.fill(t)
	drop(t, s.dir, s.copy)
	if c := s.contents(t); len(c.Records) != 0 || len(c.Events) != 0 {
		t.Errorf("%d records", len(c.Records))
	}
}

// TestStateLostWhileOpen: a process that has the database open still has all records.
func TestStateLostWhileOpen(t *testing.T) {
	t.Parallel()
	s := newState(t)
	s.fill(t)
	j, other := s.open(t), s.open(t)
	drop(t, s.db(), s.db()+"-wal", s.db()+"-shm")
	update(t, j, func(tx *journal.Tx) error { return tx.PutRecord(numbered(200)) })
	update(t, other, func(tx *journal.Tx) error { return tx.PutRecord(numbered(201)) })
	for i, j := range []*journal.Journal{j, other} {
		if list, err := j.Records(t.Context(), "repo"); err != nil || len(list) != 102 {
			t.Errorf("%d: %d records, %v, want 102", i, len(list), err)
		}
	}
	if len(j.Notices()) != 1 || !strings.Contains(j.Notices()[0], "lost") {
		t.Errorf("said %q", j.Notices())
	}
}

// TestCursorsComeBack: after the database was lost, a cursor that was handed out is not
// given to another event, also if the event was deleted in between.
func TestCursorsComeBack(t *testing.T) {
	t.Parallel()
	s := newState(t)
	j := s.open(t)
	for i := range 3 {
		update(t, j, func(tx *journal.Tx) error { return tx.Emit(event(fmt.Sprint("made", i))) })
	}
	events, err := j.Events(t.Context(), 0, journal.Subject{}, 10)
	if err != nil || len(events) != 3 {
		t.Fatal(events, err)
	}
	update(t, j, func(tx *journal.Tx) error { _, err := tx.Prune(time.Now().Add(time.Hour), 100); return err })
	_ = j.Close()
	drop(t, s.copy)
	_ = s.open(t).Close() // a dump of what is left
	drop(t, s.dir)
	j = s.open(t)
	if has, err := j.Stream(t.Context()); err != nil || has.Last != events[2].At || has.Pruned != events[2].At {
		t.Errorf("the database that was made again says %+v, %v; the last event was at %d", has, err, events[2].At)
	}
	update(t, j, func(tx *journal.Tx) error { return tx.Emit(event("after")) })
	again, err := j.Events(t.Context(), 0, journal.Subject{}, 10)
	if err != nil || len(again) != 1 || again[0].At <= events[2].At {
		t.Errorf("after %+v comes %+v, %v", events[2], again, err)
	}
}

// TestStateLostBesideMany has many processes write while the database is deleted again and
// again. Everything that was acknowledged is there in the end.
func TestStateLostBesideMany(t *testing.T) {
	if dir := os.Getenv("JOURNAL_TEST_STATE"); dir != "" {
		emitBesideMany(t, dir)
		return
	}
	t.Parallel()
	s := newState(t)
	s.fill(t)
	acknowledged, lost := s.loseBesideMany(t)
	if len(acknowledged) < 50 || lost == 0 {
		t.Fatalf("%d acknowledged, %d times lost: this test does not show what it should", len(acknowledged), lost)
	}
	j := s.open(t)
	events, err := j.Events(t.Context(), 0, journal.Subject{}, 10000)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, e := range events {
		if seen[e.Kind] {
			t.Errorf("%s happened twice", e.Kind)
		}
		seen[e.Kind] = true
	}
	for kind := range acknowledged {
		if !seen[kind] {
			t.Errorf("%s was acknowledged and is lost", kind)
		}
	}
}

// emitBesideMany is what each of the processes does: it prints which of its events were
// acknowledged.
func emitBesideMany(t *testing.T, dir string) {
	t.Helper()
	j, err := journal.Open(t.Context(), dir, journal.Options{Copy: os.Getenv("JOURNAL_TEST_COPY")})
	for range 50 { // the database is deleted while it is opened, too
		if err == nil {
			break
		}
		j, err = journal.Open(t.Context(), dir, journal.Options{Copy: os.Getenv("JOURNAL_TEST_COPY")})
	}
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	for i := range 50 {
		kind := fmt.Sprint(os.Getenv("JOURNAL_TEST_NAME"), i)
		if err := j.Update(t.Context(), func(tx *journal.Tx) error { return tx.Emit(event(kind)) }); err == nil {
			fmt.Println("acknowledged", kind)
		}
	}
}

// loseBesideMany deletes the database again and again while several processes write to it,
// until all have ended. It returns what they were told is written, and how often it was
// lost.
func (s state) loseBesideMany(t *testing.T) (acknowledged map[string]bool, lost int) {
	t.Helper()
	const n = 8
	type result struct {
		out []byte
		err error
	}
	done := make(chan result, n)
	for i := range n {
		go func() {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestStateLostBesideMany$")
			cmd.Env = append(os.Environ(), "JOURNAL_TEST_STATE="+s.dir, "JOURNAL_TEST_COPY="+s.copy, "JOURNAL_TEST_NAME="+string(rune('a'+i)))
			out, err := cmd.CombinedOutput()
			done <- result{out, err}
		}()
	}
	acknowledged = map[string]bool{}
	pause := 20 * time.Millisecond // and longer each time, so that a slow machine makes progress
	for left := n; left > 0; {
		select {
		case r := <-done:
			left--
			if r.err != nil {
				t.Logf("%v\n%s", r.err, r.out)
			}
			for line := range strings.Lines(string(r.out)) {
				if kind, ok := strings.CutPrefix(strings.TrimSpace(line), "acknowledged "); ok {
					acknowledged[kind] = true
				}
			}
		case <-time.After(pause):
			if os.Remove(s.db()) == nil {
				lost++
			}
			pause += pause / 4
		}
	}
	return acknowledged, lost
}

// TestOldDatabaseIsSetAside: a database of an earlier version is moved aside, unchanged.
func TestOldDatabaseIsSetAside(t *testing.T) {
	t.Parallel()
	s := newState(t)
	_ = s.open(t).Close()
	b := keep(t, s.db())
	b[63] = 5 // user_version, in the header
	put(t, s.db(), b)
	j := s.open(t)
	update(t, j, func(tx *journal.Tx) error { return tx.PutRecord(numbered(1)) })
	aside, err := journal.Damaged(s.dir)
	if err != nil || len(aside) != 1 || !bytes.Equal(keep(t, aside[0]), b) {
		t.Errorf("set aside %v, %v", aside, err)
	}
}
