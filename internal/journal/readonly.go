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
		d, file, err := j.beginRead()
		if err != nil {
			return err
		}
		err = explain(ctx, f(d.DB, file))
		// A writer that makes the index of the log anew leaves a moment in which a reader would have to do that.
		isOver := !d.IsStale() && !readonly.IsUnwritable(err) || tries == 3 || ctx.Err() != nil
		if !isOver {
			err = explain(ctx, j.reopenReadOnly(ctx, d))
		}
		j.endRead(d)
		if isOver || err != nil {
			return err
		}
	}
}

// beginRead returns the database to read, which stays open until endRead.
func (j *Journal) beginRead() (*readonly.Database, os.FileInfo, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil, nil, ErrClosed
	}
	j.readers[j.reads]++
	return j.reads, j.file, nil
}

// endRead closes a database that nobody reads any more, unless it is the one to read now.
func (j *Journal) endRead(d *readonly.Database) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.readers[d]--; j.readers[d] > 0 {
		return
	}
	delete(j.readers, d)
	if d != j.reads {
		_ = d.Close() // all that it had was read
	}
}

// reopenReadOnly opens the present state instead of a database that is stale, unless another
// call has done so.
func (j *Journal) reopenReadOnly(ctx context.Context, stale *readonly.Database) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed || j.reads != stale {
		return nil
	}
	return j.openReadOnly(ctx, ErrReadOnly)
}
