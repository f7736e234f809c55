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

	// Cause is what it was taken for, Reason the words of the request, and Actor who took it.
	// They are absent if an earlier version of Croft took it.
	Cause  SnapshotCause `json:"cause,omitempty"`
	Reason string        `json:"reason,omitempty"`
	Actor  string        `json:"actor,omitempty"`
}

// SnapshotCause says what a snapshot was taken for.
type SnapshotCause string

// The causes.
const (
	SnapshotRequested     SnapshotCause = "request" // TakeSnapshot
	SnapshotBeforeRestore SnapshotCause = "restore" // before the workspace was put back to another state
	SnapshotBeforeResolve SnapshotCause = "resolve" // before the target was brought into it
	SnapshotBeforeRole    SnapshotCause = "role"    // before changed role files were replaced
)

// SnapshotRequest names the workspace to save.
type SnapshotRequest struct {
	Key       string `json:"key,omitempty"`
	Repo      Ref    `json:"repo,omitempty"`
	Workspace Ref    `json:"workspace,omitempty"` // a name, an ID or a path; default: where Repo lies
	Reason    string `json:"reason,omitempty"`    // why, one line of at most 200 bytes

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
