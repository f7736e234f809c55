package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/croft-sh/croft/internal/journal/readonly"
)

// ErrReadOnly says that this process may not write the state.
var ErrReadOnly = errors.New("the state cannot be written by this process")

// ErrUnreadable says that this process may neither write nor read the state, or that there is
// none and it may not make one.
var ErrUnreadable = errors.New("the state cannot be read by this process")

// ReadOnly returns what the journal is read from, and for a file or a copy as of when. The
// source is empty if this process can write the state.
func (j *Journal) ReadOnly() (readonly.Source, time.Time) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	if j.reads == nil {
		return "", time.Time{}
	}
	return j.reads.Source, j.reads.AsOf
}

// isReadOnly reports whether this process may not write the state.
func (j *Journal) isReadOnly() bool {
	source, _ := j.ReadOnly()
	return source != ""
}

// openReadOnly opens a database that this process may not write, which why says. The caller
// holds mu, or is the only one that has the journal.
func (j *Journal) openReadOnly(ctx context.Context, why error) error {
	d, err := readonly.Open(ctx, j.path, checkReadable, func(err error) bool { return errors.Is(err, ErrNewer) || errors.Is(err, ErrOld) })
	switch {
	case errors.Is(err, ErrNewer) || errors.Is(err, ErrOld):
		return fmt.Errorf("%w; for reading: %w", why, err)
	case err != nil:
		return fmt.Errorf("%w: %w; for reading: %w", ErrUnreadable, why, err)
	}
	file, err := os.Stat(j.path)
	if err != nil {
		return errors.Join(err, d.Close())
	}
	j.db, j.reads, j.file = d.DB, d, file
	return nil
}

// checkReadable fails unless the database has the tables of this version.
func checkReadable(ctx context.Context, db *sql.DB) error {
	var have int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil {
		return err
	}
	switch {
	case have > version:
		return newerError(have)
	case have < version:
		return ErrOld
	}
	return probe(ctx, db)
}

// readAgain runs f on a database that this process may not write, again and on its present
// state if the files that are read have changed meanwhile.
func (j *Journal) readAgain(ctx context.Context, f func(*sql.DB, os.FileInfo) error) error {
	for tries := 0; ; tries++ {
		j.mu.RLock()
		d, file, isClosed := j.reads, j.file, j.closed
		j.mu.RUnlock()
		if isClosed {
			return ErrClosed
		}
		err := explain(ctx, f(d.DB, file))
		if !d.IsStale() || tries == 3 || ctx.Err() != nil {
			return err
		}
		j.mu.Lock()
		err = nil
		if j.reads == d {
			if err = j.openReadOnly(ctx, ErrReadOnly); err == nil {
				j.former = append(j.former, d) // a reader may still use it
			}
		}
		j.mu.Unlock()
		if err != nil {
			return explain(ctx, err)
		}
	}
}
