// Package readonly opens a SQLite database that this process may not write, as in the sandbox
// of an agent.
//
// SQLite reads a database with a log while both files of the log are there, because readers and
// writers agree by locks in one of them. Without them the database is read as a file that
// nobody changes, or is copied with its log; that nobody has changed it meanwhile is checked.
package readonly

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/journal/prepared"
)

// Source says what a database is read from.
type Source string

// The sources.
const (
	Live Source = "live" // the database, which others may write meanwhile
	File Source = "file" // the database as a file that nobody writes
	Copy Source = "copy" // a copy of the database and its log
)

// Database is an open database.
type Database struct {
	DB     *sql.DB
	Source Source
	AsOf   time.Time // of a file or a copy: when it was written

	path string
	was  stamp  // of the files that a file or a copy is of
	dir  string // of the copy
}

// busy is how long SQLite waits for a writer that is just making the files of the log.
const busy = 100 * time.Millisecond

// tries is how often a database is opened that changes meanwhile.
const tries = 3

// errChanging says that the files of a database changed while they were read.
var errChanging = errors.New("the database is being written")

// IsUnwritable reports whether an error says that the process may not write. A full disk, or a
// directory that does not exist, does not.
func IsUnwritable(err error) bool {
	if errors.Is(err, os.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return true
	}
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code()&0xff == sqlite3.SQLITE_READONLY || e.Code()&0xff == sqlite3.SQLITE_CANTOPEN)
}

// HiddenError returns an error if the database is not there and its second copy, if it has one, cannot be written: a
// sandbox hides the state behind an empty directory. A database that was made there would be another one, and go with
// the sandbox.
func HiddenError(path, second string) error {
	if _, err := os.Stat(path); second == "" || !errors.Is(err, os.ErrNotExist) {
		return nil
	}
	f, err := os.OpenFile(second, os.O_RDWR|os.O_APPEND, 0)
	if err == nil {
		return f.Close()
	}
	if !IsUnwritable(err) {
		return nil
	}
	return fmt.Errorf("there is no database, and its second copy cannot be written: %w", err)
}

// maxFiles is how many files SQLite opens for a connection: the database, both files of its log,
// and one that it may need meanwhile.
const maxFiles = 4

// NoFilesError returns the error of the system if SQLite failed to open a file because this
// process, or all of them together, may open no more: SQLite says of that what it says of a file
// that may not be opened. Otherwise it returns nil. It opens as many files as SQLite does, so
// files that others closed since SQLite failed can make it miss the cause.
func NoFilesError(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) || e.Code()&0xff != sqlite3.SQLITE_CANTOPEN {
		return nil
	}
	for range maxFiles {
		f, err := os.Open(os.DevNull)
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
			return err
		}
		defer f.Close()
	}
	return nil
}

// Open opens the database at a path. check decides whether it can be used. An error of check
// that isFinal says cannot be changed by reading in another way is returned at once.
func Open(ctx context.Context, path string, check func(context.Context, *sql.DB) error, isFinal func(error) bool) (*Database, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() == 0 {
		return nil, fmt.Errorf("%s is no database", path)
	}
	for range tries {
		for _, open := range []func(context.Context, string) (*Database, error){openLive, openFile, openCopy} {
			var d *Database
			if d, err = open(ctx, path); err != nil {
				continue
			}
			if err = check(ctx, d.DB); err == nil && d.IsStale() {
				err = errChanging
			}
			if err == nil {
				return d, nil
			}
			_ = d.Close()
			if isFinal(err) || ctx.Err() != nil {
				return nil, err
			}
		}
	}
	return nil, err
}

// IsStale reports whether what was read before may not be what is in the files now: the
// database has to be opened again.
func (d *Database) IsStale() bool { return d.Source != Live && d.was != stampOf(d.path) }

// Close closes the database and deletes its copy.
func (d *Database) Close() error {
	err := d.DB.Close()
	if d.dir != "" {
		err = errors.Join(err, os.RemoveAll(d.dir))
	}
	return err
}

func open(path string, more url.Values) (*sql.DB, error) {
	q := url.Values{"_pragma": {fmt.Sprintf("busy_timeout(%d)", busy.Milliseconds()), "query_only(1)"}}
	maps.Copy(q, more)
	dsn := (&url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: q.Encode()}).String()
	db, err := prepared.Open("sqlite", dsn, nil)
	if err == nil {
		db.SetMaxOpenConns(4)
		db.SetMaxIdleConns(4)
	}
	return db, err
}

// openLive opens the database beside those who write it.
func openLive(_ context.Context, path string) (*Database, error) {
	db, err := open(path, url.Values{"mode": {"ro"}})
	return &Database{DB: db, Source: Live, path: path}, err
}

// openFile opens the database as a file that nobody changes. It fails if there is a log that is
// not empty: SQLite would silently leave out what is in it.
func openFile(_ context.Context, path string) (*Database, error) {
	was := stampOf(path)
	if was.log.size > 0 {
		return nil, errors.New("the log has changes that are not in the database")
	}
	db, err := open(path, url.Values{"mode": {"ro"}, "immutable": {"1"}})
	return &Database{DB: db, Source: File, AsOf: was.database.modified, path: path, was: was}, err
}

// openCopy copies the database and its log, and opens the copy.
func openCopy(ctx context.Context, path string) (*Database, error) {
	dir, err := os.MkdirTemp("", "croft-state-")
	if err != nil {
		return nil, err
	}
	d := &Database{Source: Copy, path: path, was: stampOf(path), dir: dir}
	d.AsOf = d.was.database.modified
	if d.was.log.modified.After(d.AsOf) {
		d.AsOf = d.was.log.modified
	}
	to := filepath.Join(dir, filepath.Base(path))
	err = copyFile(ctx, path, to)
	if err == nil && d.was.log.size > 0 {
		err = copyFile(ctx, path+"-wal", to+"-wal")
	}
	if err == nil {
		d.DB, err = open(to, url.Values{"mode": {"rw"}})
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return d, nil
}

func copyFile(ctx context.Context, from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, untilDone{ctx, in})
	return errors.Join(err, out.Close())
}

// untilDone is a reader that fails when its context has ended.
type untilDone struct {
	ctx context.Context
	io.Reader
}

func (r untilDone) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// stamp is what tells two states of a database's files apart.
type stamp struct{ database, log fileStamp }

type fileStamp struct {
	modified time.Time
	size     int64
	identity fsx.Identity
}

func stampOf(path string) stamp { return stamp{stampOfFile(path), stampOfFile(path + "-wal")} }

// stampOfFile returns the zero stamp for a file that does not exist.
func stampOfFile(path string) fileStamp {
	info, err := os.Lstat(path)
	if err != nil {
		return fileStamp{}
	}
	id, _ := fsx.IdentityOf(path) // without one, the other two tell
	return fileStamp{info.ModTime(), info.Size(), id}
}
