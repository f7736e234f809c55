package croft

import (
	"math"
	"slices"
	"time"
)

// Condition says in a word what a workspace is like now, so that a person or a program
// knows whether to act. State is what the record says; a condition is decided from the
// record, the newest merge, the refs, and the files and commits as far as they were looked
// at. Of the conditions that apply, the first in the list is the one. A merge that has ended
// counts only for the commit that it was about: a new commit makes its result void.
type Condition string

// The conditions, in the order in which they are decided. The last ones are of workspaces
// that were removed; of those, one whose work was merged, or reverted since, is
// ConditionMerged or ConditionReverted.
const (
	ConditionMissing     Condition = "missing"      // its directory is not found
	ConditionBroken      Condition = "broken"       // anything else is not as the record says
	ConditionMaking      Condition = "making"       // it is being made, or its files are being put back
	ConditionUnfinished  Condition = "unfinished"   // the process that made it, put its files back or removed it has died, or could not go on
	ConditionMerging     Condition = "merging"      // its merge is being carried out
	ConditionChecking    Condition = "checking"     // the checks of its merge are running
	ConditionHeld        Condition = "held"         // its merge waits until it is released
	ConditionQueued      Condition = "queued"       // its merge waits
	ConditionWaiting     Condition = "waiting"      // its agent waits for a person, or for something else
	ConditionWorking     Condition = "working"      // a process has a lease on it or is inside, its round goes on, or its agent says so
	ConditionOrphan      Condition = "orphan"       // its leases are over and their owners dead, or the agent that Croft ran is gone without a word; and nobody has finished it since
	ConditionResolving   Condition = "resolving"    // it has unmerged paths, or a merge of its target that is not committed yet
	ConditionConflict    Condition = "conflict"     // its merge met a conflict, and no forecast since says that it is over
	ConditionCheckFailed Condition = "check-failed" // a check failed on the merged result
	ConditionTargetFails Condition = "target-fails" // a check fails on the target itself, which has not moved since
	ConditionUnapproved  Condition = "unapproved"   // the checks of the target wait for a person's approval
	ConditionBlocked     Condition = "blocked"      // changes in the user's checkout of the target are in the way of its merge
	ConditionStuck       Condition = "stuck"        // its merge stays pending for any other reason
	ConditionUnready     Condition = "not-set-up"   // commands that set it up failed, or wait for an approval
	ConditionFailed      Condition = "failed"       // its agent failed, and nothing was committed since
	ConditionKilled      Condition = "killed"       // its agent was killed, and nothing was committed since
	ConditionDirty       Condition = "dirty"        // it has uncommitted changes
	ConditionReverted    Condition = "reverted"     // its merge was reverted, nothing was committed since, and the target has its work by no other way
	ConditionMerged      Condition = "merged"       // all its commits are in the target
	ConditionCollides    Condition = "collides"     // it has commits, and a merge of them into its target would have conflicts
	ConditionToReview    Condition = "to-review"    // it holds the result of a session
	ConditionPending     Condition = "pending"      // it has commits that its target lacks, and its agent has finished or their merge was undone
	ConditionAhead       Condition = "ahead"        // it has commits that its target lacks, and nobody said that they are finished
	ConditionInPlace     Condition = "in-place"     // its agent works in the project itself
	ConditionLocked      Condition = "locked"       // nothing of all this, and a person has locked it
	ConditionUnseen      Condition = "unseen"       // nothing of all this, as far as the record says; nobody has looked at its files, which may have work
	ConditionEmpty       Condition = "empty"        // nothing of all this
	ConditionDiscarded   Condition = "discarded"    // removed: its work was not wanted
	ConditionReaped      Condition = "reaped"       // removed: its agent was dead
	ConditionUndone      Condition = "undone"       // removed: an undo took its creation back
	ConditionRemoved     Condition = "removed"      // removed by anybody else
)

// Conditions returns all conditions, in the order in which they are decided, then those of
// removed workspaces.
func Conditions() []Condition {
	return []Condition{
		ConditionMissing, ConditionBroken, ConditionMaking, ConditionUnfinished, ConditionMerging, ConditionChecking, ConditionHeld,
		ConditionQueued, ConditionWaiting, ConditionWorking, ConditionOrphan, ConditionResolving, ConditionConflict, ConditionCheckFailed,
		ConditionTargetFails, ConditionUnapproved, ConditionBlocked, ConditionStuck, ConditionFailed, ConditionUnready, ConditionKilled, ConditionDirty,
		ConditionReverted, ConditionMerged, ConditionCollides, ConditionToReview, ConditionPending, ConditionAhead, ConditionInPlace,
		ConditionLocked, ConditionUnseen, ConditionEmpty, ConditionDiscarded, ConditionReaped, ConditionUndone, ConditionRemoved,
	}
}

// Action is what a workspace waits for, for programs that act.
type Action string

// The actions.
const (
	ActionDiagnose Action = "diagnose" // Doctor says what is wrong with it
	ActionRepair   Action = "repair"   // Doctor with FixAll
	ActionRelease  Action = "release"  // ChangeQueue with QueueRelease
	ActionDrive    Action = "drive"    // DriveLanes
	ActionDiff     Action = "diff"     // a person reads its work, then merges or discards it
	ActionRemove   Action = "remove"   // Remove
	ActionWork     Action = "work"     // an agent or a person goes inside
	ActionAnswer   Action = "answer"   // a person answers its agent, where that runs
	ActionMerge    Action = "merge"    // SubmitMerge
	ActionResolve  Action = "resolve"  // Resolve
	ActionApprove  Action = "approve"  // a person approves the checks of the target
	ActionAccept   Action = "accept"   // a person accepts that the target moved outside of its lane
	ActionLogs     Action = "logs"     // CheckLog: a person or an agent reads what the check printed
	ActionShow     Action = "show"     // a person reads why
	ActionUnlock   Action = "unlock"   // Unlock
	ActionReview   Action = "review"   // CreateReview
	ActionSetUp    Action = "set-up"   // Provision
	ActionFinish   Action = "finish"   // Finish
	ActionPush     Action = "push"     // Push with PullRequestOpen
	ActionFollow   Action = "follow"   // RefreshPush: a person merges its pull request at its host
	ActionRestore  Action = "restore"  // Restore
)

// Next is the step that a workspace waits for.
type Next struct {
	What    string `json:"what"` // why it waits for that, or its condition, for people
	Action  Action `json:"action"`
	Command string `json:"command,omitempty"` // the same as a command line of croft
}

// Aspect is a side of a workspace that a look at it examines.
type Aspect string

// The aspects.
const (
	AspectCommits   Aspect = "commits"   // its commits, against the target
	AspectFiles     Aspect = "files"     // its uncommitted files
	AspectProcesses Aspect = "processes" // the processes inside, other than the caller and those that it runs for
)

// NoLimit is for a look that may take as long as it needs.
const NoLimit Duration = math.MaxInt64

// Work is what a look at a workspace saw.
type Work struct {
	// Seen is what was looked at in the time that there was. Fields of what is not in it say
	// nothing.
	Seen []Aspect `json:"seen"`

	Ahead   int `json:"ahead"`   // commits: those that the target lacks
	Behind  int `json:"behind"`  // commits: those of the target that it lacks
	Added   int `json:"added"`   // commits: lines since it left the target; with files, uncommitted and new files included
	Deleted int `json:"deleted"` // commits: likewise
	Changed int `json:"changed"` // commits: likewise the files; one that was renamed is one

	Uncommitted int       `json:"uncommitted"`        // files: paths with uncommitted changes
	HeldBack    int       `json:"heldBack,omitempty"` // files: those of Uncommitted that Finish, SubmitMerge and Save do not commit
	Unmerged    int       `json:"unmerged"`           // files: those of them with conflicts
	IdleSince   time.Time `json:"idleSince,omitzero"` // files: the last write or commit that was noticed

	Inside []string `json:"inside,omitempty"` // processes: their names
}

// Has reports whether a look examined an aspect; nothing was looked at without one.
func (w *Work) Has(a Aspect) bool { return w != nil && slices.Contains(w.Seen, a) }

// IsUnseen reports whether nothing is known of a workspace's work because nobody has looked at its
// files: it may have uncommitted work. The answer of an act on it is [ConditionEmpty] then.
func (w *Workspace) IsUnseen() bool {
	return w.Status == ConditionUnseen || w.Status == ConditionEmpty && !w.Work.Has(AspectFiles)
}

// Finished is the end of an agent, as Finish recorded it.
type Finished struct {
	Outcome Outcome   `json:"outcome"`
	Head    string    `json:"head,omitempty"` // the commit that the workspace was left at
	At      time.Time `json:"at"`
}

// IsMergeable reports whether a merge takes a workspace of this condition as it is: somebody is at work in others, their agent
// has failed, a check did, or they have work that is not committed or that was taken back.
func (c Condition) IsMergeable() bool {
	switch c {
	case ConditionAhead, ConditionPending, ConditionToReview, ConditionCollides, ConditionConflict:
		return true
	}
	return false
}
