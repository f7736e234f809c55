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
	Cursor         Cursor    `json:"cursor"`          // where a reader goes on later
	Time           time.Time `json:"time"`            // when it happened
	Kind           string    `json:"kind"`            // what happened
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
	Batch         ID     `json:"batch,omitempty"`  // of a check: what it is a check of; Merge is the topmost merge in its tree
	Check         ID     `json:"check,omitempty"`
}

// Nouns are the subjects of an event after the change, as they are recorded: an event
// runs no git, so that what is only looked up (Env, whether a workspace is broken) is not
// in it. The head of a workspace is as the last act that committed left it, or as a Service
// that looks by itself has seen it. Work is in the events of an act that looked at the
// files. A list looks and tells nothing. Apply one after the other, or let the package
// replica do that.
type Nouns struct {
	Workspace *Workspace `json:"workspace,omitempty"`
	Merge     *Merge     `json:"merge,omitempty"`
	Session   *Session   `json:"session,omitempty"`
	Round     *Round     `json:"round,omitempty"` // without its workspaces
	Snapshot  *Snapshot  `json:"snapshot,omitempty"`
	Review    *Review    `json:"review,omitempty"` // without its files
	Lane      *Lane      `json:"lane,omitempty"`
	Check     *Check     `json:"check,omitempty"`
	Approval  *Approval  `json:"approval,omitempty"`
	Progress  *Progress  `json:"progress,omitempty"`

	// Output is what a check printed since the last event of this kind.
	Output *CheckOutput `json:"output,omitempty"`
}

// The kinds of events.
const (
	EventWorkspaceCreating   = "workspace.creating"    // it is being made
	EventWorkspaceCreated    = "workspace.created"     // an agent may work in it
	EventWorkspaceAdopted    = "workspace.adopted"     // somebody else had made its worktree
	EventWorkspaceChanged    = "workspace.changed"     // something else in its record; where a Service looks by itself, also its head, and whether it has uncommitted changes
	EventWorkspaceForgotten  = "workspace.forgotten"   // its record is gone: it was not made, or nothing is left of it
	EventWorkspaceRemoved    = "workspace.removed"     // it went to the trash
	EventWorkspaceLocked     = "workspace.locked"      // a person locked it
	EventWorkspaceUnlocked   = "workspace.unlocked"    // a person unlocked it
	EventWorkspaceReaped     = "workspace.reaped"      // it went to the trash: its agent was dead
	EventWorkspaceRebuilt    = "workspace.rebuilt"     // the doctor made its record again
	EventWorkspaceMoved      = "workspace.moved"       // its record has followed its directory
	EventWorkspaceRestored   = "workspace.restored"    // it came back from the trash, or to a snapshot
	EventWorkspaceSaved      = "workspace.saved"       // a snapshot of it was taken
	EventLeaseTaken          = "lease.taken"           // a process is at work in the workspace
	EventLeaseReleased       = "lease.released"        // that process has ended its work
	EventBranchDeleted       = "branch.deleted"        // the branch of a workspace that is gone; its tip is kept
	EventOperationUndone     = "operation.undone"      // an act of the history was undone
	EventOperationProgressed = "operation.progressed"  // an act that takes more than a second has come so far
	EventWorkspaceFinished   = "workspace.finished"    // its agent has ended; if its work is merged, merge.queued follows
	EventWorkspaceReported   = "workspace.reported"    // what its agent does has changed
	EventWorkspaceLeft       = "workspace.left"        // its agent does not need it any more; it is kept, because its work is nowhere else
	EventRunStarted          = "run.started"           // Croft has started an agent in the workspace
	EventRunEnded            = "run.ended"             // … and it has ended: How says how
	EventRunIntruded         = "run.intruded"          // something outside of the workspace changed while its agent ran
	EventWorkspacePushed     = "workspace.pushed"      // a remote has its commits
	EventPullRequestOpened   = "pull_request.opened"   // its branch has a pull request
	EventPullRequestMerged   = "pull_request.merged"   // its host has merged it
	EventPullRequestClosed   = "pull_request.closed"   // it was closed without a merge
	EventPullRequestAdvanced = "pull_request.advanced" // it was merged, and its workspace has commits since
	EventMergeQueued         = "merge.queued"          // it waits in its lane
	EventMergeStarted        = "merge.started"         // its lane works on it
	EventMergeChecking       = "merge.checking"        // the checks of the target run on it
	EventMergeHeld           = "merge.held"            // it waits until it is released
	EventMergeReleased       = "merge.released"        // it waits no longer for that
	EventMergeMerged         = "merge.merged"          // its target has it
	EventMergePending        = "merge.pending"         // it was not merged: its reason says why, or it waits for a person
	EventMergeDiscarded      = "merge.discarded"       // its work is not wanted
	EventMergeReverted       = "merge.reverted"        // its target has a commit that undoes it
	EventMergeCanceled       = "merge.canceled"        // it was taken out of its lane
	EventMergeChanged        = "merge.changed"         // otherwise: its place in the queue, say, or its status
	EventCheckStarted        = "check.started"         // a check of a merge runs
	EventCheckOutput         = "check.output"          // a check has printed something
	EventCheckEnded          = "check.ended"           // State says how
	EventTargetMoved         = "target.moved"          // outside of its lane
	EventApprovalGiven       = "approval.given"        // a person allowed something that an agent may not
	EventApprovalWithdrawn   = "approval.withdrawn"    // a person does not allow it any more
	EventReviewCreated       = "review.created"        // work was frozen for a review
	EventSessionStarted      = "session.started"       // a session has begun
	EventSessionChanged      = "session.changed"       // something else in its record
	EventSessionEnded        = "session.ended"         // a session has ended
	EventRoundStarted        = "round.started"         // its agents may begin
	EventRoundEnded          = "round.ended"           // its checkouts are in the trash
	EventTrashStripped       = "trash.stripped"        // directories that can be made again were deleted
	EventTrashAnnounced      = "trash.announced"       // its directory, or what is left of it, is going to be deleted
	EventTrashPurged         = "trash.purged"          // it cannot be restored any more
	EventTrashReduced        = "trash.reduced"         // its directory was deleted; commits and a snapshot are left
)

// EventKinds returns the kinds of events.
func EventKinds() []string {
	return []string{
		EventWorkspaceCreating, EventWorkspaceCreated, EventWorkspaceAdopted, EventWorkspaceChanged, EventWorkspaceForgotten, EventWorkspaceRemoved, EventWorkspaceLocked, EventWorkspaceUnlocked,
		EventWorkspaceReaped, EventWorkspaceRebuilt, EventWorkspaceMoved, EventWorkspaceRestored, EventWorkspaceSaved, EventLeaseTaken, EventLeaseReleased, EventBranchDeleted,
		EventOperationUndone, EventOperationProgressed, EventWorkspaceFinished, EventWorkspaceReported, EventWorkspaceLeft, EventRunStarted, EventRunEnded, EventRunIntruded, EventWorkspacePushed, EventPullRequestOpened, EventPullRequestMerged, EventPullRequestClosed, EventPullRequestAdvanced, EventMergeQueued, EventMergeStarted, EventMergeChecking, EventMergeHeld, EventMergeReleased, EventMergeMerged,
		EventMergePending, EventMergeDiscarded, EventMergeReverted, EventMergeCanceled, EventMergeChanged, EventCheckStarted, EventCheckOutput, EventCheckEnded, EventTargetMoved, EventApprovalGiven, EventApprovalWithdrawn, EventReviewCreated, EventSessionStarted,
		EventSessionChanged, EventSessionEnded, EventRoundStarted, EventRoundEnded, EventTrashStripped, EventTrashAnnounced, EventTrashPurged, EventTrashReduced,
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
	Repo   ID       `json:"repo,omitempty"`  // the ID alone; default: all repositories
	Kinds  []string `json:"kinds,omitempty"` // default: all
	Follow Follow   `json:"follow,omitempty"`

	// Workspace wants events of which it is the subject only; default: all events.
	Workspace ID `json:"workspace,omitempty"`
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
