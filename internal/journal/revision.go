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

// present is what a record keeps whoever writes it: its revision, its meta, what its agent does
// and what was pushed of it.
type present struct {
	generation int
	meta       map[string]string
	activity   *activity.Record
	run        *croft.Run
	push       *croft.Push
	pull       *croft.PullRequest
	pushing    string
}

// present reads the present record of a workspace.
func (t *Tx) present(id croft.ID) (*present, error) {
	p, err := firstRow(collect(t.ctx, t, func(rows *sql.Rows) (p present, err error) {
		var meta, does, run, push, pull, pushing []byte
		if err = rows.Scan(&p.generation, &meta, &does, &run, &push, &pull, &pushing); err != nil {
			return p, err
		}
		for _, f := range []struct {
			text []byte
			to   any
		}{{meta, &p.meta}, {does, &p.activity}, {run, &p.run}, {push, &p.push}, {pull, &p.pull}, {pushing, &p.pushing}} {
			if err == nil && len(f.text) > 0 {
				err = json.Unmarshal(f.text, f.to)
			}
		}
		return p, err
	}, `SELECT generation, r -> '$.workspace.meta', r -> '$.activity', r -> '$.run', r -> '$.workspace.push', r -> '$.workspace.pullRequest', r -> '$.pushing'
		FROM (SELECT generation, CASE WHEN json_valid(record) THEN record END AS r FROM workspaces WHERE id = ?)`, id))
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	return &p, err
}

// SavePush writes a record with other pushes: what was pushed, what is being pushed, and the
// pull request.
func (t *Tx) SavePush(r *Record) error {
	was, err := t.present(r.Workspace.ID)
	if err != nil {
		return err
	}
	if was != nil {
		r.Workspace.Meta = was.meta
	}
	return t.write(r, was)
}
