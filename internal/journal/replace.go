package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/croft-sh/croft/internal/flock"
)

// errMoved says that the open file is not the one at the path.
var errMoved = errors.New("the state database was replaced by another one")

// withDatabase runs f on the database. If the database turns out to be damaged, or if
// its file is not at the path any more, withDatabase replaces it and runs f on the new
// one. If f finds rows that cannot be read and that the second copy lacks, f is run again,
// and may leave them out.
func (j *Journal) withDatabase(ctx context.Context, f func(*sql.DB, os.FileInfo) error) error {
	if j.isReadOnly() {
		return j.readAgain(ctx, f)
	}
	for tries := 0; ; tries++ {
		j.mu.RLock()
		db, file, isClosed := j.db, j.file, j.closed
		j.mu.RUnlock()
		if isClosed {
			return ErrClosed
		}
		err := errMoved
		if !j.isGone(file) {
			err = explain(ctx, f(db, file))
		}
		j.mu.RLock()
		isOld := j.file != file
		j.mu.RUnlock()
		switch {
		case err == nil || tries == 3 || ctx.Err() != nil:
			return err
		case isOld: // another goroutine has replaced it
		case errors.Is(err, ErrCorrupt), errors.Is(err, errMoved):
			err = j.replace(ctx, file, err)
		case j.damage.IsNew(err):
			if err = j.judgeRows(ctx, db, file); errors.Is(err, ErrCorrupt) {
				err = j.replace(ctx, file, err)
			}
		default:
			return err
		}
		if err != nil && !isOld {
			return explain(ctx, err)
		}
	}
}

// isGone reports whether a file is no longer the one at the path. It is false if the
// path cannot be examined.
func (j *Journal) isGone(file os.FileInfo) bool {
	now, err := os.Stat(j.path)
	return errors.Is(err, os.ErrNotExist) || err == nil && !os.SameFile(now, file)
}

// replace opens the database that is now at the path in place of a file that cannot be
// used any more. It sets a damaged file aside first, unless another process has. It
// does not touch a file that is no longer at the path.
func (j *Journal) replace(ctx context.Context, file os.FileInfo, why error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file != file {
		return nil
	}
	isDamaged := !errors.Is(why, errMoved)
	if isDamaged && j.db != nil {
		_ = j.db.Close() // some systems do not rename an open file
	}
	l, err := acquireLock(ctx, j.path, flock.Acquire)
	if err != nil {
		return err
	}
	defer l.Unlock()
	if isDamaged {
		if err := j.setAside(file); err != nil {
			return err
		}
	}
	return j.reopen(ctx)
}

// reopen opens the database at the path in place of the one that was open. The caller
// holds mu and the database's lock.
func (j *Journal) reopen(ctx context.Context) error {
	db, file, err := connect(ctx, j.path, lockIsHeld)
	if errors.Is(err, ErrCorrupt) || errors.Is(err, ErrOld) {
		if err := j.setAside(file); err != nil {
			return err
		}
		db, file, err = connect(ctx, j.path, lockIsHeld)
	}
	if err != nil {
		return err
	}
	if err := j.reconcile(ctx, db, file, lockIsHeld); err != nil {
		return errors.Join(err, db.Close())
	}
	if j.db != nil {
		j.retired = append(j.retired, j.db) // a goroutine may be reading it
	}
	j.db, j.file = db, file
	return nil
}

// setAside renames a database that is damaged or of an earlier version, if it is still the
// one at the path. It renames the log first: SQLite would take a log that is left behind for
// the log of the next database.
func (j *Journal) setAside(damaged os.FileInfo) error {
	if now, err := os.Stat(j.path); err != nil || !isSame(now, damaged) {
		return nil
	}
	aside := j.path + j.asideSuffix()
	for _, suffix := range []string{"-wal", "-shm", ""} {
		if err := os.Rename(j.path+suffix, aside+suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	j.aside = append(j.aside, aside)
	return nil
}

const damagedSuffix = ".damaged-"

// asideSuffix returns the suffix of the name of a file that is set aside now.
func (j *Journal) asideSuffix() string { return fmt.Sprint(damagedSuffix, j.opts.Now().UnixNano()) }

// Aside lists the databases that this journal set aside, because they were damaged or of
// an earlier version of Croft.
func (j *Journal) Aside() []string {
	j.mu.RLock()
	defer j.mu.RUnlock()
	return slices.Clone(j.aside)
}

// Damaged lists the databases that were ever set aside in a directory and still exist,
// the oldest first.
func Damaged(dir string) ([]string, error) {
	list, err := filepath.Glob(filepath.Join(dir, FileName+damagedSuffix+"*[0-9]"))
	slices.Sort(list)
	return list, err
}

// Check reads the whole database and its second copy. A damaged database, or one with a
// damaged row that the copy has, is set aside and made again from the copy; a damaged copy
// is written anew.
func (j *Journal) Check(ctx context.Context) error {
	return j.withDatabase(ctx, func(db *sql.DB, file os.FileInfo) error {
		var verdict string
		err := db.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&verdict)
		if err == nil && verdict != "ok" {
			err = fmt.Errorf("%w: %s", ErrCorrupt, verdict)
		}
		if err != nil || j.isReadOnly() {
			return err
		}
		// Before a copy that still has a row is written anew.
		if err = j.judgeRows(ctx, db, file); err == nil && j.copy != nil {
			err = j.checkCopy(ctx, db, file)
		}
		return err
	})
}
