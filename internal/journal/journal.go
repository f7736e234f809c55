// Package journal is the durable state of one host: which workspaces there
// are, what is being done right now, who holds leases, and what happened. It
// is one SQLite database that many processes write at once.
//
// An operation is written down before it has an effect and ended after it, so
// that whoever comes after a crash finds what was begun. Nothing here is the
// only copy of anybody's work: records also hang on refs in their repository,
// and the database can be rebuilt from those.
package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/croft-sh/croft/internal/flock"
)

// FileName is the database's name in the state directory.
const FileName = "croft.db"

// busyTimeout is how long a writer waits for its turn. Writes are short; the
// time is for sixty processes that all start at once.
const busyTimeout = 30 * time.Second

// ErrCorrupt says that the file is not a database that can be read.
var ErrCorrupt = errors.New("the state database is damaged")

// ErrBusy says that others wrote for longer than anybody should wait.
var ErrBusy = errors.New("the state database is busy")

// Journal is an open database.
type Journal struct {
	db   *sql.DB
	path string
}

// Open opens the database in a directory and makes it if it is not there. A
// damaged one is ErrCorrupt; [SetAside] makes room for a new one.
func Open(ctx context.Context, dir string) (*Journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, FileName)
	q := url.Values{"_pragma": {
		fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()), "synchronous(FULL)",
	}, "_txlock": {"immediate"}}
	dsn := (&url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: q.Encode()}).String()
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(4)
	j := &Journal{db: db, path: path}
	if err := patiently(ctx, func() error { return j.migrate(ctx) }); err != nil {
		_ = db.Close()
		return nil, explain(ctx, err)
	}
	return j, nil
}

// Close closes the database.
func (j *Journal) Close() error { return j.db.Close() }

// Path is the database's file.
func (j *Journal) Path() string { return j.path }

// SetAside renames a damaged database, with its log files, and returns the
// new name.
func SetAside(dir string, now time.Time) (string, error) {
	path := filepath.Join(dir, FileName)
	aside := fmt.Sprintf("%s.damaged-%d", path, now.UnixNano())
	if err := os.Rename(path, aside); err != nil {
		return "", err
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Rename(path+suffix, aside+suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return aside, err
		}
	}
	return aside, nil
}

// explain gives the failures that callers tell apart a name. A transaction
// whose context ended fails in several ways, depending on where it was.
func explain(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fmt.Errorf("%w: %w", ErrBusy, err)
	}
	return err
}

// migrations bring the database from one version to the next. A migration is
// never changed once it was released.
var migrations = []string{schema1}

func (j *Journal) migrate(ctx context.Context) error {
	var have int
	if err := j.db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil {
		return err
	}
	if have > len(migrations) {
		return fmt.Errorf("the state database is of a later version of Croft (%d, this one knows %d)", have, len(migrations))
	}
	if have == len(migrations) {
		return nil
	}
	// Of many processes that start at once, one makes the database.
	l, err := flock.Acquire(ctx, j.path+".lock")
	if err != nil {
		return err
	}
	defer l.Unlock()
	if err := j.useWAL(ctx); err != nil {
		return err
	}
	return j.Update(ctx, func(tx *Tx) error {
		// Another process may have been faster.
		if err := tx.tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil {
			return err
		}
		for v := have; v < len(migrations); v++ {
			for stmt := range strings.SplitSeq(migrations[v], ";\n") {
				if _, err := tx.tx.ExecContext(ctx, stmt); err != nil {
					return err
				}
			}
		}
		_, err := tx.tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", len(migrations)))
		return err
	})
}

// useWAL sets the mode in which readers and a writer do not wait for each
// other. The file remembers it. SQLite does not wait for those who are reading
// just then, but says that it is busy, so this waits.
func (j *Journal) useWAL(ctx context.Context) error {
	return patiently(ctx, func() error {
		_, err := j.db.ExecContext(ctx, "PRAGMA journal_mode = WAL")
		return err
	})
}

// patiently repeats what SQLite refuses at once because others are making,
// converting or closing the database just then.
func patiently(ctx context.Context, f func() error) error {
	deadline := time.Now().Add(busyTimeout)
	for {
		err := f()
		if !errors.Is(explain(ctx, err), ErrBusy) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Tx is one transaction.
type Tx struct {
	ctx context.Context
	tx  *sql.Tx
}

// Update runs a transaction that writes. What f did is durable when Update
// returns nil, and never happened otherwise.
func (j *Journal) Update(ctx context.Context, f func(*Tx) error) error {
	tx, err := j.db.BeginTx(ctx, nil)
	if err != nil {
		return explain(ctx, err)
	}
	if err := f(&Tx{ctx, tx}); err != nil {
		_ = tx.Rollback()
		return explain(ctx, err)
	}
	return explain(ctx, tx.Commit())
}

// querier is what a transaction and the database have in common.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// collect reads all rows of a query.
func collect[T any](ctx context.Context, q querier, scan func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, explain(ctx, err)
	}
	defer rows.Close()
	var out []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, explain(ctx, rows.Err())
}
