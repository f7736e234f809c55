package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal/damage"
)

// Emit appends an event. It assigns the cursor, in the order in which transactions
// commit.
//
// A cursor is the time in microseconds, or the last cursor plus one if that is more. So
// it is above every earlier cursor, also if the database was lost together with its
// second copy or was replaced by an older one: no project has a million events a second
// for long. A float64 holds a cursor exactly for centuries.
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
		if json.Valid([]byte(data)) { // an event that lost its data keeps its place
			e.Data = json.RawMessage(data)
		}
		return e, err
	}, `SELECT cursor, time, kind, repo, workspace, data FROM events
		WHERE cursor > ? AND (? = '' OR repo = ?) ORDER BY cursor LIMIT ?`, after, repo, repo, limit)
}

// pruneWindow is how many times the requested number of the oldest rows Prune looks at,
// so that a few rows that stay, or whose time is wrong, do not keep the others.
const pruneWindow = 20

// Prune deletes the oldest operations and events that are from before a time, at most
// some of each, and reports whether there may be more. Operations on live workspaces
// stay, with the keys by which they are found.
func (t *Tx) Prune(before time.Time, some int) (more bool, err error) {
	ids, err := collect(t.ctx, t, scanOne[croft.ID], `SELECT id FROM (SELECT * FROM operations ORDER BY seq LIMIT ?3) o
		WHERE state <> 'running' AND json_valid(workspaces) AND started_at < ?1 AND ended_at < ?1 AND NOT EXISTS
			(SELECT 1 FROM `+damage.JSONList(`o.workspaces`)+` j JOIN workspaces w ON w.id = j.value AND w.`+live+`)
		LIMIT ?2`, before.UnixNano(), some, pruneWindow*some)
	if err != nil {
		return false, err
	}
	if len(ids) > 0 {
		for _, stmt := range []string{
			`DELETE FROM keys WHERE verb = 'create' AND operation IN (SELECT value FROM json_each(?))`,
			`DELETE FROM operations WHERE id IN (SELECT value FROM json_each(?))`,
		} {
			if _, err := t.exec(stmt, asJSON{ids}); err != nil {
				return false, err
			}
		}
	}
	res, err := t.exec(`DELETE FROM events WHERE cursor IN (SELECT cursor FROM
		(SELECT cursor, time FROM events ORDER BY cursor LIMIT ?3) WHERE time < ?1 LIMIT ?2)`,
		before.UnixNano(), some, pruneWindow*some)
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return len(ids) == some || n == int64(some), err
}
