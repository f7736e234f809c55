package croft

import (
	"context"
	"time"
)

// TrashItem is a removed workspace that can be restored.
type TrashItem struct {
	ID        ID        `json:"id"`
	Name      string    `json:"name"`
	Branch    string    `json:"branch,omitempty"`
	Path      string    `json:"path"`  // where it lay, and would lie again
	Bytes     int64     `json:"bytes"` // on disk
	RemovedAt time.Time `json:"removedAt"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// RestoreRequest names what to bring back.
type RestoreRequest struct {
	Repo string `json:"repo,omitempty"`
	Ref  string `json:"ref"` // required: an ID of the trash or of a snapshot, or a name
}

// Trash is the part of Service that brings removed workspaces back.
type Trash interface {
	// Trash lists what can be restored, the most recently removed first.
	Trash(ctx context.Context, repo string) ([]TrashItem, error)

	// Restore brings a removed workspace back: branch, registration, files,
	// index and whatever was in progress, at the identical path. It fails with
	// WorktreeExists, BranchExists or BranchInUse if something else is there
	// now, and then the workspace is still in the trash. Of several removed
	// workspaces of one name it takes the last. One that is not in the trash is
	// WorktreeNotFound.
	//
	// Given a snapshot's ID, it brings the workspace back to that state, in
	// place; ignored files stay. What the workspace is now is saved as another
	// snapshot first. A process or a lease inside keeps it as it is, with
	// WorkspaceBusy, and so does a lock.
	Restore(ctx context.Context, req RestoreRequest) (*Workspace, error)
}
