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
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/croft-sh/croft/internal/failpoint"
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

// Options say what a journal tells its user.
type Options struct {
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// Journal is an open database.
type Journal struct {
	path string
	opts Options

	mu      sync.RWMutex
	db      *sql.DB
	file    os.FileInfo // what db has open
	aside   []string    // damaged databases that were set aside
	retired []*sql.DB   // of files that are not at the path any more
}

// Open opens the database in a directory and makes it if it is not there. A
// damaged one is set aside, and a new one takes its place.
func Open(ctx context.Context, dir string) (*Journal, error) {
	return OpenWith(ctx, dir, Options{})
}

// OpenWith is Open, with options.
func OpenWith(ctx context.Context, dir string, opts Options) (*Journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	j := &Journal{path: filepath.Join(dir, FileName), opts: opts}
	var err error
	j.db, j.file, err = connect(ctx, j.path, lockToMake)
	if errors.Is(err, ErrCorrupt) || errors.Is(err, ErrOld) {
		err = j.replace(ctx, j.file)
	}
	if err != nil {
		return nil, explain(ctx, err)
	}
	return j, nil
}

// Close closes the database.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	errs := []error{j.db.Close()}
	for _, db := range j.retired {
		errs = append(errs, db.Close())
	}
	j.retired = nil
	return errors.Join(errs...)
}

// Path is the database's file.
func (j *Journal) Path() string { return j.path }

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
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("%w: %w", syscall.ENOSPC, err)
	case sqlite3.SQLITE_IOERR:
		return fmt.Errorf("%w: %w", syscall.EIO, err)
	}
	return err
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

	// prepared are the statements that it has used. To parse one takes longer
	// than to run it, and a batch of merges runs each many times.
	prepared map[string]*sql.Stmt
}

// prepare parses a statement, once for each transaction.
func (t *Tx) prepare(query string) (*sql.Stmt, error) {
	if s := t.prepared[query]; s != nil {
		return s, nil
	}
	s, err := t.tx.PrepareContext(t.ctx, query)
	if err == nil {
		t.prepared[query] = s
	}
	return s, err
}

func (t *Tx) exec(query string, args ...any) (sql.Result, error) {
	s, err := t.prepare(query)
	if err != nil {
		return nil, err
	}
	return s.ExecContext(t.ctx, args...)
}

// QueryContext runs a query in the transaction.
func (t *Tx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	s, err := t.prepare(query)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(ctx, args...)
}

// row runs a query that has one row.
func (t *Tx) row(query string, args ...any) interface{ Scan(...any) error } {
	s, err := t.prepare(query)
	if err != nil {
		return failedRow{err}
	}
	return s.QueryRowContext(t.ctx, args...)
}

// failedRow is the row of a query that could not be asked.
type failedRow struct{ err error }

// Scan says why.
func (r failedRow) Scan(...any) error { return r.err }

// Update runs a transaction that writes. What f did is durable when Update
// returns nil, and never happened otherwise. f may be called again, on another
// database, if this one turns out to be damaged or gone.
func (j *Journal) Update(ctx context.Context, f func(*Tx) error) error {
	return j.with(ctx, func(db *sql.DB, file os.FileInfo) error {
		err := update(ctx, db, f)
		if err == nil && j.isGone(file) {
			return errMoved // it was written where nobody will read it
		}
		return err
	})
}

func update(ctx context.Context, db *sql.DB, f func(*Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(&Tx{ctx: ctx, tx: tx, prepared: map[string]*sql.Stmt{}}); err != nil {
		_ = tx.Rollback()
		return err
	}
	failpoint.Commit("journal.commit")
	err = tx.Commit()
	failpoint.Commit("journal.committed")
	return err
}

// querier is what a transaction and the database have in common.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// read reads all rows of a query outside any transaction.
func read[T any](ctx context.Context, j *Journal, scan func(*sql.Rows) (T, error), query string, args ...any) (list []T, err error) {
	err = j.with(ctx, func(db *sql.DB, _ os.FileInfo) (err error) {
		list, err = collect(ctx, db, scan, query, args...)
		return err
	})
	return list, err
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
