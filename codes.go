package croft

import "slices"

// Exit codes of the command line. Scripts may rely on them; the code in the
// JSON error says more.
const (
	ExitOK          = 0
	ExitFailure     = 1   // something went wrong that has no class of its own
	ExitUsage       = 2   // the request itself is wrong
	ExitConflict    = 3   // something that the request names exists already, or does not exist
	ExitEnvironment = 4   // the machine, the repository or the configuration is not ready
	ExitRefused     = 5   // refused to protect work
	ExitDiffers     = 6   // croft provision --check: something differs, or would run
	ExitCanceled    = 130 // interrupted
)

// codeTable has the HTTP status and the exit status of every code.
var codeTable = []struct {
	code   Code
	status int
	exit   int
}{
	{NotARepo, 422, ExitEnvironment},
	{WorktreeExists, 409, ExitConflict},
	{WorktreeNotFound, 404, ExitConflict},
	{BranchExists, 409, ExitConflict},
	{GitFailed, 500, ExitFailure},
	{RoleNotFound, 404, ExitConflict},
	{CleanupFailed, 500, ExitFailure},
	{BranchBlocked, 409, ExitConflict},
	{BranchInUse, 409, ExitConflict},
	{BaseNotFound, 404, ExitConflict},
	{InvalidName, 400, ExitUsage},
	{InvalidRequest, 400, ExitUsage},
	{RequestTooLarge, 413, ExitUsage},
	{SessionRequired, 400, ExitUsage},
	{KeyConflict, 409, ExitConflict},
	{LimitReached, 429, ExitRefused},
	{NoSpace, 507, ExitEnvironment},
	{DiskError, 500, ExitEnvironment},
	{NotWritable, 403, ExitEnvironment},
	{ReadOnly, 403, ExitEnvironment},
	{WorkspaceDirty, 409, ExitRefused},
	{WorkspaceLocked, 423, ExitRefused},
	{WorkspaceBusy, 409, ExitRefused},
	{WorkspaceBroken, 409, ExitRefused},
	{WrongBranch, 409, ExitRefused},
	{InProgress, 409, ExitRefused},
	{SigningFailed, 422, ExitEnvironment},
	{IdentityUnknown, 422, ExitEnvironment},
	{Conflict, 409, ExitConflict},
	{UnrelatedHistories, 409, ExitConflict},
	{NotConfirmed, 428, ExitRefused},
	{SubmoduleLocal, 409, ExitRefused},
	{HostDirty, 409, ExitRefused},
	{TargetMoved, 409, ExitConflict},
	{CursorExpired, 410, ExitConflict},
	{WorkChanged, 409, ExitRefused},
	{RevisionChanged, 412, ExitRefused},
	{TargetBroken, 409, ExitConflict},
	{TargetNotFound, 404, ExitConflict},
	{MergeNotFound, 404, ExitConflict},
	{MergeHeld, 409, ExitRefused},
	{NotMerged, 409, ExitConflict},
	{BaseMoved, 409, ExitConflict},
	{SessionNotFound, 404, ExitConflict},
	{SessionOver, 409, ExitConflict},
	{RoundNotFound, 404, ExitConflict},
	{RoundBusy, 409, ExitConflict},
	{ReviewNotFound, 404, ExitConflict},
	{OperationNotFound, 404, ExitConflict},
	{SnapshotNotFound, 404, ExitConflict},
	{LeaseLost, 410, ExitConflict},
	{RemoteNotFound, 404, ExitConflict},
	{RemoteAdvanced, 409, ExitRefused},
	{RemoteUnreachable, 502, ExitEnvironment},
	{PushRejected, 422, ExitRefused},
	{HostRefused, 502, ExitFailure},
	{PullRequestNotFound, 404, ExitConflict},
	{ChecksUntrusted, 403, ExitRefused},
	{CheckFailed, 422, ExitConflict},
	{CheckNotFound, 404, ExitConflict},
	{RunNotFound, 404, ExitConflict},
	{FileNotFound, 404, ExitConflict},
	{FileHeldBack, 403, ExitRefused},
	{Unauthenticated, 401, ExitRefused},
	{AccessDenied, 403, ExitRefused},
	{TokenNotFound, 404, ExitConflict},
	{DaemonRunning, 409, ExitConflict},
	{DaemonUnreachable, 503, ExitEnvironment},
	{GitNotFound, 503, ExitEnvironment},
	{GitTooOld, 503, ExitEnvironment},
	{GitUnsafe, 503, ExitEnvironment},
	{FilterRefused, 422, ExitEnvironment},
	{ConfigChanged, 409, ExitRefused},
	{GitTimeout, 504, ExitFailure},
	{FileIrregular, 409, ExitRefused},
	{ObjectForged, 409, ExitRefused},
	{ObjectMissing, 409, ExitRefused},
	{ConfigInvalid, 422, ExitEnvironment},
	{StateUnavailable, 503, ExitEnvironment},
	{Unsupported, 501, ExitEnvironment},
	{Canceled, 499, ExitCanceled}, // 499: the client closed the request
	{Closed, 503, ExitEnvironment},
	{Internal, 500, ExitFailure},
}

// Codes returns every code, in the order of docs/errors.md.
func Codes() []Code {
	codes := make([]Code, len(codeTable))
	for i, row := range codeTable {
		codes[i] = row.code
	}
	return codes
}

// HTTPStatus is the status under which the daemon reports the code.
func (c Code) HTTPStatus() int {
	for _, row := range codeTable {
		if row.code == c {
			return row.status
		}
	}
	return 500
}

// passing are the codes of what may pass without anybody changing the request: another
// process is done, the disk has room again, the Service is reachable.
var passing = []Code{LimitReached, NoSpace, WorkspaceBusy, HostDirty, RoundBusy, GitTimeout, RemoteUnreachable, DaemonUnreachable, StateUnavailable, Canceled, Closed}

// Retryable reports whether the same request may succeed later as it is. A request that is
// sent again should carry the same Key.
func (c Code) Retryable() bool { return slices.Contains(passing, c) }

// ExitCode is the status with which the command line ends on the code.
func (c Code) ExitCode() int {
	for _, row := range codeTable {
		if row.code == c {
			return row.exit
		}
	}
	return ExitFailure
}
