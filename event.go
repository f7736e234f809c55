package croft

import (
	"context"
	"iter"
	"time"
)

// Cursor is a place in the stream of events. It is opaque. A Service that lost its state
// refuses the cursors from before with CursorExpired.
type Cursor string

// Event is something that happened: a noun and a verb in the past tense, such as
// "workspace.created". It names its subjects and has the nouns that it changed, so that a
// program which follows events need not ask.
type Event struct {
	Cursor         Cursor    `json:"cursor"`
	Time           time.Time `json:"time"`
	Kind           string    `json:"kind"`
	Actor          string    `json:"actor,omitempty"` // who made the change: the user, or "agent in NAME"
	ActorWorkspace ID        `json:"actorWorkspace,omitempty"`
	Subjects
	After *Nouns `json:"after,omitempty"` // absent in events that an earlier version of Croft wrote
}

// Subjects are the IDs of everything that an event tells of.
type Subjects struct {
	Repo          ID     `json:"repo,omitempty"`
	Workspace     ID     `json:"workspace,omitempty"`
	WorkspaceName string `json:"workspaceName,omitempty"`
	Merge         ID     `json:"merge,omitempty"`
	Session       ID     `json:"session,omitempty"`
	Round         ID     `json:"round,omitempty"`
	Snapshot      ID     `json:"snapshot,omitempty"`
	Review        ID     `json:"review,omitempty"`
	Operation     ID     `json:"operation,omitempty"` // the act of the history that it is a part of
	Lease         ID     `json:"lease,omitempty"`
	Target        string `json:"target,omitempty"` // a branch
}

// Nouns are the subjects of an event after the change, as they are recorded: an event
// runs no git, so that what is only looked up (Env, whether a workspace is broken) is not
// in it. Apply one after the other, or let the package replica do that.
type Nouns struct {
	Workspace *Workspace `json:"workspace,omitempty"`
	Merge     *Merge     `json:"merge,omitempty"`
	Session   *Session   `json:"session,omitempty"`
	Round     *Round     `json:"round,omitempty"` // without its workspaces
	Snapshot  *Snapshot  `json:"snapshot,omitempty"`
	Review    *Review    `json:"review,omitempty"` // without its files
	Lane      *Lane      `json:"lane,omitempty"`
}

// The kinds of events.
const (
	EventWorkspaceCreating  = "workspace.creating"
	EventWorkspaceCreated   = "workspace.created"
	EventWorkspaceChanged   = "workspace.changed"   // something else in its record
	EventWorkspaceForgotten = "workspace.forgotten" // its record is gone: it was not made, or nothing is left of it
	EventWorkspaceRemoved   = "workspace.removed"
	EventWorkspaceLocked    = "workspace.locked"
	EventWorkspaceUnlocked  = "workspace.unlocked"
	EventWorkspaceReaped    = "workspace.reaped"
	EventWorkspaceRebuilt   = "workspace.rebuilt"
	EventWorkspaceMoved     = "workspace.moved" // its record has followed its directory
	EventWorkspaceRestored  = "workspace.restored"
	EventWorkspaceSaved     = "workspace.saved"
	EventLeaseTaken         = "lease.taken"
	EventLeaseReleased      = "lease.released"
	EventBranchDeleted      = "branch.deleted"
	EventOperationUndone    = "operation.undone"
	EventWorkspaceFinished  = "workspace.finished"
	EventMergeQueued        = "merge.queued"
	EventMergeStarted       = "merge.started" // its lane works on it
	EventMergeChecking      = "merge.checking"
	EventMergeHeld          = "merge.held"
	EventMergeReleased      = "merge.released"
	EventMergeMerged        = "merge.merged"
	EventMergePending       = "merge.pending"
	EventMergeDiscarded     = "merge.discarded"
	EventMergeReverted      = "merge.reverted"
	EventMergeCanceled      = "merge.canceled"
	EventMergeChanged       = "merge.changed" // otherwise: its place in the queue, say, or its status
	EventTargetMoved        = "target.moved"  // outside of its lane
	EventReviewCreated      = "review.created"
	EventSessionStarted     = "session.started"
	EventSessionEnded       = "session.ended"
	EventRoundStarted       = "round.started"
	EventRoundEnded         = "round.ended"
	EventTrashStripped      = "trash.stripped"  // directories that can be made again were deleted
	EventTrashAnnounced     = "trash.announced" // its directory, or what is left of it, is going to be deleted
	EventTrashPurged        = "trash.purged"    // it cannot be restored any more
	EventTrashReduced       = "trash.reduced"   // its directory was deleted; commits and a snapshot are left
)

// EventKinds returns the kinds of events.
func EventKinds() []string {
	return []string{
		EventWorkspaceCreating, EventWorkspaceCreated, EventWorkspaceChanged, EventWorkspaceForgotten, EventWorkspaceRemoved, EventWorkspaceLocked, EventWorkspaceUnlocked,
		EventWorkspaceReaped, EventWorkspaceRebuilt, EventWorkspaceMoved, EventWorkspaceRestored, EventWorkspaceSaved, EventLeaseTaken, EventLeaseReleased, EventBranchDeleted,
		EventOperationUndone, EventWorkspaceFinished, EventMergeQueued, EventMergeStarted, EventMergeChecking, EventMergeHeld, EventMergeReleased, EventMergeMerged,
		EventMergePending, EventMergeDiscarded, EventMergeReverted, EventMergeCanceled, EventMergeChanged, EventTargetMoved, EventReviewCreated, EventSessionStarted,
		EventSessionEnded, EventRoundStarted, EventRoundEnded, EventTrashStripped, EventTrashAnnounced, EventTrashPurged, EventTrashReduced,
	}
}

// Follow says whether a stream of events ends.
type Follow string

const (
	// FollowNone ends with the last event there is. It is the default.
	FollowNone Follow = ""
	// FollowNew waits for more events until the context ends. That ends the stream
	// without an error.
	FollowNew Follow = "new"
)

// From says where a stream of events begins if no cursor says so.
type From string

const (
	// FromStart begins with the oldest event that is kept. It is the default.
	FromStart From = ""
	// FromNow begins with the first event after the call.
	FromNow From = "now"
)

// EventsRequest chooses events.
type EventsRequest struct {
	After  Cursor   `json:"after,omitempty"` // of the last event seen, or of a List
	From   From     `json:"from,omitempty"`
	Repo   ID       `json:"repo,omitempty"`  // default: all repositories
	Kinds  []string `json:"kinds,omitempty"` // default: all
	Follow Follow   `json:"follow,omitempty"`
}

// Events is the part of Service that streams events.
type Events interface {
	// Events streams events in order, from a cursor on. A caller that was away asks
	// again with the last cursor and misses nothing. Events are kept as long as the
	// history: if one after the cursor is not there any more, or the state was lost, the
	// stream ends with CursorExpired. The caller then lists what it wants to know and
	// goes on from the cursor of that list.
	Events(ctx context.Context, req EventsRequest) iter.Seq2[Event, error]
}
