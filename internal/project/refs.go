package project

import (
	"context"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
)

// The refs that a workspace hangs on. Their names say nothing but its ID.
const (
	wsRefs      = "refs/croft/ws/"
	ArchiveRefs = "refs/croft/archive/"
)

// BaseRef keeps the commit that a workspace began with.
func BaseRef(id croft.ID) string { return wsRefs + string(id) + "/base" }

// HeldRef keeps what the agent of an isolated workspace has beside its branch.
func HeldRef(id croft.ID) string { return wsRefs + string(id) + "/held" }

// ArchiveRef keeps the commit that a removed workspace had checked out.
func ArchiveRef(id croft.ID) string { return ArchiveRefs + string(id) + "/head" }

// ArchiveBranchRef keeps what a removed workspace's branch was at when it was deleted.
func ArchiveBranchRef(id croft.ID) string { return ArchiveRefs + string(id) + "/branch" }

// ArchiveStateRef keeps what only the index and an act in progress needed.
func ArchiveStateRef(id croft.ID) string { return ArchiveRefs + string(id) + "/state" }

// ArchiveOwnRef keeps branches, tags and stashes that the agent of an isolated
// workspace made in its own git directory, with their names.
func ArchiveOwnRef(id croft.ID) string { return ArchiveRefs + string(id) + "/own" }

// ArchiveWorkRef keeps a snapshot of what was not committed, once the directory
// that held it went from the trash.
func ArchiveWorkRef(id croft.ID) string { return ArchiveRefs + string(id) + "/work" }

// SaveRecord writes a changed record to the database.
func (p *Projects) SaveRecord(ctx context.Context, rec *journal.Record, then func(*journal.Tx) error) error {
	rec.Generation++
	return p.Journal.Update(ctx, func(tx *journal.Tx) error {
		if err := tx.Put(*rec); err != nil || then == nil {
			return err
		}
		return then(tx)
	})
}

// SnapshotRefs begins the names of the refs of snapshots.
const SnapshotRefs = "refs/croft/snapshot/"
