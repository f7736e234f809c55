package journal

import (
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/journal/prepared"
)

// locking says which function takes the lock under which a database is made or
// replaced.
type locking int

const (
	lockToMake locking = iota // the called function takes it
	lockIsHeld                // the caller holds it
)

// acquire takes the lock, unless the caller holds it, and returns the function that
// releases it.
func (l locking) acquire(ctx context.Context, path string) (unlock func(), err error) {
	if l == lockIsHeld {
		return func() {}, nil
	}
	lock, err := acquireLock(ctx, path, flock.Acquire)
	return func() { _ = lock.Unlock() }, err
}

func lockFile(path string) string { return path + ".lock" }

// connect opens the database at a path, makes it if there is none, and checks that it can be
// used. It returns the file that it opened even if that cannot be used.
func connect(ctx context.Context, path string, lock locking) (*sql.DB, os.FileInfo, error) {
	for {
		before, _ := os.Stat(path)
		db, err := connectOnce(ctx, path, lock)
		after, _ := os.Stat(path)
		if before != nil && !isSame(before, after) && ctx.Err() == nil {
			if db != nil { // another process has replaced it meanwhile
				_ = db.Close()
			}
			continue
		}
		return db, after, err
	}
}

func isSame(a, b os.FileInfo) bool { return a != nil && b != nil && os.SameFile(a, b) }

func connectOnce(ctx context.Context, path string, lock locking) (*sql.DB, error) {
	// Only makeFile makes the file: SQLite would make one without the lock, if another
	// process sets the database aside at this moment.
	q := url.Values{"mode": {"rw"}, "_pragma": {
		fmt.Sprintf("busy_timeout(%d)", busySlice.Milliseconds()), "synchronous(FULL)",
		fmt.Sprintf("journal_size_limit(%d)", logLimit),
	}, "_txlock": {"immediate"}}
	if err := makePrivate(ctx, path, lock); err != nil {
		return nil, err
	}
	dsn := (&url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: q.Encode()}).String()
	db, err := prepared.Open("sqlite", dsn, keepLog)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(4)
	db.SetMaxIdleConns(4) // one that is opened reads the schema anew
	err = retryBusy(ctx, func() error { return ensureSchema(ctx, db, path, lock) })
	if err == nil {
		err = retryBusy(ctx, func() error { return probe(ctx, db) })
	}
	if err != nil {
		_ = db.Close()
		return nil, explain(ctx, err)
	}
	return db, nil
}

// logLimit is the size to which SQLite cuts its log when all of it is in the database.
const logLimit = 4 << 20

// keepLog has SQLite keep the two files of its log when the last connection is closed: a
// process that may not write beside the database can read it only with them.
func keepLog(c driver.Conn) error {
	log, ok := c.(sqlite.FileControl)
	if !ok {
		return errors.New("the driver of the database cannot keep its log")
	}
	_, err := log.FileControlPersistWAL("main", 1)
	return err
}

// makePrivate makes the database's file before SQLite does, so that only the user can
// read it. SQLite gives the files that it puts beside the database the same mode.
func makePrivate(ctx context.Context, path string, lock locking) error {
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		if err := makeFile(ctx, path, lock); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Mode().Perm() == 0o600 {
		return err
	}
	return f.Chmod(0o600)
}

// makeFile makes the file of a database that does not exist. SQLite would replay a log
// that a deleted database left, so makeFile deletes the log first. It holds the lock
// while it does so: otherwise it could delete the log of a database that another
// process just made.
func makeFile(ctx context.Context, path string, lock locking) error {
	unlock, err := lock.acquire(ctx, path)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// probe reads the first page of every table. Damage in other pages is found by the
// queries that read them.
func probe(ctx context.Context, db *sql.DB) error {
	var n int
	err := db.QueryRowContext(ctx, `SELECT count(*) FROM (
		SELECT max(rowid) FROM repos UNION ALL SELECT max(rowid) FROM workspaces UNION ALL SELECT max(seq) FROM operations
		UNION ALL SELECT max(rowid) FROM keys UNION ALL SELECT max(rowid) FROM leases UNION ALL SELECT max(seq) FROM merges UNION ALL SELECT max(cursor) FROM events
		UNION ALL SELECT max(seq) FROM sessions UNION ALL SELECT max(rowid) FROM lanes
		UNION ALL SELECT max(rowid) FROM pins UNION ALL SELECT max(rowid) FROM identity)`).Scan(&n)
	var e *sqlite.Error
	if errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_ERROR { // a table does not exist
		err = fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return err
}

// version is the version of the schema. A database with an earlier version is set
// aside.
const version = 10

// ErrOld says that an earlier version of Croft made the database.
var ErrOld = errors.New("the state database is of an earlier version of Croft")

// ErrNewer says that a later version of Croft wrote the state. The state was not
// changed.
var ErrNewer = errors.New("the state is of a later version of Croft")

func newerError(has int) error {
	return fmt.Errorf("%w (%d, this one knows %d)", ErrNewer, has, version)
}

func (t *Tx) makeTables() error {
	for stmt := range strings.SplitSeq(schema, ";\n") {
		if _, err := t.tx.ExecContext(t.ctx, stmt); err != nil {
			return err
		}
	}
	return nil
}

// addIndexes makes the indexes that a database lacks because an earlier Croft of the same version
// made it.
func addIndexes(ctx context.Context, db *sql.DB) error {
	var missing []string
	for stmt := range strings.SplitSeq(schema, ";\n") {
		if stmt = strings.TrimSpace(stmt); strings.HasPrefix(stmt, "CREATE INDEX ") {
			missing = append(missing, strings.Replace(stmt, "CREATE INDEX ", "CREATE INDEX IF NOT EXISTS ", 1))
		}
	}
	var has int
	if err := db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_master WHERE type = 'index' AND sql LIKE 'CREATE INDEX %'`).Scan(&has); err != nil || has >= len(missing) {
		return err
	}
	return inWriteTx(ctx, db, func(t *Tx) error {
		for _, stmt := range missing {
			if _, err := t.tx.ExecContext(ctx, stmt); err != nil {
				return err
			}
		}
		return nil
	})
}

// ensureSchema makes the tables of a new database. It fails with ErrOld or ErrNewer if the
// database is of another version.
func ensureSchema(ctx context.Context, db *sql.DB, path string, lock locking) error {
	var have int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil {
		return err
	}
	switch {
	case have > version:
		return newerError(have)
	case have == version:
		// Without them queries only take longer: a page that cannot be read, or a full disk, is the matter of who meets it.
		_ = addIndexes(ctx, db)
		return ctx.Err()
	case have > 0:
		return ErrOld
	}
	// Of many processes that start at once, one makes the database.
	unlock, err := lock.acquire(ctx, path)
	if err != nil {
		return err
	}
	defer unlock()
	// In this mode readers and a writer do not wait for each other. SQLite stores the
	// mode in the file. It does not wait for connections that are reading meanwhile,
	// but returns that the database is busy.
	err = retryBusy(ctx, func() error {
		_, err := db.ExecContext(ctx, "PRAGMA journal_mode = WAL")
		return err
	})
	if err != nil {
		return err
	}
	return inWriteTx(ctx, db, func(t *Tx) error {
		// Another process may have been faster.
		if err := t.tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil || have == version {
			return err
		}
		if err := t.makeTables(); err != nil {
			return err
		}
		if _, err := t.tx.ExecContext(ctx, `INSERT INTO identity (epoch, file, txn) VALUES (?, ?, 0)`, rand.Text(), rand.Text()); err != nil {
			return err
		}
		_, err := t.tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", version))
		return err
	})
}
