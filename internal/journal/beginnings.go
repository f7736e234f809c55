package journal

import (
	"context"
	"database/sql"

	"github.com/croft-sh/croft"
)

// Identified says whose IDs are looked for.
type Identified string

// What is named by the beginning of its ID. The plus keeps SQLite from going through all rows of a
// repository.
const (
	IdentifiedLive     Identified = `SELECT id FROM workspaces WHERE +repo = ?1 AND id >= ?2 AND id < ?3 AND ` + live
	IdentifiedTrashed  Identified = `SELECT id FROM workspaces WHERE +repo = ?1 AND id >= ?2 AND id < ?3 AND state = 'trashed'`
	IdentifiedActs     Identified = `SELECT DISTINCT act FROM operations WHERE +repo = ?1 AND act >= ?2 AND act < ?3`
	IdentifiedMerges   Identified = `SELECT id FROM merges WHERE +repo = ?1 AND id >= ?2 AND id < ?3`
	IdentifiedSessions Identified = `SELECT id FROM sessions WHERE (?1 = '' OR repo = ?1) AND id >= ?2 AND id < ?3`
)

// IDsBeginning returns IDs in a repository that begin with a text: some of them, if there are many.
func (j *Journal) IDsBeginning(ctx context.Context, of Identified, repo croft.ID, text string) ([]croft.ID, error) {
	const last = "~" // stands after all characters of IDs
	return readList(ctx, j, func(rows *sql.Rows) (id croft.ID, err error) { return id, rows.Scan(&id) }, string(of)+` ORDER BY 1 LIMIT 9`, repo, text, text+last)
}
