package journal

import (
	"context"
	"database/sql"
	"errors"
	"os"

	"github.com/croft-sh/croft/internal/journal/damage"
)

// RowError says that one row of the database cannot be read. The other rows can.
type RowError = damage.RowError

func isUnreadable(err error) bool { return errors.Is(err, damage.ErrUnreadable) }

// scanJSON decodes a row that has two columns, its key and JSON.
func scanJSON[T any](rows *sql.Rows, table string) (v T, err error) {
	var key string
	if err = rows.Scan(&key, asJSON{&v}); isUnreadable(err) {
		err = &RowError{Table: table, Key: key, Err: err}
	}
	return v, err
}

// querier is the methods that a transaction and the database have in common.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// read returns all rows of a query that runs outside any transaction. It fails if one of
// them cannot be read.
func read[T any](ctx context.Context, j *Journal, scan func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	return readBut(ctx, j, nil, scan, query, args...)
}

// readList is read for a list whose other rows are of use if one cannot be read.
func readList[T any](ctx context.Context, j *Journal, scan func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	return readBut(ctx, j, &j.damage, scan, query, args...)
}

func readBut[T any](ctx context.Context, j *Journal, without *damage.Rows, scan func(*sql.Rows) (T, error), query string, args ...any) (list []T, err error) {
	err = j.withDatabase(ctx, func(db *sql.DB, _ os.FileInfo) error {
		return retryBusy(ctx, func() (err error) {
			list, err = collectBut(ctx, db, without, scan, query, args...)
			return err
		})
	})
	return list, err
}

// collect returns all rows of a query.
func collect[T any](ctx context.Context, q querier, scan func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	return collectBut(ctx, q, nil, scan, query, args...)
}

// collectList is collect for a list whose other rows are of use if one cannot be read.
func collectList[T any](t *Tx, scan func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	return collectBut(t.ctx, t, t.damage, scan, query, args...)
}

// collectBut returns all rows of a query, without those that are known to be unreadable.
func collectBut[T any](ctx context.Context, q querier, without *damage.Rows, scan func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, explain(ctx, err)
	}
	defer rows.Close()
	var out []T
	for rows.Next() {
		v, err := scan(rows)
		if without.Has(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, explain(ctx, rows.Err())
}
