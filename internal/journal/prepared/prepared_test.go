package prepared_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/croft-sh/croft/internal/journal/prepared"
)

func open(t *testing.T) *sql.DB {
	t.Helper()
	db, err := prepared.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "test.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	db.SetMaxOpenConns(1)
	return db
}

func mustExec(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func count(t *testing.T, db *sql.DB, query string, args ...any) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

func TestStatementsAreRunAgain(t *testing.T) {
	db := open(t)
	mustExec(t, db, `CREATE TABLE t (n INTEGER)`)
	for i := range 10 {
		mustExec(t, db, `INSERT INTO t VALUES (?)`, i)
		if got := count(t, db, `SELECT count(*) FROM t WHERE n <= ?`, i); got != i+1 {
			t.Fatalf("after row %d: %d rows", i, got)
		}
	}
}

// A statement whose rows are still being read is not run again at the same time.
func TestSameStatementTwiceAtOnce(t *testing.T) {
	db := open(t)
	mustExec(t, db, `CREATE TABLE t (n INTEGER)`)
	mustExec(t, db, `INSERT INTO t VALUES (1), (2), (3)`)
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback() //nolint:errcheck // nothing was written
	var pairs int
	outer, err := tx.QueryContext(t.Context(), `SELECT n FROM t`)
	if err != nil {
		t.Fatal(err)
	}
	defer outer.Close()
	for outer.Next() {
		inner, err := tx.QueryContext(t.Context(), `SELECT n FROM t`)
		if err != nil {
			t.Fatal(err)
		}
		for inner.Next() {
			pairs++
		}
		if err := inner.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := outer.Err(); err != nil || pairs != 9 {
		t.Errorf("%d pairs, want 9: %v", pairs, err)
	}
}

// A cached statement holds no lock: another connection can write, and its changes are seen,
// also if it changed the schema.
func TestKeptStatementsHoldNothing(t *testing.T) {
	db := open(t)
	mustExec(t, db, `CREATE TABLE t (n INTEGER)`)
	var path string
	if err := db.QueryRowContext(t.Context(), `SELECT file FROM pragma_database_list`).Scan(&path); err != nil {
		t.Fatal(err)
	}
	other, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if got := count(t, db, `SELECT count(*) FROM t`); got != 0 {
		t.Fatalf("%d rows", got)
	}
	if _, err := db.ExecContext(t.Context(), `INSERT INTO t VALUES (?, ?)`, 1, 2); err == nil {
		t.Fatal("two values for one column were inserted")
	}
	mustExec(t, other, `INSERT INTO t VALUES (1)`)
	mustExec(t, other, `ALTER TABLE t ADD COLUMN m INTEGER`)
	if got := count(t, db, `SELECT count(*) FROM t`); got != 1 {
		t.Errorf("%d rows, want the one of the other connection", got)
	}
	mustExec(t, db, `INSERT INTO t VALUES (?, ?)`, 1, 2)
}

func TestManyStatements(t *testing.T) {
	db := open(t)
	for i := range 500 {
		if got := count(t, db, fmt.Sprintf(`SELECT %d`, i)); got != i {
			t.Fatalf("%d: %d", i, got)
		}
	}
}
