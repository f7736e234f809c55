package croft

import (
	"context"
)

// ReapRequest asks for the removal of orphans: workspaces whose lease expired
// and whose owner is provably gone, or whose agent Croft ran and lost.
type ReapRequest struct {
	Key  string `json:"key,omitempty"` // the same call removes nothing that was orphaned since
	Repo Ref    `json:"repo,omitempty"`
	// OlderThan, if positive, also takes idle workspaces of that age that
	// nobody leased and whose commits are in their target.
	OlderThan Duration `json:"olderThan,omitempty"`
	// Mode RemoveForce takes those with uncommitted work, or with commits that are
	// nowhere else, too. One whose directory is not found stays.
	Mode RemoveMode `json:"mode,omitempty"`
	// DryRun lists without removing.
	DryRun DryRun  `json:"dryRun,omitempty"`
	Agreed *Agreed `json:"agreed,omitempty"`
}

// DryRun says whether something is done or only told.
type DryRun string

const (
	// DryRunOff does it. It is the default.
	DryRunOff DryRun = ""
	// DryRunOn tells what would be done.
	DryRunOn DryRun = "on"
)

// CleanRequest asks for the removal of everything that is provably finished,
// or of everything.
type CleanRequest struct {
	Key    string  `json:"key,omitempty"` // the same call removes nothing that was finished since
	Repo   Ref     `json:"repo,omitempty"`
	All    Scope   `json:"all,omitempty"` // ScopeAll: finished or not
	DryRun DryRun  `json:"dryRun,omitempty"`
	Agreed *Agreed `json:"agreed,omitempty"`

	// Branches: ScopeAll deletes the recorded branches that have no workspace
	// any more, whether their work is in its target or not, and nothing else.
	// Their tips stay archived.
	Branches Scope `json:"branches,omitempty"`
}

// CleanResult says what was removed, or would be.
type CleanResult struct {
	Removed  []Removed `json:"removed"`
	Kept     []Kept    `json:"kept,omitempty"`
	Branches []string  `json:"branches"` // recorded branches that had no workspace any more
}

// GCRequest names the project whose upkeep is done.
type GCRequest struct {
	Key  string `json:"key,omitempty"` // the same call deletes no trash that expired since
	Repo Ref    `json:"repo,omitempty"`
	// DryRun tells what would be deleted and announced, as far as that is known before: of what would be forgotten, and
	// of a directory that turns out to have to stay, nothing is said.
	DryRun DryRun `json:"dryRun,omitempty"`
}

// GCResult says what upkeep freed.
type GCResult struct {
	Purged   []ID     `json:"purged"`   // trash that cannot be restored any more
	Reduced  []ID     `json:"reduced"`  // trash whose directory went; commits and a snapshot are left
	Stripped []ID     `json:"stripped"` // trash of which directories went that can be made again
	Bytes    int64    `json:"bytes"`
	Inodes   int64    `json:"inodes"`
	Branches []string `json:"branches"` // recorded, integrated branches without a workspace

	// Unseen are those of Reduced whose directory was not there when they were removed,
	// nor later: of what was not committed nothing is kept.
	Unseen []ID `json:"unseen,omitempty"`

	// Forgotten is how many removed workspaces are no longer remembered, because
	// nothing was left of them for a long time.
	Forgotten int `json:"forgotten"`

	// Announced is what is going to be deleted from the trash and has not been
	// announced before.
	Announced []Announcement `json:"announced"`

	// Kept are removed workspaces whose time is over and whose directory stays in
	// the trash, because it has commits that could not be brought to the project.
	Kept []Kept `json:"kept,omitempty"`
}

// Finding is something that the doctor noticed.
type Finding struct {
	Code    string `json:"code"`    // such as WORKSPACE_MISSING
	Subject string `json:"subject"` // a name, a path or a ref
	Message string `json:"message"` // one sentence
	Fixed   bool   `json:"fixed"`
	// CanFix says that FixAll mends it, or tried to.
	CanFix bool `json:"canFix,omitempty"`
	// Seen stands for what was found, if it can be imported: DoctorRequest.Agreed
	// takes it back.
	Seen string `json:"seen,omitempty"`
}

// FixMode says whether the doctor mends what it can.
type FixMode string

const (
	// FixNothing only looks. It is the default.
	FixNothing FixMode = ""
	// FixAll mends what can be mended without losing anything.
	FixAll FixMode = "all"
)

// ImportMode says what the doctor does about workspaces that git knows and that
// no record names: the state was lost, with its second copy, or they are another
// user's.
type ImportMode string

const (
	// ImportNothing does not look for them. It is the default.
	ImportNothing ImportMode = ""
	// ImportShow lists them.
	ImportShow ImportMode = "show"
	// ImportAll makes records for all that ImportShow lists. What git knows of a
	// workspace can have been written by an agent, so a person has to have seen
	// the list. Nothing is moved or deleted.
	ImportAll ImportMode = "all"
)

// DoctorResult lists what the doctor found.
type DoctorResult struct {
	Findings []Finding `json:"findings"`
}

// DoctorRequest asks for an examination.
type DoctorRequest struct {
	Key    string     `json:"key,omitempty"` // the same call mends nothing that broke since
	Repo   Ref        `json:"repo,omitempty"`
	Fix    FixMode    `json:"fix,omitempty"`
	Import ImportMode `json:"import,omitempty"`
	// Agreed are the findings, by Seen, that a person was shown and agreed to. With
	// any, ImportAll binds no other ones.
	Agreed []string `json:"agreed,omitempty"`
}

// UninstallRequest asks for the removal of all that is Croft's own from a
// repository, or from the machine.
type UninstallRequest struct {
	// Key: the same call leaves a repository alone that Croft was used in again. With All
	// it goes with the state, and then nothing is known that could be removed.
	Key  string `json:"key,omitempty"`
	Repo Ref    `json:"repo,omitempty"`
	// All: ScopeAll removes it from every repository that is known, and then the
	// state, with its second copy, if no repository was kept.
	All    Scope  `json:"all,omitempty"`
	DryRun DryRun `json:"dryRun,omitempty"`

	// Gone: GoneForGood says of Repo, at whose path nothing is, that it does not come
	// back. What is remembered of it is forgotten; of its workspaces and its trash
	// nothing is deleted.
	Gone GoneMode `json:"gone,omitempty"`
	// Shown, with All: only these repositories, by their paths. Others that are known
	// by now are kept.
	Shown []string `json:"shown,omitempty"`
}

// GoneMode says what is known of a repository that is not there.
type GoneMode string

const (
	// GoneMaybe: it may be elsewhere, or come back. It is the default.
	GoneMaybe GoneMode = ""
	// GoneForGood: the user says that it was deleted.
	GoneForGood GoneMode = "for good"
)

// KeptBranch is a branch that was made of work that only Croft kept.
type KeptBranch struct {
	Branch string `json:"branch"`
	Commit string `json:"commit"`
	Name   string `json:"name"` // of the workspace whose work it is
}

// LeftKind says what something is that Croft leaves behind.
type LeftKind string

const (
	// LeftTrash is the directory of a removed workspace.
	LeftTrash LeftKind = "trash"
	// LeftSecrets are files of snapshots and removed workspaces that only their
	// owner may read.
	LeftSecrets LeftKind = "secrets"
	// LeftArchive is what a session keeps of its agents' scratch directories, and
	// of what was held back.
	LeftArchive LeftKind = "archive"
	// LeftHome is a directory that was made for an agent of a session.
	LeftHome LeftKind = "home"
	// LeftHistory is the repository of a directory without git.
	LeftHistory LeftKind = "history"
	// LeftOriginals are a user's files that a merge could not put back.
	LeftOriginals LeftKind = "originals"
	// LeftUnseen is the directory of a removed workspace that is not where it was: it
	// was moved or deleted, or its drive is not mounted.
	LeftUnseen LeftKind = "unseen"
	// LeftUnknown is what no record names, or what Croft did not make.
	LeftUnknown LeftKind = "unknown"
)

// Left is something that stays, because it is work or not Croft's.
type Left struct {
	Kind LeftKind `json:"kind"`
	Path string   `json:"path"`
	// Remark says what is to be known of it, and Hint is the command for that.
	Remark string `json:"remark,omitempty"`
	Hint   string `json:"hint,omitempty"`
}

// UninstalledRepo says what was removed from a repository, or would be, and what
// stays.
type UninstalledRepo struct {
	Path       string       `json:"path"`
	Refs       []string     `json:"refs"`       // deleted, below refs/croft/
	Files      []string     `json:"files"`      // deleted or mended, in the git directory and in Croft's own
	Branches   []KeptBranch `json:"branches"`   // made, so that nothing is lost
	Workspaces []string     `json:"workspaces"` // the paths of worktrees that stay, as plain git has them
	Left       []Left       `json:"left"`
	// OtherRefs are those below refs/croft/ that this state did not make: another
	// state's, or the user's. They stay.
	OtherRefs []string `json:"otherRefs,omitempty"`
}

// KeptRepo is a repository that nothing was done to, with the reason.
type KeptRepo struct {
	Path   string `json:"path"`
	Reason *Error `json:"reason"`
}

// UninstallResult answers for every repository that was asked for, and for the
// state.
type UninstallResult struct {
	Repos []UninstalledRepo `json:"repos"`
	Kept  []KeptRepo        `json:"kept"`
	// Files are what was deleted of the state and its second copy. While a
	// repository is kept they are needed, and none is.
	Files []string `json:"files"`
	// Left is what stays in the directories of the state and of its second copy, and
	// belongs to none of Repos.
	Left []Left `json:"left"`
}

// Upkeep is the part of Service that tidies up and repairs.
type Upkeep interface {
	// Reap removes orphans and answers for each workspace that it looked at
	// and kept. A lock, a live or invisible owner or a process inside keeps a
	// workspace always.
	Reap(ctx context.Context, req ReapRequest) (*CleanResult, error)

	// Clean removes what is provably finished: clean, idle, and integrated in
	// its target. With ScopeAll it removes every workspace, with uncommitted
	// work too, the recorded branches that are left, and the emptied base
	// directory. A lock or a process inside keeps a workspace even then.
	Clean(ctx context.Context, req CleanRequest) (*CleanResult, error)

	// GC deletes recorded branches that are integrated and have no workspace
	// any more, and trash. Of that, directories that can be made again go
	// first; what is in its target and was clean goes when it is past its
	// retention, or when the trash is over its budget. Other work is announced
	// before it goes, and when its directory goes, it can still be restored
	// from its commits and a snapshot, for a while that the configuration says.
	// The history, events and removed workspaces of which nothing is left are
	// forgotten in the end.
	GC(ctx context.Context, req GCRequest) (*GCResult, error)

	// Pool describes the checkouts that are kept in stock for new workspaces.
	Pool(ctx context.Context, req PoolRequest) (*Pool, error)

	// ChangePool fills the pool of a project, or empties it. It returns when that is done,
	// and with fewer checkouts than are wanted where there is a reason: a limit, or a
	// repository whose files cannot be written in advance. If another process is filling
	// the pool it returns at once.
	ChangePool(ctx context.Context, req ChangePoolRequest) (*Pool, error)

	// Doctor compares records, refs, registrations and disk. It deletes nothing
	// that it does not know, and makes records of what it finds in a repository
	// only if that is asked for.
	Doctor(ctx context.Context, req DoctorRequest) (*DoctorResult, error)

	// Uninstall removes all that is Croft's own from a repository: refs, files in
	// its git directory, its settings and excludes there, and what Croft remembers
	// of it. Branches, worktrees, and whatever else is work stay and are named;
	// commits and snapshots that only Croft kept become branches below croft-kept/.
	// It is refused, with nothing done, while merges wait or isolated workspaces
	// live, whose git directories are Croft's.
	//
	// With ScopeAll it does so for every repository that is known. Those that it is
	// refused for, and those that are not there now, are kept with the reason. If
	// none is, what Croft keeps for all of them goes too, and the Service with it:
	// the next one begins with an empty state.
	Uninstall(ctx context.Context, req UninstallRequest) (*UninstallResult, error)
}
