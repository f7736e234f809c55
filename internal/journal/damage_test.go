package journal_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
)

// damageRow makes one column of one row unreadable.
func (s state) damageRow(t testing.TB, table, column, id string) {
	t.Helper()
	db, err := sql.Open("sqlite", s.db())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	res, err := db.Exec(fmt.Sprintf(`UPDATE %s SET %s = '{"x":' WHERE id = ?`, table, column), id)
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := res.RowsAffected(); n != 1 {
		t.Fatalf("%d rows of %s are damaged, want 1", n, table)
	}
}

func (s state) setAside(t testing.TB) []string {
	t.Helper()
	list, err := journal.Damaged(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// fillMore is fill with two of each row that holds JSON.
func (s state) fillMore(t testing.TB) {
	t.Helper()
	s.fill(t)
	j := s.open(t)
	defer j.Close()
	update(t, j, func(tx *journal.Tx) error {
		return errors.Join(
			tx.PutMerge(&journal.Merge{Merge: croft.Merge{RepoID: "repo", ID: "m2", Target: "main", State: croft.MergeQueued}}),
			tx.PutSession(&journal.Session{Session: croft.Session{RepoID: "repo", ID: "s", Name: "s", State: croft.SessionOpen}}),
			tx.PutSession(&journal.Session{Session: croft.Session{RepoID: "repo", ID: "s2", Name: "s2", State: croft.SessionOpen}}),
			tx.Begin(journal.Operation{ID: "op2", Act: "op2", Kind: "remove", Repo: "repo"}))
	})
}

// counts is the number of rows in the lists.
func (s state) counts(t testing.TB, j *journal.Journal) map[string]int {
	t.Helper()
	ctx := t.Context()
	records, err := j.Records(ctx, "repo")
	merges, merr := j.Waiting(ctx, "repo", "", -1)
	sessions, serr := j.Sessions(ctx, "repo")
	ops, oerr := j.Running(ctx)
	_, perr := j.LastMerges(ctx, "repo")
	_, ferr := j.MergesPendingFor(ctx, "repo", croft.Conflict)
	_, nerr := j.MergesNamed(ctx, "repo", "a")
	if err := errors.Join(err, merr, serr, oerr, perr, ferr, nerr); err != nil {
		t.Fatal(err)
	}
	update(t, j, func(tx *journal.Tx) error {
		waiting, err := tx.Waiting("repo", "", -1)
		if len(waiting) != len(merges) {
			t.Errorf("a transaction sees %d merges, want %d", len(waiting), len(merges))
		}
		_, rerr := tx.RunningOn("remove", "w")
		if errors.Is(rerr, journal.ErrNotFound) {
			rerr = nil
		}
		return errors.Join(err, rerr, tx.Emit(event("written")))
	})
	return map[string]int{"workspaces": len(records), "merges": len(merges), "sessions": len(sessions), "operations": len(ops)}
}

var damagedRows = []struct {
	table, column, id string
	find              func(t testing.TB, j *journal.Journal) error
}{
	{"workspaces", "record", string(numbered(7).Workspace.ID), func(t testing.TB, j *journal.Journal) error {
		_, err := j.Record(t.Context(), numbered(7).Workspace.ID)
		return err
	}},
	{"merges", "merge", "m", func(t testing.TB, j *journal.Journal) error {
		_, err := j.Merge(t.Context(), "m")
		return err
	}},
	{"sessions", "session", "s", func(t testing.TB, j *journal.Journal) error {
		_, err := j.Session(t.Context(), "s")
		return err
	}},
	{"operations", "workspaces", "op", func(t testing.TB, j *journal.Journal) error {
		_, err := j.Operation(t.Context(), "op")
		return err
	}},
	{"operations", "input", "op", func(t testing.TB, j *journal.Journal) error {
		_, err := j.Act(t.Context(), "op")
		return err
	}},
}

// TestDamagedRowIsOneRow: a row that cannot be read, and that the second copy does not have
// either, is the only one that is missing. A call that needs it names it, and only the row
// is set aside, when a caller asks for that.
func TestDamagedRowIsOneRow(t *testing.T) {
	t.Parallel()
	copies := map[string]func(t *testing.T, s state){
		"CopyUnreadable": func(t *testing.T, s state) {
			drop(t, filepath.Dir(s.copy))
			put(t, filepath.Dir(s.copy), nil)
		},
		"CopyOfTheDamage": func(t *testing.T, s state) { drop(t, s.copy) },
	}
	for name, loseCopy := range copies {
		for _, row := range damagedRows {
			t.Run(name+"/"+row.table+"."+row.column, func(t *testing.T) {
				t.Parallel()
				s := newState(t)
				s.fillMore(t)
				j := s.open(t)
				want := s.counts(t, j)
				_ = j.Close()
				loseCopy(t, s)
				s.damageRow(t, row.table, row.column, row.id)

				j = s.open(t)
				want[row.table]--
				for range 2 {
					if got := s.counts(t, j); fmt.Sprint(got) != fmt.Sprint(want) {
						t.Fatalf("the lists have %v, want %v", got, want)
					}
				}
				err := row.find(t, j)
				bad, ok := errors.AsType[*journal.RowError](err)
				if !ok || bad.Table != row.table || bad.Key != row.id {
					t.Fatalf("%v, want an error about %s in %s", err, row.id, row.table)
				}
				if notices := strings.Join(j.Notices(), "\n"); !strings.Contains(notices, "table "+row.table+", key "+row.id) {
					t.Errorf("the notices do not name the row: %s", notices)
				}
				if err := j.RequireReadable(t.Context(), "repo"); !errors.As(err, &bad) {
					t.Errorf("RequireReadable = %v, want an error", err)
				}
				if err := j.Check(t.Context()); err != nil {
					t.Error(err)
				}
				if aside := s.setAside(t); len(aside) != 0 {
					t.Fatalf("set aside: %q", aside)
				}

				path, err := j.SetRowAside(t.Context(), bad)
				if err != nil {
					t.Fatal(err)
				}
				if text := string(keep(t, path)); !strings.Contains(text, row.id) {
					t.Errorf("%s has %q", path, text)
				}
				if !slices.Contains(j.Files(), path) {
					t.Errorf("%s is none of the state's files", path)
				}
				if err := row.find(t, j); errors.As(err, &bad) {
					t.Errorf("after the row was set aside: %v", err)
				}
				if err := j.RequireReadable(t.Context(), "repo"); err != nil {
					t.Error(err)
				}
				if got := s.counts(t, j); fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("then the lists have %v, want %v", got, want)
				}
			})
		}
	}
}

// TestDamagedRowComesFromTheCopy: a row that the second copy has is read from there, and
// the database that was set aside has nothing that the new one lacks.
func TestDamagedRowComesFromTheCopy(t *testing.T) {
	t.Parallel()
	for _, row := range damagedRows {
		t.Run(row.table+"."+row.column, func(t *testing.T) {
			t.Parallel()
			s := newState(t)
			s.fillMore(t)
			s.damageRow(t, row.table, row.column, row.id)
			j := s.open(t)
			if err := row.find(t, j); err != nil {
				t.Fatal(err)
			}
			if err := j.RequireReadable(t.Context(), "repo"); err != nil {
				t.Error(err)
			}
			aside := s.setAside(t)
			if len(aside) != 1 {
				t.Fatalf("set aside: %q", aside)
			}
			if n, err := j.Lacking(t.Context(), aside[0]); n != 0 || err != nil {
				t.Errorf("Lacking = %d, %v, want 0", n, err)
			}
		})
	}
}

// TestLacking: a database that was set aside when its second copy was lost has records that
// the new one lacks, and Lacking says so.
func TestLacking(t *testing.T) {
	t.Parallel()
	s := newState(t)
	s.fill(t)
	aside := s.db() + ".damaged-1"
	if err := os.Rename(s.db(), aside); err != nil {
		t.Fatal(err)
	}
	drop(t, s.copy)
	j := s.open(t)
	if n, err := j.Lacking(t.Context(), aside); n != 101 || err != nil {
		t.Errorf("Lacking = %d, %v, want 100 workspaces and a merge", n, err)
	}
	put(t, aside, []byte("noise, and enough of it that it is not taken for an empty database"))
	if n, err := j.Lacking(t.Context(), aside); err == nil {
		t.Errorf("Lacking of noise = %d, want an error", n)
	}
}

// TestDamagedRowLeavesItsPins: the refs of a workspace whose row is set aside belong to no
// pin, so that they are not deleted and an import finds them.
func TestDamagedRowLeavesItsPins(t *testing.T) {
	t.Parallel()
	s := newState(t)
	s.fill(t)
	id := numbered(7).Workspace.ID
	j := s.open(t)
	update(t, j, func(tx *journal.Tx) error {
		return tx.PutPin("repo", journal.Pin{Ref: "refs/croft/archive/" + string(id) + "/head", OID: "abc"})
	})
	_ = j.Close()
	drop(t, s.copy)
	s.damageRow(t, "workspaces", "record", string(id))
	j = s.open(t)
	if _, err := j.SetRowAside(t.Context(), &journal.RowError{Table: "workspaces", Key: string(id)}); err != nil {
		t.Fatal(err)
	}
	pins, err := j.Pins(t.Context(), "repo", "refs/croft/")
	if err != nil || len(pins) != 1 || pins[0].Ref != "refs/croft/snapshot/a/b" {
		t.Errorf("the pins are %v, %v", pins, err)
	}
	if _, err := j.SetRowAside(t.Context(), &journal.RowError{Table: "workspaces", Key: string(numbered(8).Workspace.ID)}); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Record(t.Context(), numbered(8).Workspace.ID); err != nil {
		t.Errorf("a row that can be read was set aside: %v", err)
	}
}

// TestMergeFromBefore: a merge that was recorded when the field workspace had the name is
// read as one of today, and found by that name.
func TestMergeFromBefore(t *testing.T) {
	s := newState(t)
	j := s.open(t)
	put := journal.Merge{Merge: croft.Merge{RepoID: "repo", ID: "m", Workspace: "w", WorkspaceName: "a", Target: "main", State: croft.MergeQueued}}
	if err := j.Update(t.Context(), func(tx *journal.Tx) error { return tx.PutMerge(&put) }); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", s.db())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, err = db.Exec(`UPDATE merges SET merge = '{"id":"m","kind":"","workspace":"a","workspaceId":"w","target":"main","state":"queued","repoId":"repo"}'`)
	if err != nil {
		t.Fatal(err)
	}
	named, err := j.MergesNamed(t.Context(), "repo", "a")
	if err != nil || len(named) != 1 {
		t.Fatalf("merges of a = %v, %v", named, err)
	}
	if m := named[0]; m.Workspace != "w" || m.WorkspaceName != "a" || m.RepoID != "repo" || m.OldWorkspaceID != "" {
		t.Errorf("the merge = %+v", m)
	}
}
