package croft

import (
	"context"
	"encoding/json"
	"iter"
	"time"
)

// Event is something that happened: a noun and a verb in the past tense, such
// as "workspace.created".
type Event struct {
	Cursor    int64           `json:"cursor"` // increases, with gaps; never reused, also when the state was lost
	Time      time.Time       `json:"time"`
	Kind      string          `json:"kind"`
	Repo      ID              `json:"repo,omitempty"`
	Workspace ID              `json:"workspace,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"`
}

// The kinds of events.
const (
	EventWorkspaceCreated  = "workspace.created"
	EventWorkspaceRemoved  = "workspace.removed"
	EventWorkspaceLocked   = "workspace.locked"
	EventWorkspaceUnlocked = "workspace.unlocked"
	EventWorkspaceReaped   = "workspace.reaped"
	EventWorkspaceRebuilt  = "workspace.rebuilt"
	EventWorkspaceMoved    = "workspace.moved" // its record has followed its directory
	EventWorkspaceRestored = "workspace.restored"
	EventWorkspaceSaved    = "workspace.saved"
	EventLeaseTaken        = "lease.taken"
	EventLeaseReleased     = "lease.released"
	EventBranchDeleted     = "branch.deleted"
	EventOperationUndone   = "operation.undone"
	EventWorkspaceFinished = "workspace.finished"
	EventMergeQueued       = "merge.queued"
	EventMergeMerged       = "merge.merged"
	EventMergePending      = "merge.pending"
	EventMergeDiscarded    = "merge.discarded"
	EventMergeReverted     = "merge.reverted"
	EventMergeCanceled     = "merge.canceled"
	EventTargetMoved       = "target.moved" // outside of its lane
	EventReviewCreated     = "review.created"
	EventSessionStarted    = "session.started"
	EventSessionEnded      = "session.ended"
	EventRoundStarted      = "round.started"
	EventRoundEnded        = "round.ended"
	EventTrashStripped     = "trash.stripped"  // directories that can be made again were deleted
	EventTrashAnnounced    = "trash.announced" // its directory, or what is left of it, is going to be deleted
	EventTrashPurged       = "trash.purged"    // it cannot be restored any more
	EventTrashReduced      = "trash.reduced"   // its directory was deleted; commits and a snapshot are left
)

// Follow says whether a stream of events ends.
type Follow string

const (
	// FollowNone ends with the last event there is. It is the default.
	FollowNone Follow = ""
	// FollowNew waits for more events until the context ends. That ends the stream
	// without an error.
	FollowNew Follow = "new"
)

// EventsRequest chooses events.
type EventsRequest struct {
	After  int64    `json:"after,omitempty"` // the cursor of the last event seen
	Repo   ID       `json:"repo,omitempty"`  // default: all repositories
	Kinds  []string `json:"kinds,omitempty"` // default: all
	Follow Follow   `json:"follow,omitempty"`
}

// Events is the part of Service that streams events.
type Events interface {
	// Events streams events in order, from a cursor on. A caller that was away asks
	// again with the last cursor and misses nothing that is still kept; events are kept
	// as long as the history.
	Events(ctx context.Context, req EventsRequest) iter.Seq2[Event, error]
}
