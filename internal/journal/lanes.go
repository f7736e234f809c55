package journal

import (
	"context"
	"database/sql"

	"github.com/croft-sh/croft"
)

// PutLaneTip notes the commit that a lane has left its target at.
func (t *Tx) PutLaneTip(repo croft.ID, target, tip string) error {
	_, err := t.exec(`INSERT INTO lanes (repo, target, tip) VALUES (?, ?, ?)
		ON CONFLICT (repo, target) DO UPDATE SET tip = excluded.tip`, repo, target, tip)
	return err
}

// LaneTip is the commit that a lane left its target at, or ErrNotFound if it
// never moved it.
func (j *Journal) LaneTip(ctx context.Context, repo croft.ID, target string) (string, error) {
	return one(read(ctx, j, scanText, `SELECT tip FROM lanes WHERE repo = ? AND target = ?`, repo, target))
}

func scanText(rows *sql.Rows) (text string, err error) { return text, rows.Scan(&text) }
