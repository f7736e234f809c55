package croft

import (
	"context"
	"time"
)

// MergeKind says what a merge brings to its target.
type MergeKind string

// The kinds.
const (
	KindMerge  MergeKind = "merge"  // the work of a workspace
	KindRevert MergeKind = "revert" // the undoing of an earlier merge
	KindApply  MergeKind = "apply"  // the chosen part of a review
)

// MergeState says how far a merge has come in its lane.
type MergeState string

// The states.
const (
	MergeQueued   MergeState = "queued"
	MergeMerging  MergeState = "merging"
	MergeChecking MergeState = "checking"
	MergeDone     MergeState = "done" // Status and Reason say how
)

// Strategy says what commits a merge makes.
type Strategy string

// The strategies. The default is the configuration's, "no-ff" unless it says
// otherwise.
const (
	StrategyNoFF   Strategy = "no-ff"  // a commit with two parents
	StrategySquash Strategy = "squash" // one commit with all changes, and a linear history
)

// Merge is one piece of work on its way to a target branch. A merge that could
// not be is a result, not an error: its status is MergePending and its reason
// says why.
type Merge struct {
	ID          ID          `json:"id"`
	Kind        MergeKind   `json:"kind"`
	Workspace   string      `json:"workspace"` // its name
	WorkspaceID ID          `json:"workspaceId,omitempty"`
	Target      string      `json:"target"` // a branch
	Strategy    Strategy    `json:"strategy,omitempty"`
	State       MergeState  `json:"state"`
	Status      MergeStatus `json:"status"`           // empty once it is done: there was nothing to merge
	Head        string      `json:"head,omitempty"`   // the commit that is merged
	Commit      string      `json:"commit,omitempty"` // what the target became by it

	Reason  Code   `json:"reason,omitempty"`  // why it stays pending
	Message string `json:"message,omitempty"` // the same in a sentence
	Details string `json:"details,omitempty"`
	Hint    string `json:"hint,omitempty"` // a command that the reader can run next

	Conflicts []ConflictedPath `json:"conflicts,omitempty"`
	Checks    []Check          `json:"checks,omitempty"`
	Later     int              `json:"later,omitempty"`    // of a revert: how many were merged after what it reverts
	Reverts   ID               `json:"reverts,omitempty"`  // of a revert: the merge that it reverts
	Review    ID               `json:"review,omitempty"`   // of an apply: what it is a part of
	Priority  int              `json:"priority,omitempty"` // the higher goes first
	IsHeld    bool             `json:"held,omitempty"`     // it waits until it is released
	Moved     string           `json:"moved,omitempty"`    // how the target had moved outside of its lane, before this was published
	HeldBack  []string         `json:"heldBack,omitempty"` // files that were not committed, because they look like secrets, are large, are repositories, or were hidden from git
	Kept      *Error           `json:"kept,omitempty"`     // why the workspace was not put away after the merge

	Actor       string    `json:"actor,omitempty"` // who submitted it: the user, or "agent in NAME"
	SubmittedAt time.Time `json:"submittedAt"`
	EndedAt     time.Time `json:"endedAt,omitzero"`

	// ActorWorkspace is the workspace in which the actor stood, if it was one.
	ActorWorkspace ID `json:"actorWorkspace,omitempty"`
}

// ConflictedPath is one path on which two sides do not agree.
type ConflictedPath struct {
	Path    string         `json:"path"`
	Kind    string         `json:"kind,omitempty"`    // such as "contents" or "modify/delete"
	Against string         `json:"against,omitempty"` // the workspace whose merge brought the other side
	Hunks   []ConflictHunk `json:"hunks,omitempty"`
}

// ConflictHunk is one place in a file on which two sides do not agree.
type ConflictHunk struct {
	Line   int    `json:"line"` // in the file with conflict markers
	Ours   string `json:"ours"` // the target's
	Theirs string `json:"theirs"`
}

// Check is one run of a command on the merged result.
type Check struct {
	Command string        `json:"command"`
	Tree    string        `json:"tree"` // what it ran on
	Passed  bool          `json:"passed"`
	IsFlaky bool          `json:"flaky,omitempty"` // it failed first and passed when it was run again
	Took    time.Duration `json:"took"`
	Log     string        `json:"log,omitempty"`  // the file with its output
	Tail    string        `json:"tail,omitempty"` // the end of the output of a failure
}

// Outcome says how an agent ended.
type Outcome string

// The outcomes.
const (
	Succeeded Outcome = "succeeded"
	Failed    Outcome = "failed"
	Killed    Outcome = "killed"
)

// MergePolicy says whether finishing means merging.
type MergePolicy string

// The policies.
const (
	MergeByLayout MergePolicy = ""      // what the layout says: "agents" merges, the others do not
	MergeAlways   MergePolicy = "merge" // if the outcome is Succeeded
	MergeNever    MergePolicy = "keep"
)

// FinishRequest says that an agent has ended.
type FinishRequest struct {
	Key       string      `json:"key,omitempty"`
	Repo      string      `json:"repo,omitempty"`
	Workspace string      `json:"workspace,omitempty"` // a name, an ID or a path; default: where Repo lies
	Lease     *Lease      `json:"lease,omitempty"`     // instead of Workspace: its lease, which is released
	Outcome   Outcome     `json:"outcome,omitempty"`   // default: Succeeded
	Policy    MergePolicy `json:"policy,omitempty"`
	Message   string      `json:"message,omitempty"` // of the commit; default: by the configuration's template
}

// AfterMerge says what becomes of a workspace whose work was merged.
type AfterMerge string

// The choices.
const (
	AfterTrash AfterMerge = ""     // to the trash with its branch, if it is idle
	AfterKeep  AfterMerge = "keep" // it stays
)

// MergeRequest submits the work of a workspace to a lane.
type MergeRequest struct {
	Key       string     `json:"key,omitempty"`
	Repo      string     `json:"repo,omitempty"`
	Workspace string     `json:"workspace,omitempty"`
	Target    string     `json:"target,omitempty"`   // default: the workspace's
	Strategy  Strategy   `json:"strategy,omitempty"` // default: the configuration's at the target
	Message   string     `json:"message,omitempty"`  // of the merge commit; default: by template
	Priority  int        `json:"priority,omitempty"`
	After     AfterMerge `json:"after,omitempty"`
}

// MergesRequest chooses merges.
type MergesRequest struct {
	Repo   string `json:"repo,omitempty"`
	Target string `json:"target,omitempty"` // default: every lane
	Scope  Scope  `json:"scope,omitempty"`  // ScopeAll: those that have ended too
	Limit  int    `json:"limit,omitempty"`  // default: 100
}

// QueueAction is something that is done to merges that wait.
type QueueAction string

// The actions.
const (
	QueueHold    QueueAction = "hold"
	QueueRelease QueueAction = "release"
	QueueCancel  QueueAction = "cancel"
	QueueFirst   QueueAction = "first" // before all others
)

// QueueRequest does something to merges that wait.
type QueueRequest struct {
	Repo   string      `json:"repo,omitempty"`
	Action QueueAction `json:"action"`
	Merges []string    `json:"merges,omitempty"` // IDs or names of workspaces; default: all that wait
	Target string      `json:"target,omitempty"`
	DryRun DryRun      `json:"dryRun,omitempty"` // answers with what would be changed, as it is
}

// RevertRequest names a merge to revert.
type RevertRequest struct {
	Repo    string `json:"repo,omitempty"`
	Merge   ID     `json:"merge,omitempty"`
	Ref     string `json:"ref,omitempty"`     // instead of Merge: a workspace's name, a merge's ID or its commit
	Target  string `json:"target,omitempty"`  // a commit: fails with TargetMoved if the branch is not at it
	Message string `json:"message,omitempty"` // default: like git's
}

// RevertPlan says what a revert would meet.
type RevertPlan struct {
	Merge     Merge            `json:"merge"`
	Branch    string           `json:"branch"` // that it would be reverted on
	Target    string           `json:"target"` // the commit that the branch is at
	Later     int              `json:"later"`  // how many were merged after it
	Conflicts []ConflictedPath `json:"conflicts,omitempty"`
}

// DiscardRequest names workspaces whose work is not wanted.
type DiscardRequest struct {
	Key        string   `json:"key,omitempty"`
	Repo       string   `json:"repo,omitempty"`
	Workspaces []string `json:"workspaces,omitempty"`
	All        Scope    `json:"all,omitempty"` // ScopeAll: every one that is pending
	Agreed     *Agreed  `json:"agreed,omitempty"`
	DryRun     DryRun   `json:"dryRun,omitempty"` // answers with what would become of each; the key is not used
}

// Resolution says what bringing a target into a workspace left to do.
type Resolution struct {
	Workspace Workspace        `json:"workspace"`
	Target    string           `json:"target"`
	Commit    string           `json:"commit"`              // of the target
	Conflicts []ConflictedPath `json:"conflicts,omitempty"` // empty: it went in cleanly
	HeldBack  []string         `json:"heldBack,omitempty"`  // what was not committed before; see Merge
}

// Merges is the part of Service that brings work to its target and takes it
// back. Every target branch has a lane, in which one merge is published after
// the other; many processes may submit to it.
//
// A merge is computed without a checkout. The target moves by compare-and-swap
// only, to a result that passed the checks that the target itself asks for.
// Where the target is checked out, that checkout goes with it if none of the
// user's changes is touched; otherwise the merge stays pending with the reason
// HostDirty, and is tried again.
//
// A lane remembers where it left its target. If it moved outside of the lane since, the
// next merge says by how much and goes on from there; with merge.protect it stays
// pending with the reason TargetMoved until a person accepts it.
type Merges interface {
	// Finish says that an agent has ended. Uncommitted work is committed; it
	// goes to the lane where the policy says so and the outcome is Succeeded,
	// and is pending otherwise. It fails with WorkspaceBroken if the workspace
	// is not as it was left: then nothing was committed.
	Finish(ctx context.Context, req FinishRequest) (*Merge, error)

	// Merge commits what is uncommitted and submits a workspace's work. It
	// returns at once; WaitMerge waits.
	Merge(ctx context.Context, req MergeRequest) (*Merge, error)

	// WaitMerge waits until a merge has ended, and drives its lane where
	// no other process does. A context that ends ends the waiting, not the merge.
	WaitMerge(ctx context.Context, id ID) (*Merge, error)

	// Merges lists merges that wait in the order of their lanes, then those that
	// RunQueue tries again; with ScopeAll, all that have ended too, the last first.
	Merges(ctx context.Context, req MergesRequest) ([]Merge, error)

	// RunQueue drives the lanes of a repository until they are empty, and
	// tries again what stayed pending because of the user's checkout or because
	// the target had moved.
	RunQueue(ctx context.Context, req MergesRequest) ([]Merge, error)

	// Queue holds, releases or cancels merges that wait.
	Queue(ctx context.Context, req QueueRequest) ([]Merge, error)

	// Lanes lists the targets that lanes have moved, and says which of them
	// moved outside of their lane since.
	Lanes(ctx context.Context, req MergesRequest) ([]Lane, error)

	// Accept says that a target may be where it is, although it moved outside
	// of its lane, and returns what was accepted. It fails with TargetMoved from inside
	// a workspace: that is where agents are.
	Accept(ctx context.Context, req AcceptRequest) (*Lane, error)

	// Resolve brings the target into a workspace, so that conflicts can be
	// resolved there and the merge be submitted again.
	Resolve(ctx context.Context, req MergeRequest) (*Resolution, error)

	// PlanRevert returns the conflicts that a revert would have and how many merges came
	// after the merge. It changes nothing.
	PlanRevert(ctx context.Context, req RevertRequest) (*RevertPlan, error)

	// Revert takes a merge back: a new commit on the target undoes it, through
	// the same lane and checks. It waits for the end.
	Revert(ctx context.Context, req RevertRequest) (*Merge, error)

	// Discard moves workspaces to the trash whose work is not wanted, with
	// their branches, and answers for each. [Trash.Restore] brings one back.
	Discard(ctx context.Context, req DiscardRequest) ([]Merge, error)
}
