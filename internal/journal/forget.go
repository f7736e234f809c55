package journal

import (
	"database/sql"
	"encoding/json"
	"time"

	"github.com/croft-sh/croft"
)

// forgetWindow is how many of the oldest rows are looked at: a few that stay, or
// whose time is wrong, do not keep the others.
const forgetWindow = 20

// Forget deletes the oldest operations and events that are from before a time, a
// few at once, and reports whether there may be more. Operations stay that were
// on a live workspace, with the keys by which they are found.
func (t *Tx) Forget(before time.Time, some int) (more bool, err error) {
	ids, err := collect(t.ctx, t, func(rows *sql.Rows) (id croft.ID, err error) {
		return id, rows.Scan(&id)
	}, `SELECT id FROM (SELECT * FROM operations ORDER BY seq LIMIT ?3) o
		WHERE state <> 'running' AND started_at < ?1 AND ended_at < ?1 AND NOT EXISTS
			(SELECT 1 FROM json_each(o.workspaces) j JOIN workspaces w ON w.id = j.value AND w.`+live+`)
		LIMIT ?2`, before.UnixNano(), some, forgetWindow*some)
	if err != nil {
		return false, err
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return false, err
	}
	if len(ids) > 0 {
		for _, stmt := range []string{
			`DELETE FROM keys WHERE verb = 'create' AND operation IN (SELECT value FROM json_each(?))`,
			`DELETE FROM operations WHERE id IN (SELECT value FROM json_each(?))`,
		} {
			if _, err := t.exec(stmt, string(list)); err != nil {
				return false, err
			}
		}
	}
	res, err := t.exec(`DELETE FROM events WHERE cursor IN (SELECT cursor FROM
		(SELECT cursor, time FROM events ORDER BY cursor LIMIT ?3) WHERE time < ?1 LIMIT ?2)`,
		before.UnixNano(), some, forgetWindow*some)
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return len(ids) == some || n == int64(some), err
}
