package journal

import (
	"context"
	"database/sql"
	"time"

	"github.com/croft-sh/croft"
)

// holder is the owner of a lease as the journal stores it.
type holder struct {
	croft.Owner
	Term  croft.LeaseTerm `json:"term,omitempty"`
	Mode  croft.LeaseMode `json:"mode,omitempty"`
	Epoch int             `json:"epoch,omitempty"`
	TTL   croft.Duration  `json:"ttl,omitempty"`
}

// PutLease records a new or renewed lease.
func (t *Tx) PutLease(l croft.Lease) error {
	_, err := t.exec(`INSERT INTO leases (id, workspace, owner, expires_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at`,
		l.ID, l.Workspace, asJSON{holder{l.Owner, l.Term, l.Mode, l.Epoch, l.TTL}}, l.ExpiresAt.UnixNano())
	return err
}

// Lease finds a lease by its ID.
func (t *Tx) Lease(id croft.ID) (croft.Lease, error) {
	return firstRow(collect(t.ctx, t, scanLease, `SELECT id, workspace, owner, expires_at FROM leases WHERE id = ?`, id))
}

// DeleteLease deletes a lease.
func (t *Tx) DeleteLease(id croft.ID) error {
	if l, err := t.Lease(id); err == nil {
		t.story.WroteLease(l.Workspace)
	}
	_, err := t.exec(`DELETE FROM leases WHERE id = ?`, id)
	return err
}

// DeleteLeases deletes all leases on a workspace.
func (t *Tx) DeleteLeases(workspace croft.ID) error {
	t.story.WroteLease(workspace)
	_, err := t.exec(`DELETE FROM leases WHERE workspace = ?`, workspace)
	return err
}

// LeasesOf lists the leases on a workspace, as the transaction sees them.
func (t *Tx) LeasesOf(workspace croft.ID) ([]croft.Lease, error) {
	return collect(t.ctx, t, scanLease, `SELECT id, workspace, owner, expires_at FROM leases WHERE workspace = ?`, workspace)
}

// Leases lists the leases on the workspaces of a repository, by workspace, the one
// that lasts longest last.
func (j *Journal) Leases(ctx context.Context, repo croft.ID) (map[croft.ID][]croft.Lease, error) {
	list, err := read(ctx, j, scanLease, `SELECT l.id, l.workspace, l.owner, l.expires_at FROM leases l
		CROSS JOIN workspaces w ON w.id = l.workspace WHERE w.repo = ? ORDER BY l.expires_at`, repo)
	if err != nil {
		return nil, err
	}
	m := map[croft.ID][]croft.Lease{}
	for _, l := range list {
		m[l.Workspace] = append(m[l.Workspace], l)
	}
	return m, nil
}

func scanLease(rows *sql.Rows) (l croft.Lease, err error) {
	var h holder
	var expires int64
	err = rows.Scan(&l.ID, &l.Workspace, asJSON{&h}, &expires)
	if isUnreadable(err) { // the lease holds, of an unknown owner
		h = holder{}
		err = rows.Scan(&l.ID, &l.Workspace, new(sql.RawBytes), &expires)
	}
	l.ExpiresAt, l.Owner, l.Term = time.Unix(0, expires).UTC(), h.Owner, h.Term
	l.Mode, l.Epoch, l.TTL = h.Mode, h.Epoch, h.TTL
	return l, err
}
