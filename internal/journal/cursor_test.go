package journal_test

import (
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/journal"
)

// lastCursor appends an event and returns its cursor.
func (s state) lastCursor(t *testing.T, kind string) int64 {
	t.Helper()
	j := s.open(t)
	defer j.Close()
	update(t, j, func(tx *journal.Tx) error { return tx.Emit(event(kind)) })
	list, err := j.Events(t.Context(), 0, journal.Subject{}, 1000)
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	for i := 1; i < len(list); i++ {
		if list[i].At <= list[i-1].At {
			t.Fatalf("cursor %d comes after %d", list[i].At, list[i-1].At)
		}
	}
	return list[len(list)-1].At
}

// epoch returns the epoch of the state.
func (s state) epoch(t *testing.T) string {
	t.Helper()
	j := s.open(t)
	defer j.Close()
	has, err := j.Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return has.Epoch
}

// TestCursorsNeverGoBack loses the database, its second copy or both, or replaces them by
// older ones. Events that are appended afterwards have cursors above every one that was
// handed out, so that a reader that continues from its last cursor misses none.
func TestCursorsNeverGoBack(t *testing.T) {
	t.Parallel()
	wal := func(s state) []string { return []string{s.db() + "-wal", s.db() + "-shm"} }
	for name, lose := range map[string]func(t *testing.T, s state, oldDB, oldCopy []byte){
		"nothing":      func(*testing.T, state, []byte, []byte) {},
		"the database": func(t *testing.T, s state, _, _ []byte) { drop(t, append(wal(s), s.db())...) },
		"the copy":     func(t *testing.T, s state, _, _ []byte) { drop(t, s.copy) },
		"both":         func(t *testing.T, s state, _, _ []byte) { drop(t, append(wal(s), s.db(), s.copy)...) },
		"the database, and the copy is older": func(t *testing.T, s state, _, oldCopy []byte) {
			drop(t, append(wal(s), s.db())...)
			put(t, s.copy, oldCopy)
		},
		"the database, and the copy is damaged in the middle": func(t *testing.T, s state, _, _ []byte) {
			drop(t, append(wal(s), s.db())...)
			b := keep(t, s.copy)
			copy(b[len(b)/2:], "damage")
			put(t, s.copy, b)
		},
		"the database, and the copy is cut": func(t *testing.T, s state, _, _ []byte) {
			drop(t, append(wal(s), s.db())...)
			b := keep(t, s.copy)
			put(t, s.copy, append(b[:len(b)/2:len(b)/2], "damage"...))
		},
		"the database is damaged, and the copy is gone": func(t *testing.T, s state, _, _ []byte) {
			drop(t, append(wal(s), s.copy)...)
			put(t, s.db(), []byte("no database, but some text that is long enough to be looked at"))
		},
		"the database is older": func(t *testing.T, s state, oldDB, _ []byte) {
			drop(t, wal(s)...)
			put(t, s.db(), oldDB)
		},
		"both are older": func(t *testing.T, s state, oldDB, oldCopy []byte) {
			drop(t, wal(s)...)
			put(t, s.db(), oldDB)
			put(t, s.copy, oldCopy)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newState(t)
			s.lastCursor(t, "first") // closed: all of it is in the file
			oldDB, oldCopy := keep(t, s.db()), keep(t, s.copy)
			var seen int64
			for range 5 {
				seen = s.lastCursor(t, "before")
			}
			before := s.epoch(t)
			lose(t, s, oldDB, oldCopy)
			if next := s.lastCursor(t, "after"); next <= seen {
				t.Errorf("the cursor is %d, after %d was handed out", next, seen)
			}
			isLost := name == "both" || strings.Contains(name, "damaged") // that a copy was cut is not seen
			if isNew := s.epoch(t) != before; isNew != isLost {
				t.Errorf("the epoch is another one: %v, events were lost: %v", isNew, isLost)
			}
		})
	}
}
