package croft

import (
	"context"
	"time"
)

// TrashItem is a removed workspace that can be restored.
type TrashItem struct {
	ID        ID        `json:"id"`
	Name      string    `json:"name"`
	RepoID    ID        `json:"repoId,omitempty"`
	Branch    string    `json:"branch,omitempty"`
	Path      string    `json:"path"`         // where it lay, and would lie again
	Bytes     int64     `json:"bytes"`        // the sizes of its files on disk
	Inodes    int64     `json:"inodes"`       // its files and directories on disk
	Left      TrashLeft `json:"left"`         // what is left of it
	As        Condition `json:"as,omitempty"` // why it was removed: merged, discarded, reaped, undone, or removed by anybody else
	RemovedAt time.Time `json:"removedAt"`    // when it was removed
	ExpiresAt time.Time `json:"expiresAt"`    // of what is left

	// Stripped are directories that can be made again, such as node_modules,
	// and that went before the rest.
	Stripped []string `json:"stripped,omitempty"`
	// PurgeAt is when the rest of the item is going to be deleted, once that was
	// announced.
	PurgeAt time.Time `json:"purgeAt,omitzero"`
	// Stays is why the directory could not be deleted when its time had come.
	Stays string `json:"stays,omitempty"`
}

// TrashLeft says what is left of a removed workspace.
type TrashLeft string

const (
	// LeftDirectory: the directory, with everything that was in it.
	LeftDirectory TrashLeft = "directory"
	// LeftSnapshot: the commits, and a snapshot of what was not committed.
	LeftSnapshot TrashLeft = "snapshot"
	// LeftCommits: the commits, which were all that there was.
	LeftCommits TrashLeft = "commits"
	// LeftAway: the directory, which is not where it was put. It was moved, or its
	// drive is not mounted.
	LeftAway TrashLeft = "away"
)

// TrashReason says why an item is deleted from the trash.
type TrashReason string

const (
	// TrashExpired: the item was kept for as long as the configuration says.
	TrashExpired TrashReason = "expired"
	// TrashOverBudget: the trash is larger than the configuration allows.
	TrashOverBudget TrashReason = "budget"
)

// Announcement says that work which is not in its target is going to be deleted
// from the trash.
type Announcement struct {
	ID     ID          `json:"id"`
	Name   string      `json:"name"`
	Left   TrashLeft   `json:"left"` // what goes: after the directory, a snapshot or commits are left
	At     time.Time   `json:"at"`   // when it goes
	Reason TrashReason `json:"reason"`
}

// TrashRequest chooses removed workspaces.
type TrashRequest struct {
	Repo Ref `json:"repo,omitempty"`
	Page
}

// RestoreRequest names a removed workspace or a snapshot to restore.
type RestoreRequest struct {
	Key  string `json:"key,omitempty"` // the same call after a crash returns the same workspace
	Repo Ref    `json:"repo,omitempty"`
	Ref  Ref    `json:"ref"` // required: an ID of the trash or of a snapshot, or a name
	// Mode RestoreCommits does without a directory that cannot be found.
	Mode RestoreMode `json:"mode,omitempty"`
}

// RestoreMode says whether a restoration needs the directory in the trash.
type RestoreMode string

const (
	// RestoreWhole refuses, with WorkspaceBroken, if the directory in the trash is
	// not there and was not deleted by Croft: it may come back. It is the default.
	RestoreWhole RestoreMode = ""
	// RestoreCommits restores the workspace from git alone in that case. The directory,
	// should it come back, is left alone.
	RestoreCommits RestoreMode = "commits"
)

// Trash is the part of Service that brings removed workspaces back.
type Trash interface {
	// Trash lists the removed workspaces that can be restored, the most recently
	// removed first.
	Trash(ctx context.Context, req TrashRequest) (*List[TrashItem], error)

	// Restore brings a removed workspace back: branch, registration, files, index and
	// whatever was in progress, at the identical path. It fails with WorktreeExists,
	// BranchExists or BranchInUse if something else is there now, and then the
	// workspace is still in the trash. Of several removed workspaces of one name it
	// takes the last. One that is not in the trash is WorktreeNotFound. Parts that were
	// deleted from the trash before, such as directories that can be made again, are
	// named in the workspace's Notes.
	//
	// Given a snapshot's ID, it brings the workspace back to that state, in place;
	// ignored files stay. Its present state is saved as another snapshot first. A
	// process or a lease inside keeps it as it is, with WorkspaceBusy, and so does a
	// lock.
	Restore(ctx context.Context, req RestoreRequest) (*Workspace, error)
}
