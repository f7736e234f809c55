// Package damage names the rows of a database that cannot be read, and has the SQL by which
// such a row does not make a query for others fail.
package damage

import (
	"errors"
	"fmt"
	"strings"
	"sync"
)

// RowError says that one row of the database cannot be read. The other rows can.
type RowError struct {
	Table, Key string
	Name       string // of the workspace or the session, if it is known
	Err        error
}

func (e *RowError) Error() string {
	return fmt.Sprintf("the row %q of the table %s cannot be read: %v", e.Key, e.Table, e.Err)
}

func (e *RowError) Unwrap() error { return e.Err }

// Noun says for people what the row is of.
func (e *RowError) Noun() string {
	what := map[string]string{"workspaces": "a workspace", "merges": "a merge", "sessions": "a session", "operations": "an operation"}[e.Table]
	if e.Name != "" {
		what = strings.TrimPrefix(what, "a ") + " " + e.Name
		return "the record of the " + what
	}
	return "the record of " + what
}

// ErrUnreadable says that a column does not hold JSON of the type that it should.
var ErrUnreadable = errors.New("it is damaged")

// Rows are the rows that cannot be read in the database, and that the second copy cannot
// replace. Lists leave them out. Several goroutines may use it.
type Rows struct {
	mu   sync.Mutex
	rows map[rowKey]bool
}

type rowKey struct{ table, key string }

// Add adds rows.
func (d *Rows) Add(list []*RowError) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.rows == nil {
		d.rows = map[rowKey]bool{}
	}
	for _, row := range list {
		d.rows[rowKey{row.Table, row.Key}] = true
	}
}

// Has reports whether an error is about a row in d. It is false if d is nil.
func (d *Rows) Has(err error) bool {
	row, ok := errors.AsType[*RowError](err)
	if !ok || d == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rows[rowKey{row.Table, row.Key}]
}

// IsNew reports whether an error is about a row that is not in d.
func (d *Rows) IsNew(err error) bool {
	_, ok := errors.AsType[*RowError](err)
	return ok && !d.Has(err)
}

// JSONField is the SQL for a field of a column with JSON. It is NULL if the column cannot
// be read: otherwise one such row would make the whole query fail.
func JSONField(column, name string) string {
	return fmt.Sprintf(`CASE WHEN json_valid(%[1]s) THEN json_extract(%[1]s, '$.%[2]s') END`, column, name)
}

// JSONList is the SQL for the rows of a column with a JSON list. It has no rows if the
// column cannot be read.
func JSONList(column string) string {
	return fmt.Sprintf(`json_each(CASE WHEN json_valid(%[1]s) THEN %[1]s ELSE '[]' END)`, column)
}
