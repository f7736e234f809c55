package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/activity"
)

// RevisionError says that something is at another revision than a caller has seen.
type RevisionError struct{ Have, Want int }

func (e *RevisionError) Error() string {
	return fmt.Sprintf("it is at revision %d, not at %d", e.Have, e.Want)
}

// CheckRevision fails with a RevisionError if a caller wants another revision than there
// is. Zero wants any.
func CheckRevision(have, want int) error {
	if want != 0 && have != want {
		return &RevisionError{have, want}
	}
	return nil
}

// Claim counts a new revision of a workspace that is at the wanted one, and fails with a
// RevisionError if it is at another. So of several callers that have seen the same revision
// one goes on, before anything is done. by names a call with a key, which may claim once
// more if its process died and nothing has changed since; empty: a call without one.
func (j *Journal) Claim(ctx context.Context, id croft.ID, want int, by string) error {
	return j.Update(ctx, func(tx *Tx) error {
		rec, err := tx.Record(id)
		if err != nil {
			return err
		}
		if by != "" && rec.ClaimedBy == by && rec.Generation == want+1 {
			return nil
		}
		if err := CheckRevision(rec.Generation, want); err != nil {
			return err
		}
		rec.ClaimedBy = by
		return tx.PutRecord(rec)
	})
}

// present is what a record keeps whoever writes it: its revision, and its meta.
type present struct {
	generation int
	meta       map[string]string
	activity   *activity.Record
}

// present reads the present record of a workspace.
func (t *Tx) present(id croft.ID) (*present, error) {
	p, err := firstRow(collect(t.ctx, t, func(rows *sql.Rows) (p present, err error) {
		var meta, does []byte
		if err = rows.Scan(&p.generation, &meta, &does); err == nil && len(meta) > 0 {
			err = json.Unmarshal(meta, &p.meta)
		}
		if err == nil && len(does) > 0 {
			err = json.Unmarshal(does, &p.activity)
		}
		return p, err
	}, `SELECT generation, CASE WHEN json_valid(record) THEN record -> '$.workspace.meta' END,
		CASE WHEN json_valid(record) THEN record -> '$.activity' END FROM workspaces WHERE id = ?`, id))
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	return &p, err
}
