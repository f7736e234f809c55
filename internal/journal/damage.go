package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal/damage"
	"github.com/croft-sh/croft/internal/journal/txlog"
)

// If the second copy has a row that cannot be read, the database is made again from the
// copy. Otherwise lists leave the row out, and a call that needs it fails with a RowError.

// rowsWithJSON is the tables whose rows are decoded, each with the query for its rows: the
// key, a name for people, and the JSON.
var rowsWithJSON = []struct {
	table, query string
	decode       func(text []byte) error
}{
	{"workspaces", `SELECT id, name, record FROM workspaces`, func(b []byte) error { _, err := Decode(b); return err }},
	{"merges", `SELECT id, '', merge FROM merges`, decodes[Merge]},
	{"sessions", `SELECT id, name, session FROM sessions`, decodes[Session]},
}

func decodes[T any](b []byte) error { return json.Unmarshal(b, new(T)) }

// Unreadable lists the rows of a repository that cannot be read; with an empty ID, those of
// all repositories.
func (j *Journal) Unreadable(ctx context.Context, repo croft.ID) (list []*RowError, err error) {
	err = j.withDatabase(ctx, func(db *sql.DB, _ os.FileInfo) error {
		list, err = unreadable(ctx, db, repo)
		for _, row := range list {
			if j.damage.IsNew(row) {
				return row
			}
		}
		return err
	})
	return list, err
}

// RequireReadable fails with a RowError if a row of a repository in one of the tables, or
// in any if none is named, cannot be read: what nothing needs is known from all rows only.
func (j *Journal) RequireReadable(ctx context.Context, repo croft.ID, tables ...string) error {
	list, err := j.Unreadable(ctx, repo)
	for _, row := range list {
		if err == nil && (len(tables) == 0 || slices.Contains(tables, row.Table)) {
			err = row
		}
	}
	return err
}

func unreadable(ctx context.Context, q querier, repo croft.ID) (out []*RowError, err error) {
	const ofRepo = ` WHERE ?1 = '' OR repo = ?1 ORDER BY rowid`
	for _, t := range rowsWithJSON {
		if _, err := collect(ctx, q, func(rows *sql.Rows) (text []byte, err error) {
			row := &RowError{Table: t.table}
			if err = rows.Scan(&row.Key, &row.Name, &text); err == nil {
				row.Err = t.decode(text)
			}
			if row.Err != nil {
				out = append(out, row)
			}
			return nil, err
		}, t.query+ofRepo, repo); err != nil {
			return nil, err
		}
	}
	_, err = collect(ctx, q, func(rows *sql.Rows) (struct{}, error) {
		_, err := scanOperation(rows)
		if row, ok := errors.AsType[*RowError](err); ok {
			out, err = append(out, row), nil
		}
		return struct{}{}, err
	}, `SELECT `+operationColumns+` FROM operations`+ofRepo, repo)
	return out, err
}

// judgeRows looks for rows that cannot be read. It fails with ErrCorrupt if the second copy
// has all transactions of the database, and one of the rows in a form that can be read.
// Otherwise it remembers the rows, so that lists leave them out, and adds notices.
func (j *Journal) judgeRows(ctx context.Context, db *sql.DB, file os.FileInfo) error {
	var rows []*RowError
	err := j.withoutWriters(ctx, db, file, lockToMake, func(t *Tx) (err error) {
		if rows, err = unreadable(ctx, t, ""); err != nil || len(rows) == 0 || j.copy == nil {
			return err
		}
		id, err := identify(ctx, t)
		if err != nil {
			return err
		}
		has, err := j.copy.State()
		if err != nil || !id.isIn(has) {
			return nil //nolint:nilerr // without a copy that is up to date, the database is all there is
		}
		if j.copyHasOne(ctx, has, rows) {
			return fmt.Errorf("%w: %w", ErrCorrupt, rows[0])
		}
		return nil
	})
	if err != nil {
		return err
	}
	j.damage.Add(rows)
	for _, row := range rows {
		j.notice(fmt.Sprintf("%s cannot be read in the state (table %s, key %s) and is left out: croft doctor says more", row.Noun(), row.Table, row.Key))
	}
	return nil
}

// copyHasOne reports whether the second copy is whole and has one of the rows in a form
// that can be read.
func (j *Journal) copyHasOne(ctx context.Context, has txlog.State, rows []*RowError) bool {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return false
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // each connection has a database of its own
	found := false
	err = inWriteTx(ctx, db, func(t *Tx) error {
		if err := t.makeTables(); err != nil {
			return err
		}
		last := has.Base
		err := j.copy.Replay(func(number int64, list []txlog.Statement) error {
			last = number
			return t.run(list)
		})
		if err != nil || last != has.Last {
			return err
		}
		bad, err := unreadable(ctx, t, "")
		if err != nil {
			return err
		}
		still := &damage.Rows{}
		still.Add(bad)
		for _, row := range rows {
			if still.Has(row) {
				continue
			}
			n, cerr := t.count(`SELECT count(*) FROM `+row.Table+` WHERE id = ?`, row.Key)
			found, err = found || n > 0, errors.Join(err, cerr)
		}
		return err
	})
	return err == nil && found
}

// run runs the statements of a transaction of the second copy.
func (t *Tx) run(list []txlog.Statement) error {
	for _, s := range list {
		stmt, err := t.prepare(s.SQL)
		if err == nil {
			_, err = stmt.ExecContext(t.ctx, s.Values()...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// SetRowAside writes a row that cannot be read to a file beside the database, deletes it,
// and returns the file. Of a workspace it deletes the pins, too, and no ref: so nothing
// that git keeps of the workspace is collected, and it can be imported.
func (j *Journal) SetRowAside(ctx context.Context, row *RowError) (path string, err error) {
	path = fmt.Sprintf("%s%srow-%s-%s.json", j.path, damagedSuffix, row.Table, url.PathEscape(row.Key))
	err = j.Update(ctx, func(t *Tx) error {
		bad, err := unreadable(ctx, t, "")
		if err != nil {
			return err
		}
		now := &damage.Rows{}
		if now.Add(bad); !now.Has(row) {
			return nil // another process was faster
		}
		if err := t.saveRow(row, path); err != nil {
			return err
		}
		if row.Table == "workspaces" {
			if _, err := t.exec(`DELETE FROM pins WHERE instr(ref, '/' || ? || '/') > 0`, row.Key); err != nil {
				return err
			}
		}
		_, err = t.exec(`DELETE FROM `+row.Table+` WHERE id = ?`, row.Key)
		return err
	})
	return path, err
}

// saveRow writes the columns of a row to a file.
func (t *Tx) saveRow(row *RowError, path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	err = dumpRows(t.ctx, t, row.Table, ` WHERE id = ?`, func(s txlog.Statement) error { return json.NewEncoder(f).Encode(s) }, row.Key)
	return errors.Join(err, f.Sync(), f.Close())
}

// Lacking counts the workspaces, merges and sessions that a database that was set aside has
// and this one lacks. It fails if the file cannot be read.
func (j *Journal) Lacking(ctx context.Context, aside string) (int, error) {
	dsn := (&url.URL{Scheme: "file", Path: filepath.ToSlash(aside), RawQuery: "mode=ro"}).String()
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	lacking := 0
	for _, t := range rowsWithJSON {
		query := `SELECT id FROM ` + t.table
		had, err := collect(ctx, db, scanOne[string], query)
		if err != nil {
			return 0, err
		}
		has, err := read(ctx, j, scanOne[string], query)
		if err != nil {
			return 0, err
		}
		slices.Sort(has)
		lacking += len(slices.DeleteFunc(had, func(id string) bool {
			_, isKnown := slices.BinarySearch(has, id)
			return isKnown
		}))
	}
	return lacking, nil
}
