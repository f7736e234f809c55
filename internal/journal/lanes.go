package journal

import (
	"context"
	"database/sql"

	"github.com/croft-sh/croft"
)

// LaneTip is the commit that a lane has left its target at.
type LaneTip struct{ Target, Tip string }

const laneTip = `SELECT tip FROM lanes WHERE repo = ? AND target = ?`

// PutLaneTip notes the commit that a lane has left its target at.
func (t *Tx) PutLaneTip(repo croft.ID, target, tip string) error {
	_, err := t.exec(`INSERT INTO lanes (repo, target, tip) VALUES (?, ?, ?)
		ON CONFLICT (repo, target) DO UPDATE SET tip = excluded.tip`, repo, target, tip)
	return err
}

// LaneTip is the commit that a lane left its target at, or ErrNotFound if it
// never moved it.
func (j *Journal) LaneTip(ctx context.Context, repo croft.ID, target string) (string, error) {
	return onlyOne(read(ctx, j, scanText, laneTip, repo, target))
}

// LaneTip is the same in a transaction.
func (t *Tx) LaneTip(repo croft.ID, target string) (string, error) {
	return onlyOne(collect(t.ctx, t, scanText, laneTip, repo, target))
}

// LaneTips lists what the lanes of a repository left their targets at, in the
// order of the targets' names.
func (j *Journal) LaneTips(ctx context.Context, repo croft.ID) ([]LaneTip, error) {
	return read(ctx, j, func(rows *sql.Rows) (l LaneTip, err error) { return l, rows.Scan(&l.Target, &l.Tip) },
		`SELECT target, tip FROM lanes WHERE repo = ? ORDER BY target`, repo)
}

func scanText(rows *sql.Rows) (text string, err error) { return text, rows.Scan(&text) }
