//go:build linux

package readonly_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/croft-sh/croft/internal/journal/readonly"
	"github.com/croft-sh/croft/internal/sandboxtest"
)

// answer is what a process in a sandbox has read.
type answer struct {
	Source readonly.Source
	AsOf   time.Time
	Rows   int
	Error  string
}

// TestMain is also the process in the sandbox: it reads the database that a variable names.
func TestMain(m *testing.M) {
	path := os.Getenv("CROFT_TEST_DATABASE")
	if path == "" {
		os.Exit(m.Run())
	}
	var a answer
	d, err := readonly.Open(context.Background(), path, check, func(error) bool { return false })
	if err == nil {
		a.Source, a.AsOf = d.Source, d.AsOf
		err = d.DB.QueryRowContext(context.Background(), `SELECT count(*) FROM t`).Scan(&a.Rows)
		err = errors.Join(err, d.Close())
	}
	if err != nil {
		a.Error = err.Error()
	}
	if err := json.NewEncoder(os.Stdout).Encode(a); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func check(ctx context.Context, db *sql.DB) error {
	var n int
	return db.QueryRowContext(ctx, `SELECT count(*) FROM t`).Scan(&n)
}

// inSandbox reads a database in a process that may read its directory and not write it.
func inSandbox(t *testing.T, path string) answer {
	t.Helper()
	sandboxtest.Require(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tmp, dir := t.TempDir(), filepath.Dir(path)
	//nolint:gosec // the arguments are the test's own
	cmd := exec.CommandContext(ctx, "bwrap", "--dev-bind", "/", "/", "--ro-bind", dir, dir, "--die-with-parent", os.Args[0])
	cmd.Env = append(os.Environ(), "CROFT_TEST_DATABASE="+path, "TMPDIR="+tmp)
	out, err := cmd.Output()
	var a answer
	if err = errors.Join(err, json.Unmarshal(out, &a)); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left in TMPDIR: %v %v", left, err)
	}
	return a
}

// write makes a database with a log, and returns it open with some rows.
func write(t *testing.T, path string, rows int) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=wal_autocheckpoint(0)")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	exec1(t, db, `CREATE TABLE IF NOT EXISTS t (n)`)
	exec1(t, db, `PRAGMA wal_checkpoint(TRUNCATE)`)
	for range rows {
		exec1(t, db, `INSERT INTO t VALUES (1)`)
	}
	return db
}

func exec1(t *testing.T, db *sql.DB, query string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// copyAs copies the files of a database that is open, as a killed process leaves them.
func copyAs(t *testing.T, from, to string, suffixes ...string) {
	t.Helper()
	for _, suffix := range suffixes {
		text, err := os.ReadFile(from + suffix)
		if err == nil {
			err = os.WriteFile(to+suffix, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestSources: all rows are read in every state in which the files of a database can be.
func TestSources(t *testing.T) {
	for _, row := range []struct {
		name string
		make func(t *testing.T, path string)
		want answer
	}{
		{"a writer is at work", func(t *testing.T, path string) { write(t, path, 5) }, answer{Source: readonly.Live, Rows: 5}},
		{"a writer was killed", func(t *testing.T, path string) {
			at := filepath.Join(t.TempDir(), "db")
			write(t, at, 5)
			copyAs(t, at, path, "", "-wal", "-shm")
		}, answer{Source: readonly.Live, Rows: 5}},
		{"no log", func(t *testing.T, path string) {
			if err := write(t, path, 5).Close(); err != nil {
				t.Fatal(err)
			}
		}, answer{Source: readonly.File, Rows: 5}},
		{"a log without the file of its locks", func(t *testing.T, path string) {
			at := filepath.Join(t.TempDir(), "db")
			write(t, at, 5)
			copyAs(t, at, path, "", "-wal")
		}, answer{Source: readonly.Copy, Rows: 5}},
	} {
		t.Run(row.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "croft db", "it's.db") // names that a URI has to escape
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			row.make(t, path)
			got := inSandbox(t, path)
			if isDated := !got.AsOf.IsZero(); isDated != (row.want.Source != readonly.Live) {
				t.Errorf("as of %v", got.AsOf)
			}
			if got.AsOf = (time.Time{}); got != row.want {
				t.Errorf("%+v, want %+v", got, row.want)
			}
		})
	}
}

// TestNothingToRead: what is no database is not taken for an empty one.
func TestNothingToRead(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "empty"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "text"), []byte(strings.Repeat("no database\n", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"absent", "empty", "text", "."} {
		if got := inSandbox(t, filepath.Join(dir, name)); got.Error == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestIsStale: a file that was written since it was opened is noticed.
func TestIsStale(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	if err := write(t, path, 5).Close(); err != nil {
		t.Fatal(err)
	}
	isFile := func(ctx context.Context, db *sql.DB) error {
		var mode string
		if err := db.QueryRowContext(ctx, `PRAGMA journal_mode`).Scan(&mode); err != nil || mode == "wal" {
			return errors.New("read as a live database")
		}
		return nil
	}
	d, err := readonly.Open(t.Context(), path, isFile, func(error) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if d.Source == readonly.Live || d.IsStale() {
		t.Fatalf("%+v", d)
	}
	if err := write(t, path, 1).Close(); err != nil {
		t.Fatal(err)
	}
	if !d.IsStale() {
		t.Error("it is not stale")
	}
}
