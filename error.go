package croft

import (
	"context"
	"errors"
)

// Code is a machine-readable reason for a failure. Codes are part of the API:
// they are never renamed and never reused. A Code is itself an error, so that
// errors.Is finds it in whatever a Service returns.
type Code string

// Error implements the error interface.
func (c Code) Error() string { return string(c) }

// The codes. docs/errors.md says for each what happened, what state was left
// and what to run next.
const (
	// NotARepo: the directory is in no git repository, or the repository has
	// no commit to start from.
	NotARepo Code = "NOT_A_REPO"
	// WorktreeExists: a workspace of that name, or something at the path where
	// it would lie, exists already.
	WorktreeExists Code = "WORKTREE_EXISTS"
	// WorktreeNotFound: no workspace of that name or ID.
	WorktreeNotFound Code = "WORKTREE_NOT_FOUND"
	// BranchExists: the branch that would be made is already there.
	BranchExists Code = "BRANCH_EXISTS"
	// GitFailed: git ended with an error that has no code of its own.
	GitFailed Code = "GIT_FAILED"
	// RoleNotFound: the role has no configuration file.
	RoleNotFound Code = "ROLE_NOT_FOUND"
	// CleanupFailed: something that had to be removed could not be.
	CleanupFailed Code = "CLEANUP_FAILED"

	// BranchBlocked: a branch cannot exist beside one that is a prefix of it,
	// such as "croft" and "croft/x".
	BranchBlocked Code = "BRANCH_BLOCKED"
	// BranchInUse: the branch is checked out in another worktree.
	BranchInUse Code = "BRANCH_IN_USE"
	// BaseNotFound: the starting point names no commit.
	BaseNotFound Code = "BASE_NOT_FOUND"
	// InvalidName: a name, role, session, label or branch that is not safe to
	// use. Nothing was rewritten, nothing was made.
	InvalidName Code = "INVALID_NAME"
	// InvalidRequest: the request contradicts itself or lacks something.
	InvalidRequest Code = "INVALID_REQUEST"
	// RequestTooLarge: the body of a request is longer than the daemon takes. Nothing was
	// begun.
	RequestTooLarge Code = "REQUEST_TOO_LARGE"
	// SessionRequired: the layout groups workspaces by session and none was
	// given.
	SessionRequired Code = "SESSION_REQUIRED"
	// KeyConflict: the idempotency key was used before for another request.
	KeyConflict Code = "KEY_CONFLICT"

	// LimitReached: as many workspaces are active as the limit allows.
	LimitReached Code = "LIMIT_REACHED"
	// NoSpace: the file system has too few free bytes or inodes.
	NoSpace Code = "NO_SPACE"
	// DiskError: the file system reported an error of input or output.
	DiskError Code = "DISK_ERROR"
	// NotWritable: the directory in which the workspace would lie cannot be
	// written.
	NotWritable Code = "NOT_WRITABLE"
	// ReadOnly: this process may read Croft's record and not write it, as in the sandbox of
	// an agent. Calls that only read are answered.
	ReadOnly Code = "READ_ONLY"

	// WorkspaceDirty: the workspace holds uncommitted work.
	WorkspaceDirty Code = "WORKSPACE_DIRTY"
	// WorkspaceLocked: a person locked the workspace.
	WorkspaceLocked Code = "WORKSPACE_LOCKED"
	// WorkspaceBusy: a process is at work inside the workspace.
	WorkspaceBusy Code = "WORKSPACE_BUSY"
	// WorkspaceBroken: the workspace's directory or registration is not what
	// the record says.
	WorkspaceBroken Code = "WORKSPACE_BROKEN"
	// WrongBranch: the workspace is not on the branch that its record names.
	// Nothing was committed, and no branch moved.
	WrongBranch Code = "WRONG_BRANCH"
	// InProgress: the workspace is in the middle of a rebase, a cherry-pick or
	// the like, or of a merge whose conflicts are not resolved.
	InProgress Code = "IN_PROGRESS"
	// SigningFailed: commits are to be signed, and this one could not be.
	SigningFailed Code = "SIGNING_FAILED"
	// IdentityUnknown: git does not know whose name to put on a commit.
	IdentityUnknown Code = "IDENTITY_UNKNOWN"

	// Conflict: two sides changed the same place. It is the reason of a
	// merge that stays pending.
	Conflict Code = "CONFLICT"
	// UnrelatedHistories: the work and its target have no commit in common. It is
	// the reason of a merge that stays pending.
	UnrelatedHistories Code = "UNRELATED_HISTORIES"
	// NotConfirmed: the act reaches further than the request names, and there is no
	// person to ask.
	NotConfirmed Code = "NOT_CONFIRMED"
	// SubmoduleLocal: the work names a commit of a submodule that is in the
	// workspace alone.
	SubmoduleLocal Code = "SUBMODULE_LOCAL"
	// HostDirty: the target is checked out somewhere, and changes there would
	// be touched. It is the reason of a merge that stays pending, and is tried
	// again.
	HostDirty Code = "HOST_DIRTY"
	// TargetMoved: the target is not where it was said to be, or not where its
	// lane left it. It is the reason of a merge that stays pending, and is tried
	// again once a person has accepted that.
	TargetMoved Code = "TARGET_MOVED"
	// CursorExpired: a place in a list or in the stream of events is not there any more.
	// The caller has to begin anew.
	CursorExpired Code = "CURSOR_EXPIRED"
	// WorkChanged: the work of the workspace is not what the caller has seen. Nothing was
	// committed or submitted.
	WorkChanged Code = "WORK_CHANGED"
	// RevisionChanged: the thing that the request names is not at the revision that the
	// caller has seen. Nothing was changed.
	RevisionChanged Code = "REVISION_CHANGED"
	// TargetBroken: the target fails the checks by itself.
	TargetBroken Code = "TARGET_BROKEN"
	// TargetNotFound: the target branch is not there.
	TargetNotFound Code = "TARGET_NOT_FOUND"
	// MergeNotFound: no merge of that ID, workspace or commit.
	MergeNotFound Code = "MERGE_NOT_FOUND"
	// MergeHeld: the merge waits in its lane until it is released.
	MergeHeld Code = "MERGE_HELD"
	// NotMerged: the merge that is to be reverted is not in the target.
	NotMerged Code = "NOT_MERGED"
	// BaseMoved: the target changed files of a review after it was made. It is
	// the reason of an apply that stays pending.
	BaseMoved Code = "BASE_MOVED"
	// SessionNotFound: no session of that ID, or no open one of that name.
	SessionNotFound Code = "SESSION_NOT_FOUND"
	// SessionOver: the session has ended.
	SessionOver Code = "SESSION_OVER"
	// RoundNotFound: no round of that ID or number.
	RoundNotFound Code = "ROUND_NOT_FOUND"
	// RoundBusy: an agent still has a workspace of an earlier round.
	RoundBusy Code = "ROUND_BUSY"
	// ReviewNotFound: no review of that ID, or none any more.
	ReviewNotFound Code = "REVIEW_NOT_FOUND"

	// OperationNotFound: no operation of that ID in the history.
	OperationNotFound Code = "OPERATION_NOT_FOUND"
	// SnapshotNotFound: no snapshot of that ID, or none any more.
	SnapshotNotFound Code = "SNAPSHOT_NOT_FOUND"

	// LeaseLost: the lease expired or was released.
	LeaseLost Code = "LEASE_LOST"

	// RemoteNotFound: the repository has no remote of that name.
	RemoteNotFound Code = "REMOTE_NOT_FOUND"
	// RemoteAdvanced: the branch at the remote has commits that the workspace lacks.
	RemoteAdvanced Code = "REMOTE_ADVANCED"
	// RemoteUnreachable: the remote does not answer, or does not know the user.
	RemoteUnreachable Code = "REMOTE_UNREACHABLE"
	// PushRejected: the remote did not take the commits.
	PushRejected Code = "PUSH_REJECTED"
	// HostRefused: the host of the pull requests, or its tool, did not do what it was asked.
	HostRefused Code = "HOST_REFUSED"
	// PullRequestNotFound: there is no such pull request.
	PullRequestNotFound Code = "PULL_REQUEST_NOT_FOUND"

	// ChecksUntrusted: the target asks for checks that no person has approved.
	ChecksUntrusted Code = "CHECKS_UNTRUSTED"
	// CheckFailed: the merged result does not pass the target's checks.
	CheckFailed Code = "CHECK_FAILED"

	// RunNotFound: Croft has started no agent in the workspace, or not this one, or its output
	// is not kept any more.
	RunNotFound Code = "RUN_NOT_FOUND"
	// CheckNotFound: no such check has run on the merge, or its output is not kept any more.
	CheckNotFound Code = "CHECK_NOT_FOUND"

	// FileNotFound: the work has no file at the path, on the side that was asked for.
	FileNotFound Code = "FILE_NOT_FOUND"
	// FileHeldBack: the file is not part of the work, because it looks like a secret, is
	// large, is a repository, or git was told not to look at it.
	FileHeldBack Code = "FILE_HELD_BACK"

	// Unauthenticated: the request shows neither a token nor a session that the daemon knows.
	Unauthenticated Code = "UNAUTHENTICATED"
	// AccessDenied: the caller's token does not allow the call, or the request came from
	// where the daemon takes none.
	AccessDenied Code = "ACCESS_DENIED"
	// TokenNotFound: no token of that name or ID.
	TokenNotFound Code = "TOKEN_NOT_FOUND"
	// DaemonRunning: another daemon serves this user and this state.
	DaemonRunning Code = "DAEMON_RUNNING"
	// DaemonUnreachable: no daemon answers.
	DaemonUnreachable Code = "DAEMON_UNREACHABLE"

	// GitNotFound: there is no git to run.
	GitNotFound Code = "GIT_NOT_FOUND"
	// GitTooOld: git is older than the oldest version that Croft can use.
	GitTooOld Code = "GIT_TOO_OLD"
	// GitUnsafe: this git takes its files from other places than Croft expects.
	GitUnsafe Code = "GIT_UNSAFE"
	// FilterRefused: the repository's own configuration names a content filter
	// that the user has not allowed Croft to run.
	FilterRefused Code = "FILTER_REFUSED"
	// ConfigChanged: the repository's own git configuration says something else than
	// when Croft first saw it, and no person has accepted that.
	ConfigChanged Code = "CONFIG_CHANGED"
	// GitTimeout: a git did not end in time and was stopped.
	GitTimeout Code = "GIT_TIMEOUT"
	// FileIrregular: a link, a pipe or something else lies in the repository where
	// git has a file.
	FileIrregular Code = "FILE_IRREGULAR"
	// ObjectForged: the content of an object in the repository does not match its name.
	ObjectForged Code = "OBJECT_FORGED"
	// ObjectMissing: an object that a commit or an index leads to is not in the
	// repository.
	ObjectMissing Code = "OBJECT_MISSING"
	// ConfigInvalid: a configuration file or variable cannot be used.
	ConfigInvalid Code = "CONFIG_INVALID"
	// StateUnavailable: Croft's own state cannot be read or written.
	StateUnavailable Code = "STATE_UNAVAILABLE"
	// Unsupported: this platform, or this version of Croft, lacks what was
	// asked for.
	Unsupported Code = "UNSUPPORTED"
	// Canceled: the caller gave up; the work that had been started was rolled back, or
	// the message says what goes on.
	Canceled Code = "CANCELED"
	// Closed: the Service was closed before the call, or while it waited.
	Closed Code = "CLOSED"
	// Internal: a defect in Croft.
	Internal Code = "INTERNAL"
)

// Error is the only error type that leaves this module.
type Error struct {
	Code      Code   `json:"code"`
	Op        string `json:"op"`                  // what was attempted: "create", "remove"
	Workspace string `json:"workspace,omitempty"` // its name, if there is one
	Message   string `json:"message"`             // one line, lower case, no period
	Details   string `json:"details,omitempty"`   // git's stderr, a path, a list of files
	Hint      string `json:"hint,omitempty"`      // a command that the reader can run next

	// Fields are parts of the message for programs; docs/errors.md says which a code has.
	Fields map[string]string `json:"fields,omitempty"`

	Err error `json:"-"` // the cause; it stays in this process
}

// Error puts operation, workspace, message and cause on one line.
func (e *Error) Error() string {
	s := e.Op
	if e.Workspace != "" {
		s += " " + e.Workspace
	}
	if s != "" {
		s += ": "
	}
	s += e.Message
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap lets errors.Is find the code and errors.As the cause.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Code}
	}
	return []error{e.Code, e.Err}
}

// AsError returns err as an *Error. A bare code becomes an error with that
// code; an error that carries none becomes Canceled if its context ended, and
// Internal otherwise; nil stays nil.
func AsError(op string, err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if c, ok := errors.AsType[Code](err); ok {
		return &Error{Code: c, Op: op, Message: err.Error()}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return &Error{Code: Canceled, Op: op, Message: "canceled before it was done", Err: err}
	}
	return &Error{Code: Internal, Op: op, Message: "unexpected failure", Err: err}
}
