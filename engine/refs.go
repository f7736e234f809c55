package engine

import (
	"context"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
)

// The refs that a workspace hangs on. Their names say nothing but its ID.
const (
	wsRefs      = "refs/croft/ws/"
	archiveRefs = "refs/croft/archive/"
)

func baseRef(id croft.ID) string { return wsRefs + string(id) + "/base" }

// heldRef keeps what the agent of an isolated workspace has beside its branch.
func heldRef(id croft.ID) string { return wsRefs + string(id) + "/held" }

// archiveRef keeps the commit that a removed workspace had checked out, and
// archiveBranchRef the tip of its branch where that was another one.
func archiveRef(id croft.ID) string       { return archiveRefs + string(id) + "/head" }
func archiveBranchRef(id croft.ID) string { return archiveRefs + string(id) + "/branch" }

// archiveStateRef keeps what only the index and an act in progress needed.
func archiveStateRef(id croft.ID) string { return archiveRefs + string(id) + "/state" }

// archiveOwnRef keeps branches, tags and stashes that the agent of an isolated
// workspace made in its own git directory, with their names.
func archiveOwnRef(id croft.ID) string { return archiveRefs + string(id) + "/own" }

// archiveWorkRef keeps a snapshot of what was not committed, once the directory
// that held it went from the trash.
func archiveWorkRef(id croft.ID) string { return archiveRefs + string(id) + "/work" }

// saveRecord writes a changed record to the database.
func (e *Engine) saveRecord(ctx context.Context, rec *journal.Record, then func(*journal.Tx) error) error {
	rec.Generation++
	return e.journal.Update(ctx, func(tx *journal.Tx) error {
		if err := tx.Put(*rec); err != nil || then == nil {
			return err
		}
		return then(tx)
	})
}
