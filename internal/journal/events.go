package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/croft-sh/croft"
)

// Emit appends an event. Its cursor is assigned here, in the order in which
// transactions commit.
//
// A cursor is the time in microseconds, or the next number if that is more. So it is
// above every one that was handed out, also by a database that was lost together
// with its second copy, or of which an older one came back: nobody writes a million
// events a second for long. As a number of a program it is exact for centuries.
func (t *Tx) Emit(e croft.Event) error {
	_, err := t.exec(`INSERT INTO events (cursor, time, kind, repo, workspace, data) VALUES
		(max(?, 1 + (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'events')), ?, ?, ?, ?, ?)`,
		time.Now().UnixMicro(), e.Time.UnixNano(), e.Kind, e.Repo, e.Workspace, string(e.Data))
	return err
}

// Events lists events after a cursor, a page at a time.
func (j *Journal) Events(ctx context.Context, after int64, repo croft.ID, limit int) ([]croft.Event, error) {
	return read(ctx, j, func(rows *sql.Rows) (croft.Event, error) {
		var e croft.Event
		var ns int64
		var data string
		err := rows.Scan(&e.Cursor, &ns, &e.Kind, &e.Repo, &e.Workspace, &data)
		e.Time = time.Unix(0, ns).UTC()
		if data != "" {
			e.Data = json.RawMessage(data)
		}
		return e, err
	}, `SELECT cursor, time, kind, repo, workspace, data FROM events
		WHERE cursor > ? AND (? = '' OR repo = ?) ORDER BY cursor LIMIT ?`, after, repo, repo, limit)
}
