// Package journal is the durable state of one host: which workspaces there
// are, what is being done right now, who holds leases, and what happened. It
// is one SQLite database that many processes write at once.
//
// An operation is written down before it has an effect and ended after it, so
// that the next process finds what was begun before a crash. What the host needs to
// decide (which repository this is, which workspaces there are, what may be
// deleted) is here alone, because whatever lies in a repository can be written by
// the agents that work on it. So there is a second copy, a file in another
// directory that each transaction is appended to, from which a database that was
// lost, damaged or replaced by an older one is made again as soon as it is opened.
package journal

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/journal/txlog"
)

// FileName is the database's name in the state directory.
const FileName = "croft.db"

// busyTimeout is how long a writer waits for its turn. Writes are short; the
// time is for sixty processes that all start at once.
const busyTimeout = 30 * time.Second

// busySlice is how long SQLite itself waits: it does not notice meanwhile that
// the caller has given up.
const busySlice = 100 * time.Millisecond

// ErrCorrupt says that the file is not a database that can be read.
var ErrCorrupt = errors.New("the state database is damaged")

// ErrClosed says that the journal was closed.
var ErrClosed = errors.New("the state database was closed")

// ErrBusy says that other processes wrote for longer than busyTimeout.
var ErrBusy = errors.New("the state database is busy")

// Options say what a journal tells its user.
type Options struct {
	// Copy is the file of the second copy. Empty: there is none.
	Copy string
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// CopyWait is how long a process waits until the others let it write the second
	// copy anew; if they do not, the next one tries. Default: a second.
	CopyWait time.Duration
}

// Journal is an open database.
type Journal struct {
	path string
	opts Options
	copy *txlog.Log // nil: there is none

	mu      sync.RWMutex
	db      *sql.DB
	file    os.FileInfo // what db has open
	aside   []string    // damaged databases that were set aside
	retired []*sql.DB   // of files that are not at the path any more
	closed  bool

	// turn is held by the goroutine that writes. Goroutines get it in the order in which
	// they block on it, which SQLite does not promise, and one that waits holds no
	// connection that others could read with.
	turn chan struct{}

	watchers watchers

	noticesMu sync.Mutex
	notices   []string
}

// Open opens the database in a directory and makes it if it is not there. A
// damaged one is set aside, and a new one takes its place.
func Open(ctx context.Context, dir string, opts Options) (*Journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	j := &Journal{path: filepath.Join(dir, FileName), opts: opts, turn: make(chan struct{}, 1)}
	if opts.Copy != "" {
		j.copy = txlog.New(opts.Copy)
	}
	if err := j.refuseNewer(); err != nil {
		return nil, err
	}
	var err error
	j.db, j.file, err = connect(ctx, j.path, lockToMake)
	if err == nil {
		err = j.reconcile(ctx, j.db, j.file, lockToMake)
	}
	if errors.Is(err, ErrCorrupt) || errors.Is(err, ErrOld) || errors.Is(err, errMoved) {
		err = j.replace(ctx, j.file, err)
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
	return j.closeFiles()
}

// closeFiles is Close for a caller that holds mu.
func (j *Journal) closeFiles() error {
	j.closed = true
	errs := []error{j.db.Close()}
	for _, db := range j.retired {
		errs = append(errs, db.Close())
	}
	j.retired = nil
	if j.copy != nil {
		j.copy.Close()
	}
	return errors.Join(errs...)
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
	if e.Code() == sqlite3.SQLITE_IOERR_DELETE_NOENT { // another process sets the database aside just now
		return fmt.Errorf("%w: %w", ErrBusy, err)
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

// retryBusy repeats what SQLite refuses at once because others are making,
// converting or closing the database just then.
func retryBusy(ctx context.Context, f func() error) error {
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

	changes []txlog.Statement // for the second copy
}

// beginTx begins a transaction that writes, when it is its turn.
func beginTx(ctx context.Context, db *sql.DB) (*Tx, error) {
	t := &Tx{ctx: ctx, prepared: map[string]*sql.Stmt{}}
	err := retryBusy(ctx, func() (err error) {
		t.tx, err = db.BeginTx(ctx, nil)
		return err
	})
	return t, err
}

// inWriteTx runs f in a transaction that keeps other connections from writing.
func inWriteTx(ctx context.Context, db *sql.DB, f func(*Tx) error) error {
	t, err := beginTx(ctx, db)
	if err != nil {
		return err
	}
	if err := f(t); err != nil {
		_ = t.tx.Rollback()
		return err
	}
	return t.tx.Commit()
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
	return s, explain(t.ctx, err)
}

func (t *Tx) exec(query string, args ...any) (sql.Result, error) {
	s, err := t.prepare(query)
	if err != nil {
		return nil, err
	}
	change, err := txlog.NewStatement(query, args...)
	if err != nil {
		return nil, err
	}
	t.changes = append(t.changes, change)
	res, err := s.ExecContext(t.ctx, change.Values()...)
	return res, explain(t.ctx, err)
}

// QueryContext runs a query in the transaction.
func (t *Tx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	s, err := t.prepare(query)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(ctx, args...)
}

// Update runs a transaction that writes. The changes that f made are durable when Update
// returns nil, and are rolled back otherwise. f may be called again, on another
// database, if this one turns out to be damaged or gone.
func (j *Journal) Update(ctx context.Context, f func(*Tx) error) error {
	select {
	case j.turn <- struct{}{}:
		defer func() { <-j.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	return j.with(ctx, func(db *sql.DB, file os.FileInfo) error {
		behind, err := j.update(ctx, db, file, f)
		j.watchers.wake()
		if err == nil && j.copy != nil {
			j.mendCopy(ctx, db, file, behind)
		}
		return err
	})
}

// update runs one transaction on a database, and appends it to the second copy.
// It reports whether the transaction could not be appended. The shared lock keeps other
// processes from making another database from the copy meanwhile: a transaction that was
// appended is in the next database, even if this one was deleted before the commit.
func (j *Journal) update(ctx context.Context, db *sql.DB, file os.FileInfo, f func(*Tx) error) (behind bool, err error) {
	l, err := acquireLock(ctx, j.path, flock.AcquireShared)
	if err != nil {
		return false, err
	}
	defer l.Unlock()
	if j.isGone(file) {
		return false, errMoved
	}
	t, err := beginTx(ctx, db)
	if err != nil {
		return false, err
	}
	if err = f(t); err != nil {
		_ = t.tx.Rollback()
		return false, err
	}
	var line *txlog.Appended
	synced := make(chan error, 1)
	if j.copy != nil && len(t.changes) > 0 {
		line, err = j.appendCopy(t)
		if errors.Is(err, txlog.ErrOtherFile) { // another database has taken the place of this one
			_ = t.tx.Rollback()
			return false, errMoved
		}
		behind = err != nil
	}
	if line != nil {
		go func() { synced <- line.Sync() }() // both wait for the disk at once
	} else {
		synced <- nil
	}
	failpoint.Commit("journal.commit")
	err = t.tx.Commit()
	failpoint.Commit("journal.committed")
	behind = <-synced != nil || behind
	switch {
	case err != nil && line != nil:
		j.retractFromCopy(db, line)
	case err == nil && line == nil && j.isGone(file):
		err = errMoved // it was committed to a file that is not at the path any more
	}
	return behind, err
}

// notice notes a sentence, unless it is empty.
func (j *Journal) notice(text string) {
	j.noticesMu.Lock()
	defer j.noticesMu.Unlock()
	if text != "" && !slices.Contains(j.notices, text) {
		j.notices = append(j.notices, text)
	}
}

// Notices are sentences that a user should read: what was lost and came back.
func (j *Journal) Notices() []string {
	j.noticesMu.Lock()
	defer j.noticesMu.Unlock()
	return slices.Clone(j.notices)
}

// asJSON is a value that a column has as JSON, to write it or to read it into a pointer.
type asJSON struct{ v any }

// Value writes the value.
func (a asJSON) Value() (driver.Value, error) {
	b, err := json.Marshal(a.v)
	return string(b), err
}

// Scan reads a column. It fails with ErrCorrupt if the column is not JSON of that type.
func (a asJSON) Scan(column any) error {
	text, _ := column.(string)
	if err := json.Unmarshal([]byte(text), a.v); err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return nil
}

// scanJSON reads a row of one column with JSON.
func scanJSON[T any](rows *sql.Rows) (v T, err error) { return v, rows.Scan(asJSON{&v}) }

// querier is what a transaction and the database have in common.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// read reads all rows of a query outside any transaction.
func read[T any](ctx context.Context, j *Journal, scan func(*sql.Rows) (T, error), query string, args ...any) (list []T, err error) {
	err = j.with(ctx, func(db *sql.DB, _ os.FileInfo) (err error) {
		return retryBusy(ctx, func() error {
			list, err = collect(ctx, db, scan, query, args...)
			return err
		})
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
