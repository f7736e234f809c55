package croft

import (
	"context"
	"time"
)

// Snapshot is the whole state of a workspace at one moment: HEAD, index, files
// and whatever was in progress. Files that git ignores are in it where the
// configuration says so.
type Snapshot struct {
	ID            ID        `json:"id"`
	RepoID        ID        `json:"repoId,omitempty"`
	Workspace     ID        `json:"workspace"`
	WorkspaceName string    `json:"workspaceName"`
	Commit        string    `json:"commit"` // it hangs on a ref under refs/croft/snapshot/
	Files         int       `json:"files"`  // files that are not as the commit has them: staged, modified, deleted or untracked
	Bytes         int64     `json:"bytes"`  // the sizes of the contents that are stored of them
	CreatedAt     time.Time `json:"createdAt"`
}

// SnapshotRequest names the workspace to save.
type SnapshotRequest struct {
	Key       string `json:"key,omitempty"`
	Repo      Ref    `json:"repo,omitempty"`
	Workspace Ref    `json:"workspace,omitempty"` // a name, an ID or a path; default: where Repo lies

	IfRevision int `json:"ifRevision,omitempty"` // fails with RevisionChanged if the workspace is at another revision
}

// SnapshotsRequest chooses snapshots.
type SnapshotsRequest struct {
	Repo Ref `json:"repo,omitempty"`
	Page
}

// Snapshots is the part of Service that saves the state of workspaces.
// [Trash.Restore] brings a workspace back to a snapshot.
type Snapshots interface {
	// TakeSnapshot saves the state of a workspace without disturbing it. The snapshot is
	// on disk when TakeSnapshot returns.
	TakeSnapshot(ctx context.Context, req SnapshotRequest) (*Snapshot, error)

	// Snapshot finds a snapshot by its ID, or fails with SnapshotNotFound.
	Snapshot(ctx context.Context, req GetRequest) (*Snapshot, error)

	// Snapshots lists the snapshots of a repository, oldest first.
	Snapshots(ctx context.Context, req SnapshotsRequest) (*List[Snapshot], error)
}
