package journal

import (
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/croft-sh/croft"
)

// LeasedPorts returns the ports that workspaces of all projects have, with the workspace: of those
// that are live, and of those that can be restored.
func (t *Tx) LeasedPorts() (map[int]croft.ID, error) {
	type lease struct {
		id    croft.ID
		ports []croft.Port
	}
	list, err := collect(t.ctx, t, func(rows *sql.Rows) (l lease, err error) {
		var text string
		if err = rows.Scan(&l.id, &text); err == nil {
			err = json.Unmarshal([]byte(text), &l.ports)
		}
		if err != nil {
			err = fmt.Errorf("ports of a workspace: %w", err)
		}
		return l, err
	}, `SELECT id, record ->> '$.workspace.ports' FROM workspaces WHERE json_valid(record)
		AND record ->> '$.workspace.ports' IS NOT NULL AND NOT ifnull(record ->> '$.trash.purged', 0)`)
	if err != nil {
		return nil, err
	}
	leased := map[int]croft.ID{}
	for _, l := range list {
		for _, p := range l.ports {
			leased[p.Port] = l.id
		}
	}
	return leased, nil
}
