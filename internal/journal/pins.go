package journal

import (
	"context"
	"database/sql"
	"strings"

	"github.com/croft-sh/croft"
)

// Pin is an object that Croft keeps in a repository, and the ref that keeps git from
// collecting it. OID is the object that Croft means, whatever the ref names: an agent
// that works in the repository can move the ref.
type Pin struct{ Ref, OID string }

// PutPin records the object that a ref keeps.
func (t *Tx) PutPin(repo croft.ID, p Pin) error {
	_, err := t.exec(`INSERT INTO pins (repo, ref, oid) VALUES (?, ?, ?)
		ON CONFLICT (repo, ref) DO UPDATE SET oid = excluded.oid`, repo, p.Ref, p.OID)
	return err
}

// DeletePin deletes a pin. The ref stays.
func (t *Tx) DeletePin(repo croft.ID, ref string) error {
	_, err := t.exec(`DELETE FROM pins WHERE repo = ? AND ref = ?`, repo, ref)
	return err
}

// Pin finds the object that a ref of Croft's keeps.
func (j *Journal) Pin(ctx context.Context, repo croft.ID, ref string) (string, error) {
	return firstRow(read(ctx, j, scanOne[string], `SELECT oid FROM pins WHERE repo = ? AND ref = ?`, repo, ref))
}

// Pins lists the pins whose refs begin with a prefix, in the order of the refs' names.
func (j *Journal) Pins(ctx context.Context, repo croft.ID, prefix string) ([]Pin, error) {
	return read(ctx, j, func(rows *sql.Rows) (p Pin, err error) { return p, rows.Scan(&p.Ref, &p.OID) },
		`SELECT ref, oid FROM pins WHERE repo = ? AND ref >= ? AND ref < ? ORDER BY ref`, repo, prefix, prefixEnd(prefix))
}

// prefixEnd returns the first string after all strings that begin with a prefix, which
// ends in "/".
func prefixEnd(prefix string) string { return strings.TrimSuffix(prefix, "/") + "0" }
