package journal_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft/internal/journal"
)

// dumped makes a state whose second copy is a dump of several lines, and returns the copies
// of it in which one byte of one line is changed.
func dumped(t *testing.T) (s state, damaged [][]byte) {
	t.Helper()
	s = newState(t)
	s.fill(t)
	drop(t, s.copy)
	_ = s.open(t).Close() // writes the copy
	lines := bytes.SplitAfter(keep(t, s.copy), []byte("\n"))
	if len(lines) < 4 {
		t.Fatalf("the dump has %d lines", len(lines)-2)
	}
	for i := range lines[:len(lines)-1] {
		now := bytes.Join(lines, nil)
		now[len(bytes.Join(lines[:i], nil))+len(lines[i])/2] ^= 1
		damaged = append(damaged, now)
	}
	return s, damaged
}

// TestDamagedDumpIsTold: the database is lost, and a line of the copy's dump is damaged. The
// user is told, the damaged copy is kept, and the rows of the other lines are back.
func TestDamagedDumpIsTold(t *testing.T) {
	t.Parallel()
	_, list := dumped(t)
	for i := range list {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			s, list := dumped(t)
			want := s.contents(t)
			put(t, s.copy, list[i])
			drop(t, s.dir)
			j := s.open(t)
			if said := j.Notices(); len(said) != 1 || !strings.Contains(said[0], "damaged") || !strings.Contains(said[0], "doctor --import") {
				t.Errorf("said %q", said)
			}
			_ = j.Close()
			wantAside(t, s, list[i])
			got := s.contents(t)
			if isHeader := i == 0; cmp.Equal(want, got) || isHeader != (len(got.Records)+len(got.Events) == 0) {
				t.Errorf("%d records and %d events came back", len(got.Records), len(got.Events))
			}
		})
	}
}

// TestDamagedDumpIsFound: a check of the state finds a damaged line of the copy's dump, and
// writes the copy anew.
func TestDamagedDumpIsFound(t *testing.T) {
	t.Parallel()
	_, all := dumped(t)
	for i := range all[1:] { // opening the database finds a damaged header
		s, list := dumped(t)
		want := s.contents(t)
		put(t, s.copy, list[i+1])
		j := s.open(t)
		if err := j.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		if said := j.Notices(); len(said) != 1 || !strings.Contains(said[0], "second copy of the state was damaged") {
			t.Errorf("line %d: said %q", i+1, said)
		}
		_ = j.Close()
		drop(t, s.dir)
		if diff := cmp.Diff(want, s.contents(t)); diff != "" {
			t.Fatalf("line %d: from the copy that was written anew:\n%s", i+1, diff)
		}
	}
}

// TestDamagedDumpIsNotNeeded: a process died between the copy and the commit. The database
// has all that is in the dump, so a damaged line there loses nothing, and the transaction
// that it lacks comes from the copy.
func TestDamagedDumpIsNotNeeded(t *testing.T) {
	t.Parallel()
	s, list := dumped(t)
	old := keep(t, s.db())
	j := s.open(t)
	update(t, j, func(tx *journal.Tx) error { return tx.PutRecord(numbered(200)) })
	_ = j.Close()
	want := s.contents(t)
	all := keep(t, s.copy)
	put(t, s.copy, append(bytes.Clone(list[1]), all[len(list[1]):]...))
	drop(t, s.db()+"-wal", s.db()+"-shm")
	put(t, s.db(), old)
	j = s.open(t)
	if said := j.Notices(); len(said) != 0 {
		t.Errorf("said %q", said)
	}
	_ = j.Close()
	for _, lose := range []string{"nothing", "the database"} {
		if diff := cmp.Diff(want, s.contents(t)); diff != "" {
			t.Errorf("%s lost:\n%s", lose, diff)
		}
		drop(t, s.dir)
	}
}

// TestDamagedDumpBesideADamagedRow: the database has a row that cannot be read, and the copy
// a damaged line. The copy may still have the row, so it is kept.
func TestDamagedDumpBesideADamagedRow(t *testing.T) {
	t.Parallel()
	s, list := dumped(t)
	damaged := list[len(list)-1]
	s.damageRow(t, "workspaces", "record", string(numbered(7).Workspace.ID))
	put(t, s.copy, damaged)
	j := s.open(t)
	if err := j.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if aside := s.setAside(t); len(aside) != 0 {
		t.Errorf("databases set aside: %v", aside)
	}
	wantAside(t, s, damaged)
	if records, err := j.Records(t.Context(), "repo"); err != nil || len(records) != 99 {
		t.Errorf("%d records, %v", len(records), err)
	}
}
