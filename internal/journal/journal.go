// Package journal is the durable state of one host: the workspaces, the operations that
// are running, the leases, and the history. It is one SQLite database that many
// processes write at once.
//
// An operation is recorded before it has an effect and ended after it, so that after a
// crash the next process finds what was begun. The facts that Croft decides by (which
// repository this is, which workspaces exist, which files may be deleted) are only
// here, because the agents that work on a repository can write everything in it. So
// there is a second copy, a file in another directory to which each transaction is
// appended. A database that was lost, damaged or replaced by an older one is made again
// from it as soon as it is opened.
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

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/journal/damage"
	"github.com/croft-sh/croft/internal/journal/readonly"
	"github.com/croft-sh/croft/internal/journal/telling"
	"github.com/croft-sh/croft/internal/journal/txlog"
	"github.com/croft-sh/croft/internal/journal/watch"
)

// FileName is the database's name in the state directory.
const FileName = "croft.db"

// busyTimeout is how long a writer waits for its turn. Writes are short; the time is
// for sixty processes that start at once.
const busyTimeout = 30 * time.Second

// busySlice is how long SQLite itself waits. While SQLite waits, it does not notice
// that the caller has given up.
const busySlice = 100 * time.Millisecond

// ErrCorrupt says that the file is not a readable database.
var ErrCorrupt = errors.New("the state database is damaged")

// ErrClosed says that the journal was closed.
var ErrClosed = errors.New("the state database was closed")

// ErrBusy says that other processes wrote for longer than busyTimeout.
var ErrBusy = errors.New("the state database is busy")

// Options are the settings of a journal.
type Options struct {
	// Copy is the file of the second copy. Empty: there is none.
	Copy string
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// Actor returns the name of the actor of a call, and the workspace that it acts from;
	// nil: events have no actor.
	Actor func(ctx context.Context) (name string, workspace croft.ID)
	// CopyWait is how long a process waits for other writers before it writes the
	// second copy anew; after that time it leaves this to the next transaction.
	// Default: a second.
	CopyWait time.Duration
}

// Journal is an open database.
type Journal struct {
	path string
	opts Options
	copy *txlog.Log // nil: there is no second copy

	mu      sync.RWMutex
	db      *sql.DB
	file    os.FileInfo // the file that db has open
	aside   []string    // databases that were set aside
	retired []*sql.DB   // databases whose files are not at the path any more
	closed  bool
	reads   *readonly.Database         // db, if this process may not write it
	readers map[*readonly.Database]int // how many calls read it, and those before it

	// turn is held by the goroutine that writes. Goroutines get it in the order in which
	// they block on it, which SQLite does not promise, and one that waits holds no
	// connection that others could read with.
	turn chan struct{}

	watchers watch.Watchers
	damage   damage.Rows

	noticesMu sync.Mutex
	notices   []string
}

// Open opens the database in a directory, and makes it if there is none. It sets a database
// that is damaged or of an earlier version of Croft aside and makes a new one in its place,
// from the second copy if that is of this version. It fails with ErrNewer if a later version
// wrote the state. A database that this process may not write is opened for reading; then
// ReadOnly says so, and Update fails with ErrReadOnly.
func Open(ctx context.Context, dir string, opts Options) (*Journal, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	j := &Journal{path: filepath.Join(dir, FileName), opts: opts, turn: make(chan struct{}, 1), readers: map[*readonly.Database]int{}}
	j.watchers.Log, j.watchers.Last = j.path+"-wal", func() (any, bool) {
		last := j.lastTransaction()
		return last, last != identity{}
	}
	if opts.Copy != "" {
		j.copy = txlog.New(opts.Copy)
	}
	if err := j.refuseNewer(); err != nil {
		return nil, err
	}
	err := readonly.HiddenError(j.path, opts.Copy)
	if err == nil {
		err = j.openToWrite(ctx, dir)
	}
	if cause := readonly.NoFilesError(err); cause != nil {
		err = fmt.Errorf("%w: %w", cause, err)
	} else if err != nil && readonly.IsUnwritable(err) {
		err = j.openReadOnly(ctx, err)
	}
	if err != nil {
		return nil, explain(ctx, err)
	}
	return j, nil
}

// openToWrite opens the database, and makes it if there is none.
func (j *Journal) openToWrite(ctx context.Context, dir string) error {
	err := os.MkdirAll(dir, 0o700)
	if err != nil {
		return err
	}
	j.db, j.file, err = connect(ctx, j.path, lockToMake)
	if err == nil {
		err = j.reconcile(ctx, j.db, j.file, lockToMake)
	}
	if errors.Is(err, ErrCorrupt) || errors.Is(err, ErrOld) || errors.Is(err, errMoved) {
		err = j.replace(ctx, j.file, err)
	}
	return err
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
	var errs []error
	if j.reads != nil {
		errs = append(errs, j.reads.Close())
	} else {
		errs = append(errs, j.db.Close())
	}
	for _, db := range j.retired {
		errs = append(errs, db.Close())
	}
	j.retired = nil
	for d := range j.readers {
		if d != j.reads {
			errs = append(errs, d.Close())
		}
	}
	if j.copy != nil {
		j.copy.Close()
	}
	return errors.Join(errs...)
}

// explain maps the failures that callers distinguish to errors of this package. A
// transaction whose context ended fails in several ways, depending on where it was.
func explain(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code() { // another process sets the database aside just now
	case sqlite3.SQLITE_IOERR_DELETE_NOENT, sqlite3.SQLITE_IOERR_SHORT_READ, sqlite3.SQLITE_IOERR_IN_PAGE:
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

// retryBusy repeats f while SQLite refuses it because other processes are making,
// converting or closing the database.
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

	// prepared are the statements that the transaction has used. Parsing a statement
	// takes longer than running it, and a batch of merges runs each many times.
	prepared map[string]*sql.Stmt

	changes []txlog.Statement // for the second copy
	damage  *damage.Rows      // the rows that lists leave out; nil: none
	story   *telling.Story    // for the events
}

// Context returns the context of the call that the transaction is of.
func (t *Tx) Context() context.Context { return t.ctx }

// beginTx waits for the write lock of the database and begins a transaction.
func beginTx(ctx context.Context, db *sql.DB) (*Tx, error) {
	t := &Tx{ctx: ctx, prepared: map[string]*sql.Stmt{}, story: telling.New()}
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
	if j.isReadOnly() {
		return ErrReadOnly
	}
	select {
	case j.turn <- struct{}{}:
		defer func() { <-j.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	return j.withDatabase(ctx, func(db *sql.DB, file os.FileInfo) error {
		behind, err := j.update(ctx, db, file, f)
		j.watchers.Wake()
		if err == nil && j.copy != nil {
			j.mendCopy(ctx, db, file, behind)
		}
		return err
	})
}

// update runs one transaction on a database, and appends it to the second copy. behind
// says that the transaction could not be appended. The shared lock keeps other
// processes from making another database from the copy meanwhile: a transaction that
// was appended is in the next database, even if this database was deleted before the
// commit.
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
	t.damage = &j.damage
	if err = f(t); err == nil {
		err = t.writeEvents(j.opts)
	}
	if err != nil {
		_ = t.tx.Rollback()
		return false, err
	}
	var line *txlog.Appended
	synced := make(chan error, 1)
	if j.copy != nil && len(t.changes) > 0 {
		line, err = j.appendCopy(t)
		if errors.Is(err, txlog.ErrOtherFile) { // another database was put in the place of this one
			_ = t.tx.Rollback()
			return false, errMoved
		}
		behind = err != nil
	}
	if line != nil {
		go func() { synced <- line.Sync() }() // the log and the database are synced at the same time
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
		err = errMoved // the transaction was committed to a file that is not at the path any more
	}
	return behind, err
}

// notice adds a sentence to the notices, unless it is empty.
func (j *Journal) notice(text string) {
	j.noticesMu.Lock()
	defer j.noticesMu.Unlock()
	if text != "" && !slices.Contains(j.notices, text) {
		j.notices = append(j.notices, text)
	}
}

// Notices returns sentences that a user should read, about state that was lost or was
// recovered.
func (j *Journal) Notices() []string {
	j.noticesMu.Lock()
	defer j.noticesMu.Unlock()
	return slices.Clone(j.notices)
}

// asJSON is a value that a column holds as JSON: a value to write, or a pointer to read
// into.
type asJSON struct{ v any }

// Value returns the value as JSON.
func (a asJSON) Value() (driver.Value, error) {
	b, err := json.Marshal(a.v)
	return string(b), err
}

// Scan decodes a column. It fails with damage.ErrUnreadable if the column is not JSON of the
// value's type.
func (a asJSON) Scan(column any) error {
	text, _ := column.(string)
	if err := json.Unmarshal([]byte(text), a.v); err != nil {
		return fmt.Errorf("%w: %w", damage.ErrUnreadable, err)
	}
	return nil
}
