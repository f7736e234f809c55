package croft

import (
	"context"
	"time"
)

// MergeKind says what a merge brings to its target.
type MergeKind string

// The kinds of merges.
const (
	KindMerge  MergeKind = "merge"  // the work of a workspace
	KindRevert MergeKind = "revert" // the undoing of an earlier merge
	KindApply  MergeKind = "apply"  // the chosen part of a review
)

// MergeState says how far a merge has come in its lane.
type MergeState string

// The states of a merge.
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

// Merge is one piece of work on its way to a target branch. A merge that could not be
// carried out is a result, not an error: its status is MergePending, and Reason says
// why.
type Merge struct {
	ID            ID          `json:"id"`
	Kind          MergeKind   `json:"kind"`
	RepoID        ID          `json:"repoId,omitempty"`
	Revision      int         `json:"revision,omitempty"` // counts its changes, for IfRevision
	Workspace     ID          `json:"workspace,omitempty"`
	WorkspaceName string      `json:"workspaceName"`
	Target        string      `json:"target"` // a branch
	Strategy      Strategy    `json:"strategy,omitempty"`
	State         MergeState  `json:"state"`
	Status        MergeStatus `json:"status"`           // empty once it is done: there was nothing to merge
	Head          string      `json:"head,omitempty"`   // the commit that is merged
	Commit        string      `json:"commit,omitempty"` // the target's commit after the merge

	Reason  Code   `json:"reason,omitempty"`  // why it stays pending
	Message string `json:"message,omitempty"` // the reason in a sentence
	Details string `json:"details,omitempty"` // git's output, a path, a list of files
	Hint    string `json:"hint,omitempty"`    // a command that the reader can run next

	// Became is what came of the work of a merge that stayed pending. It is in lists of all merges only; absent: it is
	// still pending.
	Became Became `json:"became,omitempty"`

	Conflicts []ConflictedPath `json:"conflicts,omitempty"`
	Checks    []Check          `json:"checks,omitempty"`
	Attempts  []Attempt        `json:"attempts,omitempty"` // what its lane tried, the last ones
	Check     string           `json:"check,omitempty"`    // the command of the check that runs now, while State is MergeChecking
	Later     int              `json:"later,omitempty"`    // of a revert: how many merges came after the one that it reverts
	Reverts   ID               `json:"reverts,omitempty"`  // of a revert: the merge that it reverts
	Review    ID               `json:"review,omitempty"`   // of an apply: the review that it is a part of
	Priority  int              `json:"priority,omitempty"` // the higher goes first
	IsHeld    bool             `json:"held,omitempty"`     // it waits until it is released
	Hold      *MergeHold       `json:"hold,omitempty"`     // by whom and why it is held; absent if an earlier version of Croft held it
	Moved     string           `json:"moved,omitempty"`    // how the target had moved outside of its lane, before this was published
	HeldBack  []string         `json:"heldBack,omitempty"` // files that were not committed, because they look like secrets, are large, are repositories, or were hidden from git
	Kept      *Error           `json:"kept,omitempty"`     // why the workspace was not put away after the merge

	Actor       string    `json:"actor,omitempty"` // who submitted it: the user, or "agent in NAME"
	SubmittedAt time.Time `json:"submittedAt"`
	EndedAt     time.Time `json:"endedAt,omitzero"`

	// ActorWorkspace is the workspace that the actor's working directory was in, if
	// any.
	ActorWorkspace ID `json:"actorWorkspace,omitempty"`
}

// Became says what came of work whose merge stayed pending.
type Became string

// What came of work whose merge stayed pending.
const (
	BecameMerged    Became = "merged"    // a later merge brought it, or what became of it
	BecameReverted  Became = "reverted"  // a later merge brought it, and was reverted
	BecameDiscarded Became = "discarded" // nobody wants it
	BecameSubmitted Became = "submitted" // it was submitted again: the later merge says how that stands
	BecameRemoved   Became = "removed"   // its workspace was removed
)

// MergeHold says who holds a merge, and why.
type MergeHold struct {
	Reason         string    `json:"reason,omitempty"`
	Actor          string    `json:"actor"`
	ActorWorkspace ID        `json:"actorWorkspace,omitempty"`
	At             time.Time `json:"at"`
}

// ConflictedPath is one path on which two sides do not agree.
type ConflictedPath struct {
	Path    string         `json:"path"`
	Kind    string         `json:"kind,omitempty"`    // such as "contents" or "modify/delete"
	Against string         `json:"against,omitempty"` // the workspace whose merge brought the other side; of another commit its hash
	At      time.Time      `json:"at,omitzero"`       // when that was merged, or committed; absent: it is not known
	Subject string         `json:"subject,omitempty"` // the first line of that commit's message, if it is not a merge of Croft's
	Hunks   []ConflictHunk `json:"hunks,omitempty"`
}

// ConflictHunk is one place in a file on which two sides do not agree.
type ConflictHunk struct {
	Line   int    `json:"line"` // in the file with conflict markers
	Ours   string `json:"ours"` // the target's
	Theirs string `json:"theirs"`
}

// Outcome says how an agent ended.
type Outcome string

// The outcomes of an agent.
const (
	Succeeded Outcome = "succeeded"
	Failed    Outcome = "failed"
	Killed    Outcome = "killed"
)

// MergePolicy says whether finishing means merging.
type MergePolicy string

// The merge policies.
const (
	MergeByLayout MergePolicy = ""      // as the layout says: "agents" merges, the others do not
	MergeAlways   MergePolicy = "merge" // if the outcome is Succeeded
	MergeNever    MergePolicy = "keep"
)

// FinishRequest says that an agent has ended.
type FinishRequest struct {
	Key       string      `json:"key,omitempty"`
	Repo      Ref         `json:"repo,omitempty"`
	Workspace Ref         `json:"workspace,omitempty"` // a name, an ID or a path; default: where Repo lies
	Lease     *Lease      `json:"lease,omitempty"`     // instead of Workspace: its lease, which is released
	Outcome   Outcome     `json:"outcome,omitempty"`   // default: Succeeded
	Policy    MergePolicy `json:"policy,omitempty"`
	Message   string      `json:"message,omitempty"` // of the commit; default: by the configuration's template

	IfRevision int `json:"ifRevision,omitempty"` // fails with RevisionChanged if the workspace is at another revision
}

// AfterMerge says what becomes of a workspace whose work was merged.
type AfterMerge string

// The values of AfterMerge.
const (
	AfterTrash AfterMerge = ""     // to the trash with its branch, if it is idle
	AfterKeep  AfterMerge = "keep" // it stays
)

// MergeRequest submits the work of a workspace to a lane.
type MergeRequest struct {
	Key       string     `json:"key,omitempty"`
	Repo      Ref        `json:"repo,omitempty"`
	Workspace Ref        `json:"workspace,omitempty"`
	Target    string     `json:"target,omitempty"`   // default: the workspace's
	Strategy  Strategy   `json:"strategy,omitempty"` // default: the configuration's at the target
	Message   string     `json:"message,omitempty"`  // of the merge commit; default: by template
	Priority  int        `json:"priority,omitempty"`
	After     AfterMerge `json:"after,omitempty"`

	// Head is the commit that the caller has seen, and Review the review. If the work is
	// another one by now, the request fails with WorkChanged, and nothing is committed or
	// submitted. A workspace with uncommitted work is at no commit.
	Head   string `json:"head,omitempty"`
	Review ID     `json:"review,omitempty"`

	IfRevision int `json:"ifRevision,omitempty"` // fails with RevisionChanged if the workspace is at another revision
}

// WaitRequest names a merge to wait for.
type WaitRequest struct {
	Merge ID `json:"merge"`
}

// MergesRequest chooses merges.
type MergesRequest struct {
	Repo   Ref    `json:"repo,omitempty"`
	Repos  Scope  `json:"repos,omitempty"`  // ScopeAll: of all projects; Repo is not looked at
	Target string `json:"target,omitempty"` // default: every lane
	Scope  Scope  `json:"scope,omitempty"`  // ScopeAll: also merges that have ended
	Page
}

// SubmitMergesRequest names workspaces whose work is to be merged. The words beside them hold for
// each, as in MergeRequest.
type SubmitMergesRequest struct {
	Key        string     `json:"key,omitempty"` // the same call after a crash submits each workspace once
	Repo       Ref        `json:"repo,omitempty"`
	Workspaces []Ref      `json:"workspaces"`         // required; they land in this order, among those of one priority
	Target     string     `json:"target,omitempty"`   // default: the workspace's
	Strategy   Strategy   `json:"strategy,omitempty"` // default: the target's
	Message    string     `json:"message,omitempty"`
	Priority   int        `json:"priority,omitempty"`
	After      AfterMerge `json:"after,omitempty"`
}

// SubmitResult has a merge for each workspace that was named, in the order of the request and once.
// That of a workspace which could not be submitted is not in the queue: it has ended, is pending,
// and has the reason and no ID.
type SubmitResult struct {
	Merges []Merge `json:"merges"`
}

// DriveUntil says when DriveLanes ends.
type DriveUntil string

const (
	// UntilEmpty ends when the merges that wait at the call have ended. It is the default.
	UntilEmpty DriveUntil = ""
	// UntilStopped goes on, and waits for further merges, until the context ends or the
	// Service is closed.
	UntilStopped DriveUntil = "stopped"
)

// DriveRequest chooses the lanes to drive.
type DriveRequest struct {
	Repo   Ref        `json:"repo,omitempty"`
	Target string     `json:"target,omitempty"` // default: every lane
	Until  DriveUntil `json:"until,omitempty"`
}

// QueueResult lists the merges that a call drove or changed.
type QueueResult struct {
	Merges []Merge `json:"merges"`
}

// DiscardResult answers for every workspace that was asked for.
type DiscardResult struct {
	Merges []Merge `json:"merges"`
}

// QueueAction is a change of merges that wait in a lane.
type QueueAction string

// The queue actions.
const (
	QueueHold    QueueAction = "hold"
	QueueRelease QueueAction = "release"
	QueueCancel  QueueAction = "cancel"
	QueueFirst   QueueAction = "first" // before all others
)

// QueueRequest changes merges that wait in a lane.
type QueueRequest struct {
	Key    string      `json:"key,omitempty"` // the same call changes no merge that was submitted since
	Repo   Ref         `json:"repo,omitempty"`
	Action QueueAction `json:"action"`
	Merges []Ref       `json:"merges,omitempty"` // IDs or names of workspaces; default: all that wait
	Target string      `json:"target,omitempty"`
	Reason string      `json:"reason,omitempty"` // of QueueHold: why, one line of at most 200 bytes; holding again replaces it
	DryRun DryRun      `json:"dryRun,omitempty"` // answers with the merges that would be changed, as they are

	IfRevision int `json:"ifRevision,omitempty"` // fails with RevisionChanged if the one merge that is named is at another revision
}

// RevertRequest names a merge to revert.
type RevertRequest struct {
	Key     string `json:"key,omitempty"` // the same call after a crash returns the same revert
	Repo    Ref    `json:"repo,omitempty"`
	Merge   ID     `json:"merge,omitempty"`
	Ref     Ref    `json:"ref,omitempty"`     // instead of Merge: a workspace's name, a merge's ID or its commit
	Target  string `json:"target,omitempty"`  // a commit: fails with TargetMoved if the branch is not at it
	Message string `json:"message,omitempty"` // default: like git's
}

// RevertPlan lists the conflicts that a revert would have, and counts the later merges.
type RevertPlan struct {
	Merge  Merge  `json:"merge"`
	Branch string `json:"branch"` // the branch that it would be reverted on
	Target string `json:"target"` // the commit that the branch is at
	Later  int    `json:"later"`  // how many merges came after it
	// LaterNames are the workspaces whose merges came after it, the first first, each once. Of at most 50 merges they are named.
	LaterNames []string         `json:"laterNames,omitempty"`
	Conflicts  []ConflictedPath `json:"conflicts,omitempty"`
}

// DiscardRequest names workspaces whose work is not wanted.
type DiscardRequest struct {
	Key        string  `json:"key,omitempty"`
	Repo       Ref     `json:"repo,omitempty"`
	Workspaces []Ref   `json:"workspaces,omitempty"`
	All        Scope   `json:"all,omitempty"` // ScopeAll: every workspace whose work is pending
	Agreed     *Agreed `json:"agreed,omitempty"`
	DryRun     DryRun  `json:"dryRun,omitempty"` // answers with what would become of each; the key is not used

	IfRevision int `json:"ifRevision,omitempty"` // fails with RevisionChanged if the one workspace that is named is at another revision
}

// Resolution lists the conflicts that are left after Resolve has brought the target
// into a workspace.
type Resolution struct {
	Workspace Workspace        `json:"workspace"`           // in which the conflicts are
	Target    string           `json:"target"`              // a branch
	Commit    string           `json:"commit"`              // of the target
	Conflicts []ConflictedPath `json:"conflicts,omitempty"` // empty: it went in cleanly
	HeldBack  []string         `json:"heldBack,omitempty"`  // files that were not committed before; see Merge
}

// Merges is the part of Service that merges work into its target and reverts it. Every
// target branch has a lane, in which one merge is published after the other; many
// processes may submit to it.
//
// A merge is computed without a checkout. The target moves by compare-and-swap only, to
// a result that passed the checks that the target itself asks for. Where the target is
// checked out, that checkout goes with it if none of the user's changes is touched;
// otherwise the merge stays pending with the reason HostDirty, and is tried again.
//
// A lane records the commit at which it left its target. If the target has moved
// outside of the lane since, the next merge says by how much and goes on from there;
// with merge.protect, the merge stays pending with the reason TargetMoved until a
// person accepts the move.
type Merges interface {
	// Finish says that an agent has ended. Uncommitted work is committed. The work goes
	// to the lane if the policy says so and the outcome is Succeeded, and is pending
	// otherwise. It fails with WorkspaceBroken if the workspace is not as it was left:
	// then nothing was committed.
	Finish(ctx context.Context, req FinishRequest) (*Merge, error)

	// SubmitMerge commits the uncommitted work of a workspace and submits all its work to the
	// lane. It returns at once; WaitMerge waits. It fails with WorkChanged if the request
	// says which work the caller has seen, and the workspace has other work by now.
	SubmitMerge(ctx context.Context, req MergeRequest) (*Merge, error)

	// SubmitMerges is SubmitMerge for several workspaces. It looks at them side by side and
	// records their merges together, so that they land as one batch where their targets allow
	// it. It fails with WorktreeNotFound, and commits nothing, if one of them does not exist;
	// any other failure is that of one workspace, and in its merge.
	SubmitMerges(ctx context.Context, req SubmitMergesRequest) (*SubmitResult, error)

	// Merge finds a merge by its ID, or fails with MergeNotFound.
	Merge(ctx context.Context, req GetRequest) (*Merge, error)

	// WaitMerge waits until a merge has ended, and drives its lane where
	// no other process does. A context that ends ends the waiting, not the merge.
	WaitMerge(ctx context.Context, req WaitRequest) (*Merge, error)

	// Merges lists the merges that wait, in the order of their lanes, then the pending
	// ones that DriveLanes tries again; with ScopeAll, also the merges that have ended,
	// the last first.
	Merges(ctx context.Context, req MergesRequest) (*List[Merge], error)

	// DriveLanes drives the lanes of a repository until they are empty, and tries again
	// the merges that stayed pending because of the user's checkout, because the
	// target had moved, or because its checks had not been approved, which they are now.
	//
	// UntilStopped makes the caller the driver of these lanes: it keeps their locks, so that
	// a call that waits for a merge only waits, and its end stops no check. A second
	// driver waits, in this process or another one, and goes on when the first has ended.
	// A lane that fails for a reason of the machine, such as a full disk, is tried again
	// after a while. The end of the context ends the call without an error, and with no
	// merges in the answer: the events tell of them.
	DriveLanes(ctx context.Context, req DriveRequest) (*QueueResult, error)

	// CheckLog returns a part of the output of a check, for callers that do not share a disk
	// with the Service. A merge without such a check, and one whose output is not kept any
	// more, is CheckNotFound.
	CheckLog(ctx context.Context, req CheckLogRequest) (*CheckLog, error)

	// ChangeQueue holds, releases or cancels merges that wait.
	ChangeQueue(ctx context.Context, req QueueRequest) (*QueueResult, error)

	// Lanes lists the targets that lanes have moved, and says which of them
	// moved outside of their lane since.
	Lanes(ctx context.Context, req LanesRequest) (*List[Lane], error)

	// AcceptTarget says that a target may be where it is, although it moved outside of its
	// lane, and returns the lane as it was accepted. It fails with TargetMoved from
	// inside a workspace: that is where agents are.
	AcceptTarget(ctx context.Context, req AcceptRequest) (*Lane, error)

	// Resolve brings the target into a workspace, so that conflicts can be
	// resolved there and the merge be submitted again.
	Resolve(ctx context.Context, req MergeRequest) (*Resolution, error)

	// PlanRevert returns the conflicts that a revert would have and how many merges came
	// after the merge. It changes nothing.
	PlanRevert(ctx context.Context, req RevertRequest) (*RevertPlan, error)

	// SubmitRevert submits the revert of a merge: a new commit on the target undoes it,
	// through the same lane and checks. It returns at once; WaitMerge waits.
	SubmitRevert(ctx context.Context, req RevertRequest) (*Merge, error)

	// ResolveRevert makes a workspace of the name revert-NAME, in which the merge of NAME is taken back and whose target
	// was brought in: what is in conflict is left there to be resolved. Merging that workspace takes the merge back.
	// It fails with InvalidRequest if the revert has no conflict, and with InProgress if it is being resolved.
	ResolveRevert(ctx context.Context, req RevertRequest) (*Resolution, error)

	// Discard moves the workspaces whose work is not wanted, with their branches, to
	// the trash, and answers for each. [Trash.Restore] brings one back.
	Discard(ctx context.Context, req DiscardRequest) (*DiscardResult, error)
}
