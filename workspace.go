package croft

import (
	"context"
	"encoding/json"
	"time"
)

// ID names one thing of Croft's for ever: sixteen lower-case letters and
// digits, drawn at random. It says nothing about what it names.
type ID string

// Mode says how a workspace is kept apart from the project.
type Mode string

// The modes. The words are those of a configuration file.
const (
	// ModeAuto chooses: a worktree in a git repository, and in a plain
	// directory a copy, or what the layout says. A request without a mode does
	// the same, but refuses a plain directory that the layout has no rule for.
	ModeAuto Mode = "auto"
	// ModeWorktree is a git worktree with a branch of its own.
	ModeWorktree Mode = "worktree"
	// ModeIsolated is a private checkout with a git directory of its own.
	ModeIsolated Mode = "isolated"
	// ModeLegacy writes in the project itself: no isolation.
	ModeLegacy Mode = "legacy"
)

// State says how far a workspace has come.
type State string

// The states.
const (
	// Creating: not handed out yet. After a crash its creation is rolled back.
	Creating State = "creating"
	// Ready: its files were verified; an agent may work in it.
	Ready State = "ready"
	// Stopped: intact, but made before this machine was last started.
	Stopped State = "stopped"
	// Trashed: removed, and kept for a while.
	Trashed State = "trashed"
	// Planned: it is not there, and would be made so.
	Planned State = "planned"
	// Broken: directory or registration are not what the record says.
	Broken State = "broken"
)

// Fault says why a workspace is broken, or cannot be used yet.
type Fault string

// The faults.
const (
	// FaultMissing: its directory is not at its path, and was not found nearby. It
	// was moved further away or deleted, or its drive is not mounted.
	FaultMissing Fault = "missing"
	// FaultMoved: its directory lies elsewhere.
	FaultMoved Fault = "moved"
	// FaultUnregistered: git does not know its directory any more.
	FaultUnregistered Fault = "unregistered"
	// FaultTaken: something else lies at its path.
	FaultTaken Fault = "taken"
	// FaultRewinding: Croft is writing an earlier state back into the workspace, for a
	// Restore of a snapshot, an Undo, or a Resolve that is rolled back. Its state is
	// Creating.
	FaultRewinding Fault = "rewinding"
)

// MergeStatus says what became of a workspace's work. The empty status means
// that it was never submitted, and is null in JSON.
type MergeStatus string

// The merge statuses.
const (
	MergePending   MergeStatus = "pending"
	MergeMerged    MergeStatus = "merged"
	MergeDiscarded MergeStatus = "discarded"
	MergeReverted  MergeStatus = "reverted"
)

// Workspace is the isolated directory and the branch of one agent.
type Workspace struct {
	ID          ID          `json:"id,omitempty"`
	Name        string      `json:"name"`                  // unique among the live workspaces of a repository
	Agent       string      `json:"agent,omitempty"`       // the worker, over all its rounds
	Role        string      `json:"role,omitempty"`        // the configuration that was copied in
	Session     string      `json:"session,omitempty"`     // the undertaking that it was made for
	Round       int         `json:"round,omitempty"`       // its number in the session
	IsRoundOver bool        `json:"isRoundOver,omitempty"` // its round has ended, or the session
	Label       string      `json:"label,omitempty"`       // the anonymous name that others see
	Mode        Mode        `json:"mode"`
	State       State       `json:"state"`
	Status      Condition   `json:"status,omitempty"`  // what it is like now; absent in events, which carry the record
	Why         string      `json:"why,omitempty"`     // a few words about Status
	Path        string      `json:"path"`              // absolute
	Slug        string      `json:"slug,omitempty"`    // the last part of the path where the layout makes one from the name
	Layout      string      `json:"layout,omitempty"`  // the rule for its path and branch
	Branch      string      `json:"branch"`            // without refs/heads/; empty when HEAD is detached
	Head        string      `json:"head,omitempty"`    // the commit that is checked out now
	Base        string      `json:"base,omitempty"`    // the commit that it started from
	BaseRef     string      `json:"baseRef,omitempty"` // what that commit was called then
	Target      string      `json:"target,omitempty"`  // the branch that its work goes back to
	Host        string      `json:"host"`              // the machine
	Repo        string      `json:"repo"`              // the project's directory
	RepoID      ID          `json:"repoId,omitempty"`
	Revision    int         `json:"revision,omitempty"`  // counts the changes of its record, for IfRevision
	IsAdopted   bool        `json:"isAdopted,omitempty"` // somebody else made its worktree
	IsLocked    bool        `json:"isLocked"`            // by a person, with `croft lock` or `git worktree lock`
	LockReason  string      `json:"lockReason,omitempty"`
	CreatedAt   time.Time   `json:"createdAt"`
	MergeStatus MergeStatus `json:"mergeStatus"`       // null until its work was submitted
	MergeCommit string      `json:"mergeCommitSha"`    // the commit that its target became by the merge; null before
	Scratch     string      `json:"scratch,omitempty"` // its directory for notes, which git ignores; absent if it has none

	// MergeReason is why its work stays pending, if that was tried and nothing was
	// committed since: the code of the merge, or InProgress while its conflicts are
	// being resolved. MergeMessage is the same in words. What has been put right meanwhile, and
	// a merged workspace with commits since, has a message and no reason.
	MergeReason  Code   `json:"mergeReason,omitempty"`
	MergeMessage string `json:"mergeMessage,omitempty"`

	// RemovedAt is when it went to the trash, and KeptUntil how long it can be
	// restored at least; absent once it cannot be any more.
	RemovedAt time.Time `json:"removedAt,omitzero"`
	KeptUntil time.Time `json:"keptUntil,omitzero"`

	// Fault says what is wrong with a broken workspace, and MovedFrom where the
	// record has one that was moved; Path is where it is now. FaultReason is what kept
	// the last attempt to put its files back from its end.
	Fault       Fault  `json:"fault,omitempty"`
	FaultReason string `json:"faultReason,omitempty"`
	MovedFrom   string `json:"movedFrom,omitempty"`

	// Collides names the target, if its commits collide with that as they are now, and
	// the workspaces with which it collided in the last forecast, as far as neither side
	// has new commits since. It is in listings only. A look finds out about the target;
	// [Radar.Conflicts] makes a new forecast of all.
	Collides []string `json:"collides,omitempty"`
	// Forecast says whether Collides names all that its commits collide with. It is in listings only.
	Forecast ForecastState `json:"forecast,omitempty"`

	// Meta is what callers record with it; Croft does not look at it.
	Meta map[string]string `json:"meta,omitempty"`
	// Lease is the live lease, if a process holds one.
	Lease *Lease `json:"lease,omitempty"`
	// Env is what a process that works here should have in its environment.
	Env map[string]string `json:"env,omitempty"`
	// Next is what it waits for; absent if that is nothing, or goes on by itself.
	Next *Next `json:"next,omitempty"`
	// Work is what a look at it saw; absent if the request gave no time for that. In events it
	// is what the last act saw of its files.
	Work *Work `json:"work,omitempty"`
	// Finished is how its last agent ended, if that was said.
	Finished *Finished `json:"finished,omitempty"`
	// Activity is what its agent does, if that was told, and Question what it asks a person.
	Activity *Activity `json:"activity,omitempty"`
	// Run is the last run of an agent that Croft started in it.
	Run *Run `json:"run,omitempty"`
	// LastLine is the last line that its agent printed, if Croft started it. Ports are its own.
	LastLine string    `json:"lastLine,omitempty"`
	Question *Question `json:"question,omitempty"`
	Ports    []Port    `json:"ports,omitempty"`
	// Provision is what was done to make it usable; absent if its configuration asks for nothing.
	Provision *Provision `json:"provision,omitempty"`
	// Unknown names the fields that only Croft's record has, if this process cannot read it: that
	// they are absent, empty or false here says nothing.
	Unknown []string `json:"unknown,omitempty"`
	// Push is what was last pushed of it, and PullRequest the pull request of its branch.
	Push        *Push        `json:"push,omitempty"`
	PullRequest *PullRequest `json:"pullRequest,omitempty"`
	// MadeBy says how its files came into its directory, and MadeWhy why git had to write them.
	MadeBy  MadeBy `json:"madeBy,omitempty"`
	MadeWhy string `json:"madeWhy,omitempty"`
	// Actor is who made or adopted it, and ActorWorkspace the workspace of the agent that did. Both are absent
	// for one that an earlier version made.
	Actor          string `json:"actor,omitempty"`
	ActorWorkspace ID     `json:"actorWorkspace,omitempty"`
	// Notes are remarks made at creation and removal, such as files that git itself shows
	// as modified in a fresh checkout, or at a restoration.
	Notes []string `json:"notes,omitempty"`
}

// MarshalJSON keeps the difference between what does not apply (absent) and
// what is not there yet (null). A workspace without git has no branch; a
// workspace whose work was never submitted has a null mergeStatus.
func (w Workspace) MarshalJSON() ([]byte, error) {
	type plain Workspace
	out := struct {
		plain
		Branch      *string `json:"branch,omitempty"`
		MergeStatus *string `json:"mergeStatus"`
		MergeCommit *string `json:"mergeCommitSha"`
	}{plain: plain(w)}
	if w.Mode != ModeLegacy {
		out.Branch = &w.Branch
	}
	if w.MergeStatus != "" {
		s := string(w.MergeStatus)
		out.MergeStatus = &s
	}
	if w.MergeCommit != "" {
		out.MergeCommit = &w.MergeCommit
	}
	return json.Marshal(out)
}

// RoleFiles says what is done with a role's configuration files.
type RoleFiles string

const (
	// RoleFilesCopy copies them into the workspace. It is the default.
	RoleFilesCopy RoleFiles = ""
	// RoleFilesSkip leaves them out; the role is recorded all the same.
	RoleFilesSkip RoleFiles = "skip"
)

// CreateRequest asks for one workspace. The zero value is a request for a
// workspace with an invented name, from the branch that is checked out.
type CreateRequest struct {
	Key  string `json:"key,omitempty"`  // the same call after a crash returns the same workspace
	Repo Ref    `json:"repo,omitempty"` // a directory in the project; default: where the Service was opened

	Name    string `json:"name,omitempty"` // default: invented
	Agent   string `json:"agent,omitempty"`
	Role    string `json:"role,omitempty"`
	Session string `json:"session,omitempty"`
	Label   string `json:"label,omitempty"`
	// Home is the agent's directory, absolute, for layouts that put workspaces
	// there. Default: a new one, whose name says nothing.
	Home string `json:"home,omitempty"`

	Base   string `json:"base,omitempty"`   // any commit; default: the layout's
	Branch string `json:"branch,omitempty"` // takes this branch, existing or new; default: a new one by the layout
	Target string `json:"target,omitempty"` // default: the branch that Base names, else the one that is checked out
	Layout string `json:"layout,omitempty"` // a preset; default: the configuration's
	Mode   Mode   `json:"mode,omitempty"`   // default: by the layout, see ModeAuto

	RoleFiles RoleFiles `json:"roleFiles,omitempty"`
	Fetch     Fetch     `json:"fetch,omitempty"`

	// Meta is recorded with it: at most 64 entries, with keys of up to 63 letters, digits
	// and . _ / -, and values of up to 1,024 bytes.
	Meta map[string]string `json:"meta,omitempty"`
}

// CreateAllRequest asks for several workspaces, all or none. Key and Repo of
// the parts are ignored.
type CreateAllRequest struct {
	Key        string          `json:"key,omitempty"`
	Repo       Ref             `json:"repo,omitempty"`
	Workspaces []CreateRequest `json:"workspaces"` // required
}

// CreateResult lists workspaces that were made, or would be, in the order of the
// request.
type CreateResult struct {
	Workspaces []Workspace `json:"workspaces"`
}

// WorkspaceRequest names one workspace.
type WorkspaceRequest struct {
	Repo Ref `json:"repo,omitempty"`
	// Ref is a name, an ID, or a path in the workspace. Empty means the
	// workspace that Repo lies in.
	Ref Ref `json:"ref,omitempty"`
	// Scope: ScopeAll also finds one that is gone, the last of that name, as
	// long as Croft remembers it.
	Scope Scope    `json:"scope,omitempty"`
	Look  Duration `json:"look,omitempty"` // as in WorkspacesRequest
}

// UpdateRequest changes what callers record with a workspace.
type UpdateRequest struct {
	Key       string `json:"key,omitempty"`
	Repo      Ref    `json:"repo,omitempty"`
	Workspace Ref    `json:"workspace,omitempty"` // a name, an ID or a path; default: where Repo lies
	// Meta are the entries to set. An empty value deletes the entry; others stay.
	Meta map[string]string `json:"meta,omitempty"`
	// Ports says what becomes of the ports of the workspace. They are moved in a request without Meta.
	Ports PortsMode `json:"ports,omitempty"`

	IfRevision int `json:"ifRevision,omitempty"` // fails with RevisionChanged if the workspace is at another revision
}

// WorktreesRequest chooses worktrees.
type WorktreesRequest struct {
	Repo Ref `json:"repo,omitempty"`
	Page
}

// StatusRequest names a workspace to look at.
type StatusRequest struct {
	Workspace ID `json:"workspace"`
}

// CountRequest names the project whose workspaces are counted.
type CountRequest struct {
	Repo Ref `json:"repo,omitempty"`
}

// Count says how many workspaces a project has.
type Count struct {
	Active int `json:"active"` // live ones, those being made included
}

// Worktree is a worktree as git has it registered, Croft's or not.
type Worktree struct {
	Path       string `json:"path"`
	Branch     string `json:"branch"`
	Head       string `json:"head"`
	IsMain     bool   `json:"isMain"`
	IsLocked   bool   `json:"isLocked"`
	LockReason string `json:"lockReason,omitempty"`
	Workspace  ID     `json:"workspace,omitempty"` // absent: not Croft's
}

// Status says what a workspace holds beside its commits.
type Status struct {
	Workspace     ID       `json:"workspace"`
	WorkspaceName string   `json:"workspaceName,omitempty"`
	Head          string   `json:"head"`            // the commit that is checked out
	Staged        int      `json:"staged"`          // files whose changes are in the index
	Modified      int      `json:"modified"`        // files that differ from the index
	Untracked     int      `json:"untracked"`       // files that git does not know
	Conflicted    int      `json:"conflicted"`      // files with conflicts that are not resolved
	Ahead         int      `json:"ahead"`           // commits that the target does not have
	Behind        int      `json:"behind"`          // commits of the target that it does not have
	Paths         []string `json:"paths,omitempty"` // the files that are counted

	// Stamp stands for the head and the uncommitted files as they are. With another stamp, the
	// workspace has other work. It is for Agreed, and absent in a workspace that is no checkout.
	Stamp string `json:"stamp,omitempty"`
}

// Dirty reports whether there is uncommitted work.
func (s Status) Dirty() bool {
	return s.Staged+s.Modified+s.Untracked+s.Conflicted > 0
}

// RemoveMode says what a removal does about what protects a workspace.
type RemoveMode string

const (
	// RemoveSafe refuses uncommitted work and locks. It is the default.
	RemoveSafe RemoveMode = ""
	// RemoveForce moves uncommitted work to the trash too and overrides a
	// lock. A process at work inside still stops it.
	RemoveForce RemoveMode = "force"
)

// BranchMode says what becomes of the branch of a removed workspace.
type BranchMode string

const (
	// BranchDelete deletes the branch that Croft made, after its tip was
	// archived. It is the default.
	BranchDelete BranchMode = ""
	// BranchKeep leaves it.
	BranchKeep BranchMode = "keep"
)

// RemoveRequest names workspaces to move to the trash.
type RemoveRequest struct {
	Key        string     `json:"key,omitempty"` // the same call after a crash removes nothing that was made since
	Repo       Ref        `json:"repo,omitempty"`
	Workspaces []Ref      `json:"workspaces,omitempty"` // names, IDs or paths
	All        Scope      `json:"all,omitempty"`        // instead of Workspaces
	Mode       RemoveMode `json:"mode,omitempty"`
	Branch     BranchMode `json:"branch,omitempty"`
	Agreed     *Agreed    `json:"agreed,omitempty"`
	DryRun     DryRun     `json:"dryRun,omitempty"` // lists without removing

	IfRevision int `json:"ifRevision,omitempty"` // fails with RevisionChanged if the one workspace that is named is at another revision
}

// Agreed is what a person was shown and agreed to. A request that has one removes only
// these workspaces, whatever came meanwhile, and its Mode is not looked at: those in
// WithWork go with their uncommitted work, the others as with RemoveSafe.
type Agreed struct {
	Workspaces []ID `json:"workspaces,omitempty"`
	// WithWork are those of them that were shown with uncommitted work. The others
	// are kept if they have some by now, and all of them if they are locked.
	WithWork []ID     `json:"withWork,omitempty"`
	Branches []string `json:"branches,omitempty"`
	// Stamps are those of Status at the time, by the ID of the workspace. One that has another by now is
	// kept with the reason WorkChanged.
	Stamps map[ID]string `json:"stamps,omitempty"`
}

// Scope says how far a request reaches that names nothing.
type Scope string

const (
	// ScopeNamed: only what is named. It is the default.
	ScopeNamed Scope = ""
	// ScopeAll: every live workspace of the repository.
	ScopeAll Scope = "all"
)

// Removed is one workspace that was removed.
type Removed struct {
	ID     ID     `json:"id,omitempty"`
	Name   string `json:"name"`
	Trash  ID     `json:"trash"`            // under this ID it lies in the trash; absent if there was nothing to keep
	Branch string `json:"branch,omitempty"` // the branch that was deleted
	// Notes are sentences about what was left undone, such as commands that failed.
	Notes []string `json:"notes,omitempty"`
}

// Kept is one workspace that was left, with the reason.
type Kept struct {
	ID     ID     `json:"id,omitempty"`
	Name   string `json:"name"`
	Reason *Error `json:"reason"` // why it was left
}

// RemoveResult answers for every name that was asked for.
type RemoveResult struct {
	Removed []Removed `json:"removed"`
	Kept    []Kept    `json:"kept,omitempty"`
	Unknown []string  `json:"unknown,omitempty"` // already gone, or never there
}

// Workspaces is the part of Service that makes, finds and removes workspaces.
type Workspaces interface {
	// Create makes one workspace. It is CreateAll with a single part.
	Create(ctx context.Context, req CreateRequest) (*Workspace, error)

	// CreateAll makes several workspaces, all or none: when it fails, nothing
	// of them remains and nothing else was touched. If the process dies in
	// between, the next one rolls back what was begun.
	//
	// It fails with NotARepo, WorktreeExists, BranchExists, BranchBlocked,
	// BranchInUse, BaseNotFound, RoleNotFound, SessionRequired, InvalidName,
	// LimitReached, NoSpace, NotWritable, KeyConflict or GitFailed.
	CreateAll(ctx context.Context, req CreateAllRequest) (*CreateResult, error)

	// PlanCreate says what CreateAll would make, and makes nothing: names, branches,
	// paths, where they start and where their work goes. Names and parts of
	// names that are drawn at random are drawn again by CreateAll. It fails as
	// CreateAll would, as far as that can be known before.
	PlanCreate(ctx context.Context, req CreateAllRequest) (*CreateResult, error)

	// Workspaces lists workspaces, oldest first. It starts no git process per
	// workspace. A listing that cannot be read is an error, never an empty
	// list.
	Workspaces(ctx context.Context, req WorkspacesRequest) (*List[Workspace], error)

	// Workspace finds one live workspace, or with ScopeAll one that was removed,
	// or fails with WorktreeNotFound.
	Workspace(ctx context.Context, req WorkspaceRequest) (*Workspace, error)

	// Worktrees lists what git has registered in the repository: the main
	// checkout, Croft's worktrees and everybody else's.
	Worktrees(ctx context.Context, req WorktreesRequest) (*List[Worktree], error)

	// UpdateWorkspace changes the entries of a workspace's Meta that the request names, or
	// gives it other ports. A key or a value that cannot be recorded is InvalidName. A
	// workspace without ports that is to get others is InvalidRequest; LimitReached says that
	// none are free. If it fails, the workspace has the ports that it had.
	UpdateWorkspace(ctx context.Context, req UpdateRequest) (*Workspace, error)

	// Status looks for uncommitted work. Role files that Croft put there do
	// not count, nor does STATE.json.
	Status(ctx context.Context, req StatusRequest) (*Status, error)

	// Remove moves workspaces to the trash and answers for each. Calling it
	// again for what is gone succeeds. A workspace is kept, with the reason
	// WorkspaceDirty, WorkspaceLocked or WorkspaceBusy, where the request's
	// mode does not override that.
	Remove(ctx context.Context, req RemoveRequest) (*RemoveResult, error)

	// CountActive counts the live workspaces, those being made included.
	CountActive(ctx context.Context, req CountRequest) (*Count, error)
}
