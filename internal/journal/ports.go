package journal

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/croft-sh/croft"
)

// PortLease says which workspace has a port.
type PortLease struct {
	Workspace croft.ID
	Repo      croft.ID
	Name      string
	Held      PortHold
}

// PortHold says how firmly a workspace has a port.
type PortHold string

// The ways to have a port.
const (
	PortLeased   PortHold = "leased"   // the workspace is live, or being made
	PortReserved PortHold = "reserved" // it was removed a while ago: it can be restored, and a new one of its name gets the port again
)

// PortReservation is how long the ports of a removed workspace stay reserved.
const PortReservation = 7 * 24 * time.Hour

// LeasedPorts returns the ports that workspaces of all projects have, or have reserved. Of several
// workspaces with one port the live one is returned: it took the reservation of an earlier one of its name.
func (t *Tx) LeasedPorts(now time.Time) (map[int]PortLease, error) {
	type row struct {
		PortLease
		ports []croft.Port
	}
	list, err := collect(t.ctx, t, func(rows *sql.Rows) (r row, err error) {
		var text, removed string
		if err = rows.Scan(&r.Workspace, &r.Repo, &r.Name, &removed, &text); err == nil {
			err = json.Unmarshal([]byte(text), &r.ports)
		}
		if err != nil {
			return r, fmt.Errorf("ports of a workspace: %w", err)
		}
		r.Held = PortLeased
		if removed == "" {
			return r, nil
		}
		at, err := time.Parse(time.RFC3339Nano, removed)
		if err != nil {
			return r, fmt.Errorf("when a workspace with ports was removed: %w", err)
		}
		if r.Held = PortReserved; now.Sub(at) >= PortReservation {
			r.ports = nil
		}
		return r, nil
	}, `SELECT id, ifnull(record ->> '$.repoId', ''), ifnull(record ->> '$.workspace.name', ''), ifnull(record ->> '$.trash.removedAt', ''), record ->> '$.workspace.ports'
		FROM workspaces WHERE json_valid(record) AND record ->> '$.workspace.ports' IS NOT NULL`)
	if err != nil {
		return nil, err
	}
	leased := map[int]PortLease{}
	for _, r := range list {
		for _, p := range r.ports {
			if leased[p.Port].Held != PortLeased {
				leased[p.Port] = r.PortLease
			}
		}
	}
	return leased, nil
}
