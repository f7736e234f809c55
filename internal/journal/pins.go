package journal

import (
	"context"
	"database/sql"
	"strings"

	"github.com/croft-sh/croft"
)

// Pin is an object that Croft keeps in a repository, and the ref that keeps it
// from being collected. The object is what the pin says, not what the ref names:
// an agent that works in the repository can move the ref.
type Pin struct{ Ref, OID string }

// PutPin notes the object that a ref keeps.
func (t *Tx) PutPin(repo croft.ID, p Pin) error {
	_, err := t.exec(`INSERT INTO pins (repo, ref, oid) VALUES (?, ?, ?)
		ON CONFLICT (repo, ref) DO UPDATE SET oid = excluded.oid`, repo, p.Ref, p.OID)
	return err
}

// DropPin forgets a pin.
func (t *Tx) DropPin(repo croft.ID, ref string) error {
	_, err := t.exec(`DELETE FROM pins WHERE repo = ? AND ref = ?`, repo, ref)
	return err
}

// Pin finds the object that a ref of Croft's keeps.
func (j *Journal) Pin(ctx context.Context, repo croft.ID, ref string) (string, error) {
	return onlyOne(read(ctx, j, scanOne[string], `SELECT oid FROM pins WHERE repo = ? AND ref = ?`, repo, ref))
}

// Pins lists the pins whose refs begin with a prefix, in the order of their
// names.
func (j *Journal) Pins(ctx context.Context, repo croft.ID, prefix string) ([]Pin, error) {
	return read(ctx, j, func(rows *sql.Rows) (p Pin, err error) { return p, rows.Scan(&p.Ref, &p.OID) },
		`SELECT ref, oid FROM pins WHERE repo = ? AND ref >= ? AND ref < ? ORDER BY ref`, repo, prefix, prefixEnd(prefix))
}

// prefixEnd is the first text that does not begin with a prefix and is larger.
func prefixEnd(prefix string) string { return strings.TrimSuffix(prefix, "/") + "0" }
