//go:build linux

package readonly_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft/internal/journal/readonly"
)

// fileOf returns the file that a database is read from.
func fileOf(t *testing.T, db *sql.DB) (file string) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), `SELECT file FROM pragma_database_list`).Scan(&file); err != nil {
		t.Error(err)
	}
	return file
}

var errNot = errors.New("not this one")

// TestWrittenMeanwhile: a database that is written while it is looked at as a file is opened again.
func TestWrittenMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	if err := write(t, path, 5).Close(); err != nil {
		t.Fatal(err)
	}
	looks := 0
	d, err := readonly.Open(t.Context(), path, func(ctx context.Context, db *sql.DB) error {
		var mode string
		if err := db.QueryRowContext(ctx, `PRAGMA journal_mode`).Scan(&mode); err != nil || mode == "wal" {
			return errNot
		}
		if looks++; looks == 1 {
			return write(t, path, 1).Close()
		}
		return nil
	}, func(error) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var rows int
	if err := d.DB.QueryRowContext(t.Context(), `SELECT count(*) FROM t`).Scan(&rows); err != nil || rows != 6 || d.IsStale() || looks < 2 {
		t.Errorf("%d rows after %d looks, %v", rows, looks, err)
	}
}

// TestCopyIsStale: what is written to the log after it was copied is noticed, and the copy goes with its database.
func TestCopyIsStale(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	at, path := filepath.Join(t.TempDir(), "db"), filepath.Join(t.TempDir(), "db")
	write(t, at, 5)
	copyAs(t, at, path, "", "-wal")
	d, err := readonly.Open(t.Context(), path, func(_ context.Context, db *sql.DB) error {
		if fileOf(t, db) == path {
			return errNot
		}
		return nil
	}, func(error) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	if d.Source != readonly.Copy || d.IsStale() {
		t.Errorf("%+v", d)
	}
	f, err := os.OpenFile(path+"-wal", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString("more")
		err = errors.Join(err, f.Close())
	}
	if err != nil || !d.IsStale() {
		t.Errorf("it is not stale, %v", err)
	}
	if _, err := d.DB.ExecContext(t.Context(), `INSERT INTO t VALUES (1)`); err == nil {
		t.Error("a copy can be written")
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestFinalErrors: an error that no other way of reading changes is returned at once; an empty file is no database, whatever the
// check says.
func TestFinalErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	if err := write(t, path, 1).Close(); err != nil {
		t.Fatal(err)
	}
	looks := 0
	_, err := readonly.Open(t.Context(), path, func(context.Context, *sql.DB) error { looks++; return errNot }, func(err error) bool { return errors.Is(err, errNot) })
	if !errors.Is(err, errNot) || looks != 1 {
		t.Errorf("%d looks, %v", looks, err)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readonly.Open(t.Context(), empty, func(context.Context, *sql.DB) error { return nil }, func(error) bool { return false }); err == nil {
		t.Error("an empty file was opened")
	}
}

// TestIsUnwritable: errors of SQLite that say nothing of rights do not.
func TestIsUnwritable(t *testing.T) {
	db := write(t, filepath.Join(t.TempDir(), "db"), 1)
	exec1(t, db, `PRAGMA max_page_count = 2`)
	exec1(t, db, `PRAGMA query_only = 0`)
	_, full := db.ExecContext(t.Context(), `INSERT INTO t VALUES (zeroblob(100000))`)
	exec1(t, db, `PRAGMA query_only = 1`)
	_, barred := db.ExecContext(t.Context(), `INSERT INTO t VALUES (1)`)
	if full == nil || readonly.IsUnwritable(full) {
		t.Errorf("full: %v", full)
	}
	if barred == nil || !readonly.IsUnwritable(barred) {
		t.Errorf("barred: %v", barred)
	}
}
