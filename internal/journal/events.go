package journal

import (
	"context"
	"database/sql"
	"slices"
	"strconv"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal/damage"
	"github.com/croft-sh/croft/internal/journal/telling"
)

// Event is an event and its place among the others. Its Cursor is not set.
type Event struct {
	croft.Event
	At int64
}

// Stream describes the events that are kept.
type Stream struct {
	Epoch  string // of the state: another one once events were lost
	Last   int64  // the place of the last event
	Pruned int64  // the place of the last event that was deleted
}

// Stream describes the events that are kept.
func (j *Journal) Stream(ctx context.Context) (Stream, error) {
	return firstRow(read(ctx, j, func(rows *sql.Rows) (s Stream, err error) {
		err = rows.Scan(&s.Epoch, &s.Last, &s.Pruned)
		return s, err
	}, `SELECT epoch, max(last, pruned), pruned FROM identity,
		(SELECT coalesce(max(seq), 0) AS last FROM sqlite_sequence WHERE name = 'events'),
		(SELECT coalesce(max(CAST(data AS INTEGER)), 0) AS pruned FROM events WHERE cursor = 0)`))
}

// Subject chooses events by what they tell of; an empty field stands for all.
type Subject struct{ Repo, Workspace croft.ID }

// Events lists events after a place, a page at a time.
func (j *Journal) Events(ctx context.Context, after int64, of Subject, limit int) ([]Event, error) {
	return read(ctx, j, func(rows *sql.Rows) (Event, error) {
		var e Event
		var ns int64
		var data string
		err := rows.Scan(&e.At, &ns, &e.Kind, &e.Repo, &e.Workspace, &data)
		e.Time = time.Unix(0, ns).UTC()
		telling.Decode(data, &e.Event)
		return e, err
	}, `SELECT cursor, time, kind, repo, workspace, data FROM events
		WHERE cursor > max(0, ?1) AND (?2 = '' OR repo = ?2) AND (?3 = '' OR workspace = ?3) ORDER BY cursor LIMIT ?4`, after, of.Repo, of.Workspace, limit)
}

// pruneWindow is how many times the requested number of the oldest rows Prune looks at,
// so that a few rows that stay, or whose time is wrong, do not keep the others.
const pruneWindow = 20

// Prune deletes the oldest operations and events that are from before a time, at most
// some of each, and reports whether there may be more; if there are none, it deletes the
// keys from before that time, too. Operations on live workspaces stay, with the keys by which
// they are found.
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
	pruned, err := t.pruneEvents(before, some)
	if more = len(ids) == some || pruned == some; err == nil && !more {
		err = t.pruneKeys(before)
	}
	return more, err
}

// pruneEvents deletes the oldest events that are from before a time, at most some, and
// counts them. The row with the cursor 0, which is no event, has the place of the last one
// that was ever deleted.
func (t *Tx) pruneEvents(before time.Time, some int) (int, error) {
	places, err := collect(t.ctx, t, scanOne[int64], `SELECT cursor FROM (SELECT cursor, time FROM events
		WHERE cursor > 0 ORDER BY cursor LIMIT ?3) WHERE time < ?1 LIMIT ?2`, before.UnixNano(), some, pruneWindow*some)
	if err != nil || len(places) == 0 {
		return 0, err
	}
	if _, err := t.exec(`DELETE FROM events WHERE cursor IN (SELECT value FROM json_each(?))`, asJSON{places}); err != nil {
		return 0, err
	}
	_, err = t.exec(`INSERT INTO events (cursor, time, kind, repo, workspace, data) VALUES (0, 0, 'pruned', '', '', ?)
		ON CONFLICT (cursor) DO UPDATE SET data = max(CAST(data AS INTEGER), CAST(excluded.data AS INTEGER))`, strconv.FormatInt(slices.Max(places), 10))
	return len(places), err
}
