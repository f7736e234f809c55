package journal

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/journal/txlog"
	"github.com/croft-sh/croft/internal/journal/watch"
)

// identity says which database this is, and in which state: the content of its identity
// table.
type identity struct {
	txlog.Header
	txn int64 // how many transactions have changed the database
}

func identify(ctx context.Context, q querier) (identity, error) {
	return firstRow(collect(ctx, q, scanIdentity, `SELECT epoch, file, txn FROM identity`))
}

func scanIdentity(rows *sql.Rows) (id identity, err error) {
	id.Version = version
	return id, rows.Scan(&id.Epoch, &id.File, &id.txn)
}

// isIn reports whether a copy has all transactions of a database, and no more.
func (id identity) isIn(has txlog.State) bool { return has.Header == id.Header && has.Last == id.txn }

// isFresh reports whether a database was just made.
func (id identity) isFresh() bool { return id.txn == 0 }

// reconcile compares a database that was just opened with its second copy, and brings
// the one of the two that is behind up to date.
func (j *Journal) reconcile(ctx context.Context, db *sql.DB, file os.FileInfo, lock locking) error {
	if j.copy == nil {
		return nil
	}
	id, err := identify(ctx, db)
	if err != nil {
		return err
	}
	has, err := j.copy.State()
	if err == nil && id.isIn(has) || err != nil && j.copy.Size() < 0 && id.isFresh() {
		return nil // equal; or the first transaction writes the copy
	}
	// Compare again under the locks: no process writes, or makes another database.
	said := ""
	var unwritten error
	err = j.withoutWriters(ctx, db, file, lock, func(q *Tx) error {
		if id, err = identify(ctx, q); err != nil {
			return err
		}
		has, err := j.copy.State()
		switch {
		case err == nil && id.isIn(has):
			return nil
		case err == nil && has.Version > version:
			return newerError(has.Version)
		case err == nil && has.Version == version && (id.isFresh() || has.Epoch == id.Epoch && has.Last > id.txn):
			if said, err = j.restoreFromCopy(ctx, q, id, has); err != nil {
				return err
			}
		case err != nil || has.Epoch != id.Epoch:
			if err != nil && id.isFresh() && j.copy.Size() >= 0 {
				said = "the state database was lost, and its second copy is damaged and was set aside: croft doctor --import shows what git knows"
			}
			j.copy.SetAside(j.asideSuffix()) // it is of another database, or damaged: a user may still need it
		}
		unwritten = j.dumpCopy(ctx, q)
		return nil
	})
	j.noticeUnwritten(unwritten)
	j.notice(said)
	return err
}

// refuseNewer fails if a later version of Croft wrote the copy. It is called before a
// database is made: if the database is lost, the copy is all that the later version has
// left.
func (j *Journal) refuseNewer() error {
	if j.copy == nil {
		return nil
	}
	if has, err := j.copy.State(); err == nil && has.Version > version {
		return newerError(has.Version)
	}
	return nil
}

// lastTransaction returns the identity of the database, which changes with every
// transaction. It is the zero identity where transactions are not counted, or cannot be
// read.
func (j *Journal) lastTransaction() identity {
	if j.copy == nil {
		return identity{}
	}
	var id identity
	ctx := context.Background()
	_ = j.withDatabase(ctx, func(db *sql.DB, _ os.FileInfo) (err error) {
		id, err = identify(ctx, db)
		return err
	})
	return id
}

// Watch begins to wait for changes of the database. The caller must call End.
func (j *Journal) Watch() watch.Watch { return j.watchers.Begin() }

// withoutWriters runs f in a transaction while no other process writes or makes another
// database. It fails with errMoved if the open file is not the one at the path: only a
// process that has the file at the path open may write the copy.
func (j *Journal) withoutWriters(ctx context.Context, db *sql.DB, file os.FileInfo, lock locking, f func(*Tx) error) error {
	unlock, err := lock.acquire(ctx, j.path)
	if err != nil {
		return err
	}
	defer unlock()
	if j.isGone(file) {
		return errMoved
	}
	return inWriteTx(ctx, db, f)
}

// tables are all tables except identity, in the order in which they are dumped.
// sqlite_sequence, with SQLite's own counters, is last, because inserting rows changes
// the counters.
var tables = []string{"repos", "workspaces", "operations", "keys", "leases", "merges", "events", "sessions", "lanes", "pins", "sqlite_sequence"}

// restoreFromCopy brings a database to the state of its copy: with the whole copy if
// the database is new or older than the copy's dump, otherwise with the transactions
// that it lacks. A copy with a damaged or missing transaction is replayed up to the damage,
// one with a damaged dump without the damaged lines; then it is set aside. Damage of the dump
// does not matter if the database has what was dumped.
func (j *Journal) restoreFromCopy(ctx context.Context, t *Tx, id identity, has txlog.State) (string, error) {
	from := id.txn
	if id.isFresh() || has.Base > id.txn {
		from = has.Base - 1
		for _, table := range tables {
			if _, err := t.tx.ExecContext(ctx, `DELETE FROM `+table); err != nil {
				return "", err
			}
		}
	}
	done := max(from, has.Base)
	err := j.copy.Replay(func(number int64, list []txlog.Statement) error {
		if number <= from {
			return nil
		}
		if err := t.run(list); err != nil {
			return err
		}
		done = number
		return nil
	})
	if errors.Is(err, txlog.ErrDump) && from >= has.Base {
		err = nil
	}
	damaged := errors.Is(err, txlog.ErrBehind)
	if err != nil && !damaged {
		return "", err
	}
	epoch := has.Epoch
	if damaged {
		j.copy.SetAside(j.asideSuffix())
		epoch = rand.Text() // events are lost: cursors from before expire
	}
	_, err = t.tx.ExecContext(ctx, `UPDATE identity SET epoch = ?, file = ?, txn = ?`, epoch, rand.Text(), done)
	switch {
	case err != nil:
		return "", err
	case damaged:
		return "the state database was lost, and its second copy is damaged; what could be read of it is back: croft doctor --import shows what git knows beside that", nil
	case id.isFresh():
		return "the state database was lost; it was made again from its second copy", nil
	case has.File == id.File && done == id.txn+1:
		return "", nil // a process died after it had appended the transaction and before it committed it
	}
	return "the state database was an older one; what it lacked was taken from its second copy", nil
}

// dumpCopy writes the copy anew, with all rows of the database.
func (j *Journal) dumpCopy(ctx context.Context, t *Tx) error {
	id, err := identify(ctx, t)
	if err != nil {
		return err
	}
	return j.copy.Write(id.Header, id.txn, func(add func(txlog.Statement) error) error {
		for _, table := range tables {
			if err := dumpRows(ctx, t, table, "", add); err != nil {
				return err
			}
		}
		return nil
	})
}

// dumpRows calls add with the statement that inserts a row, for each row of a table. where
// is empty, or chooses rows.
func dumpRows(ctx context.Context, t *Tx, table, where string, add func(txlog.Statement) error, args ...any) error {
	rows, err := t.tx.QueryContext(ctx, `SELECT * FROM `+table+where+` ORDER BY rowid`, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	insert := fmt.Sprintf(`INSERT INTO %s (%s) VALUES (?%s)`, table, strings.Join(columns, ", "), strings.Repeat(", ?", len(columns)-1))
	for rows.Next() {
		values := make([]any, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		s, err := txlog.NewStatement(insert, values...)
		if err == nil {
			err = add(s)
		}
		if err != nil {
			return err
		}
	}
	return rows.Err()
}

// retractFromCopy removes a transaction that could not be committed from the second
// copy.
func (j *Journal) retractFromCopy(db *sql.DB, line *txlog.Appended) {
	ctx, cancel := context.WithTimeout(context.Background(), busyTimeout)
	defer cancel()
	_ = inWriteTx(ctx, db, func(t *Tx) error {
		id, err := identify(ctx, t)
		if err == nil && id.txn < line.Number {
			err = line.Retract()
		}
		return err
	})
}

// appendCopy gives a transaction its number and appends it to the copy.
func (j *Journal) appendCopy(t *Tx) (*txlog.Appended, error) {
	id, err := firstRow(collect(t.ctx, t, scanIdentity, `UPDATE identity SET txn = txn + 1 RETURNING epoch, file, txn`))
	if err != nil {
		return nil, err
	}
	return j.copy.Append(id.txn, id.File, t.changes)
}

// largeCopy is the size from which a copy is written anew if it is three times as large
// as the database.
const largeCopy = 8 << 20

// mendCopy writes the second copy anew if a transaction could not be appended to it, or
// if it is much larger than the database. If it cannot be written the transaction
// still succeeds: the state is in the database, and the next transaction tries again.
func (j *Journal) mendCopy(ctx context.Context, db *sql.DB, file os.FileInfo, behind bool) {
	info, err := os.Stat(j.path)
	if !behind && (err != nil || j.copy.Size() < max(largeCopy, 3*info.Size())) {
		return
	}
	err = j.rewriteCopy(ctx, db, file)
	if ctx.Err() == nil && !errors.Is(err, errMoved) && !errors.Is(err, context.DeadlineExceeded) {
		j.noticeUnwritten(err)
	}
}

// noticeUnwritten adds a notice that the second copy could not be written, unless err
// is nil.
func (j *Journal) noticeUnwritten(err error) {
	if path, ok := errors.AsType[*os.PathError](err); ok { // without the temporary name
		err = path.Err
	}
	if err != nil {
		j.notice(fmt.Sprintf("the second copy of the state cannot be written: %v", err))
	}
}

// rewriteCopy writes the second copy anew. It waits for other writers as long as the
// options say. The writing itself has no limit: on a slow machine there would never be
// a copy otherwise.
func (j *Journal) rewriteCopy(ctx context.Context, db *sql.DB, file os.FileInfo) error {
	ctx = context.WithoutCancel(ctx)
	waiting, cancel := context.WithTimeout(ctx, cmp.Or(j.opts.CopyWait, time.Second))
	defer cancel()
	l, err := acquireLock(waiting, j.path, flock.Acquire)
	if err != nil {
		return err
	}
	defer l.Unlock()
	return j.withoutWriters(ctx, db, file, lockIsHeld, func(t *Tx) error { return j.dumpCopy(ctx, t) })
}

// checkCopy reads the whole copy, and writes it anew unless it is of this database, its dump
// is whole and its transactions lead without a gap to the last one of the database. It does
// not compare rows. If the database has rows that cannot be read, a damaged copy is set
// aside: it may have them.
func (j *Journal) checkCopy(ctx context.Context, db *sql.DB, file os.FileInfo) error {
	return j.withoutWriters(ctx, db, file, lockToMake, func(t *Tx) error {
		id, err := identify(ctx, t)
		if err != nil || id.isFresh() {
			return err
		}
		has, err := j.copy.State()
		was, last := j.copy.Size() >= 0, has.Base
		if err == nil && has.Header == id.Header {
			err = j.copy.Replay(func(number int64, _ []txlog.Statement) error {
				last = number
				return nil
			})
		}
		if err == nil && has.Header == id.Header && last == id.txn {
			return nil
		}
		if rows, uerr := unreadable(ctx, t, ""); was && (uerr != nil || len(rows) > 0) {
			j.copy.SetAside(j.asideSuffix())
		}
		if err := j.dumpCopy(ctx, t); err != nil {
			j.noticeUnwritten(err)
		} else if was {
			j.notice("the second copy of the state was damaged; it was written anew")
		}
		return nil
	})
}
