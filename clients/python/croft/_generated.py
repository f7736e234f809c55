"""The types and the calls of Croft's API.

Generated from docs/openapi/openapi.json; CROFT_UPDATE=1 go test -run TestOpenAPI . writes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, TypeAlias, TypeVar

from ._model import Model, segment

T = TypeVar("T", bound=Model)

__all__ = [
    "Calls",
    "About",
    "AbsentCheckout",
    "Action",
    "Activity",
    "AdoptResult",
    "AfterMerge",
    "Agent",
    "AgentNeed",
    "AgentState",
    "Agreed",
    "Announcement",
    "Applied",
    "Approval",
    "ApprovalKind",
    "ApproveMode",
    "Archive",
    "Asks",
    "Aspect",
    "Attempt",
    "Author",
    "Became",
    "Branch",
    "BranchMode",
    "Carry",
    "Changes",
    "Check",
    "CheckLog",
    "CheckOutput",
    "CheckPlan",
    "CleanResult",
    "Code",
    "Collision",
    "CommandSet",
    "Commit",
    "Commits",
    "Condition",
    "ConflictHunk",
    "ConflictedPath",
    "Context",
    "Count",
    "CreateRequest",
    "CreateResult",
    "Cursor",
    "Detail",
    "DiscardResult",
    "DoctorResult",
    "Drift",
    "DriftState",
    "DriveUntil",
    "DryRun",
    "Edit",
    "Effort",
    "EndMode",
    "Error",
    "Event",
    "EventKind",
    "Fault",
    "Fetch",
    "FileContent",
    "FileStatus",
    "Finding",
    "Finished",
    "FixMode",
    "Forecast",
    "ForecastState",
    "From",
    "GCResult",
    "GitConfig",
    "GitConfigChange",
    "GoneMode",
    "HeldBack",
    "Hunk",
    "ID",
    "ImportMode",
    "Intrusion",
    "IntrusionKind",
    "Kept",
    "KeptBranch",
    "KeptRepo",
    "Lane",
    "LaneCommit",
    "LaneList",
    "Lease",
    "LeaseMode",
    "LeaseTerm",
    "Left",
    "LeftKind",
    "MadeBy",
    "Maker",
    "Merge",
    "MergeHold",
    "MergeKind",
    "MergeList",
    "MergePolicy",
    "MergeState",
    "MergeStatus",
    "Mode",
    "Mount",
    "MountPlace",
    "Mounts",
    "Next",
    "Nouns",
    "Operation",
    "OperationList",
    "Outcome",
    "Owner",
    "Pool",
    "PoolAct",
    "Port",
    "PortsMode",
    "Problem",
    "Progress",
    "Prompt",
    "PromptCheckout",
    "Provision",
    "ProvisionHow",
    "ProvisionItem",
    "ProvisionMode",
    "ProvisionPlan",
    "ProvisionState",
    "ProvisionedPath",
    "ProvisionedStep",
    "PullRequest",
    "PullRequestHead",
    "PullRequestMode",
    "PullRequestState",
    "Push",
    "PushOutcome",
    "Pushed",
    "Question",
    "QueueAction",
    "QueueMode",
    "QueueResult",
    "Reason",
    "Released",
    "RemoveMode",
    "RemoveResult",
    "Removed",
    "Repo",
    "RepoList",
    "Resolution",
    "RestoreMode",
    "Retention",
    "RevertPlan",
    "Review",
    "ReviewFile",
    "Role",
    "RoleFiles",
    "RoleMode",
    "Round",
    "RoundState",
    "RoundSummary",
    "Run",
    "RunEnd",
    "RunFinish",
    "RunLog",
    "RunState",
    "RunWork",
    "Saved",
    "Scope",
    "Session",
    "SessionList",
    "SessionState",
    "SessionTurn",
    "Side",
    "SkipReason",
    "Skipped",
    "Snapshot",
    "SnapshotCause",
    "SnapshotList",
    "Spare",
    "SpareCopy",
    "State",
    "Status",
    "StepState",
    "Strategy",
    "SubmitResult",
    "TrashItem",
    "TrashItemList",
    "TrashLeft",
    "TrashReason",
    "TryState",
    "Unadopted",
    "Uncommitted",
    "UndoPlan",
    "UninstallResult",
    "UninstalledRepo",
    "Work",
    "Workspace",
    "WorkspaceList",
    "Worktree",
    "WorktreeList",
]

# Action is what a workspace waits for, for programs that act.
Action: TypeAlias = Literal[
    "diagnose",
    "repair",
    "release",
    "drive",
    "diff",
    "remove",
    "work",
    "answer",
    "merge",
    "resolve",
    "approve",
    "accept",
    "logs",
    "show",
    "unlock",
    "review",
    "set-up",
    "finish",
    "push",
    "follow",
    "restore",
]

# AfterMerge says what becomes of a workspace whose work was merged.
AfterMerge: TypeAlias = Literal[
    "keep",
]

# AgentNeed is what an agent waits for.
AgentNeed: TypeAlias = Literal[
    "answer",
    "permission",
    "credentials",
    "resource",
    "limit",
]

# AgentState says what the agent of a workspace does.
AgentState: TypeAlias = Literal[
    "starting",
    "working",
    "waiting",
    "idle",
    "ended",
    "unknown",
]

# Applied says whether a review has what was applied before and is still in the target.
Applied: TypeAlias = Literal[
    "hidden",
]

# ApprovalKind says what a person allowed.
ApprovalKind: TypeAlias = Literal[
    "checks",
    "target",
    "git-config",
]

# ApproveMode says whether checks may run from now on.
ApproveMode: TypeAlias = Literal[
    "withdraw",
]

# Asks says whom an agent asks.
Asks: TypeAlias = Literal[
    "person",
]

# Aspect is a side of a workspace that a look at it examines.
Aspect: TypeAlias = Literal[
    "commits",
    "files",
    "processes",
]

# Became says what came of work whose merge stayed pending.
Became: TypeAlias = Literal[
    "merged",
    "reverted",
    "discarded",
    "submitted",
    "removed",
]

# BranchMode says what becomes of the branch of a removed workspace.
BranchMode: TypeAlias = Literal[
    "keep",
]

# Carry says what becomes of uncommitted changes in the project's checkout when a round
# starts.
Carry: TypeAlias = Literal[
    "dirty",
]

# Code is a machine-readable reason for a failure. Codes are part of the API: they are never
# renamed and never reused. A Code is itself an error, so that errors.Is finds it in whatever
# a Service returns.
Code: TypeAlias = Literal[
    "NOT_A_REPO",
    "WORKTREE_EXISTS",
    "WORKTREE_NOT_FOUND",
    "BRANCH_EXISTS",
    "GIT_FAILED",
    "ROLE_NOT_FOUND",
    "CLEANUP_FAILED",
    "BRANCH_BLOCKED",
    "BRANCH_IN_USE",
    "BASE_NOT_FOUND",
    "INVALID_NAME",
    "INVALID_REQUEST",
    "REQUEST_TOO_LARGE",
    "SESSION_REQUIRED",
    "KEY_CONFLICT",
    "LIMIT_REACHED",
    "NO_SPACE",
    "DISK_ERROR",
    "NOT_WRITABLE",
    "READ_ONLY",
    "WORKSPACE_DIRTY",
    "WORKSPACE_LOCKED",
    "WORKSPACE_BUSY",
    "WORKSPACE_BROKEN",
    "WRONG_BRANCH",
    "IN_PROGRESS",
    "SIGNING_FAILED",
    "IDENTITY_UNKNOWN",
    "CONFLICT",
    "UNRELATED_HISTORIES",
    "NOT_CONFIRMED",
    "SUBMODULE_LOCAL",
    "HOST_DIRTY",
    "TARGET_MOVED",
    "CURSOR_EXPIRED",
    "WORK_CHANGED",
    "REVISION_CHANGED",
    "TARGET_BROKEN",
    "TARGET_NOT_FOUND",
    "MERGE_NOT_FOUND",
    "MERGE_HELD",
    "NOT_MERGED",
    "BASE_MOVED",
    "SESSION_NOT_FOUND",
    "SESSION_OVER",
    "ROUND_NOT_FOUND",
    "ROUND_BUSY",
    "REVIEW_NOT_FOUND",
    "OPERATION_NOT_FOUND",
    "SNAPSHOT_NOT_FOUND",
    "LEASE_LOST",
    "REMOTE_NOT_FOUND",
    "REMOTE_ADVANCED",
    "REMOTE_UNREACHABLE",
    "PUSH_REJECTED",
    "HOST_REFUSED",
    "PULL_REQUEST_NOT_FOUND",
    "CHECKS_UNTRUSTED",
    "CHECK_FAILED",
    "RUN_NOT_FOUND",
    "CHECK_NOT_FOUND",
    "FILE_NOT_FOUND",
    "FILE_HELD_BACK",
    "UNAUTHENTICATED",
    "ACCESS_DENIED",
    "TOKEN_NOT_FOUND",
    "DAEMON_RUNNING",
    "DAEMON_UNREACHABLE",
    "GIT_NOT_FOUND",
    "GIT_TOO_OLD",
    "GIT_UNSAFE",
    "FILTER_REFUSED",
    "CONFIG_CHANGED",
    "GIT_TIMEOUT",
    "FILE_IRREGULAR",
    "OBJECT_FORGED",
    "OBJECT_MISSING",
    "CONFIG_INVALID",
    "STATE_UNAVAILABLE",
    "UNSUPPORTED",
    "CANCELED",
    "CLOSED",
    "INTERNAL",
]

# CommandSet says which commands of a croft.toml are meant.
CommandSet: TypeAlias = Literal[
    "setup",
]

# Condition says in a word what a workspace is like now, so that a person or a program knows
# whether to act. State is what the record says; a condition is decided from the record, the
# newest merge, the refs, and the files and commits as far as they were looked at. Of the
# conditions that apply, the first in the list is the one. A merge that has ended counts only
# for the commit that it was about: a new commit makes its result void.
Condition: TypeAlias = Literal[
    "missing",
    "broken",
    "making",
    "unfinished",
    "merging",
    "checking",
    "held",
    "queued",
    "waiting",
    "working",
    "orphan",
    "resolving",
    "conflict",
    "check-failed",
    "target-fails",
    "unapproved",
    "blocked",
    "stuck",
    "not-set-up",
    "failed",
    "killed",
    "dirty",
    "reverted",
    "merged",
    "collides",
    "to-review",
    "pending",
    "ahead",
    "in-place",
    "locked",
    "unseen",
    "empty",
    "discarded",
    "reaped",
    "undone",
    "removed",
]

# Context says what project the agents of a session work on.
Context: TypeAlias = Literal[
    "none",
]

# Cursor is a place in the stream of events. It is opaque. A Service that lost its state
# refuses the cursors from before with CURSOR_EXPIRED.
Cursor: TypeAlias = str

# Detail says how much of each file a difference shows.
Detail: TypeAlias = Literal[
    "hunks",
    "stat",
]

# DriftState says how a file that was brought into a workspace differs from what came in.
DriftState: TypeAlias = Literal[
    "stale",
    "edited",
    "diverged",
    "missing",
    "moved",
]

# DriveUntil says when DriveLanes ends.
DriveUntil: TypeAlias = Literal[
    "stopped",
]

# DryRun says whether something is done or only told.
DryRun: TypeAlias = Literal[
    "on",
]

# EndMode says what the end of a round does about checkouts that it cannot put away.
EndMode: TypeAlias = Literal[
    "force",
]

# The kind of an event: a noun and a verb in the past tense.
EventKind: TypeAlias = Literal[
    "workspace.creating",
    "workspace.created",
    "workspace.adopted",
    "workspace.changed",
    "workspace.forgotten",
    "workspace.removed",
    "workspace.locked",
    "workspace.unlocked",
    "workspace.reaped",
    "workspace.rebuilt",
    "workspace.moved",
    "workspace.restored",
    "workspace.saved",
    "lease.taken",
    "lease.released",
    "branch.deleted",
    "operation.undone",
    "operation.progressed",
    "workspace.finished",
    "workspace.reported",
    "workspace.left",
    "run.started",
    "run.ended",
    "run.intruded",
    "workspace.pushed",
    "pull_request.opened",
    "pull_request.merged",
    "pull_request.closed",
    "pull_request.advanced",
    "merge.queued",
    "merge.started",
    "merge.checking",
    "merge.held",
    "merge.released",
    "merge.merged",
    "merge.pending",
    "merge.discarded",
    "merge.reverted",
    "merge.canceled",
    "merge.changed",
    "check.started",
    "check.output",
    "check.ended",
    "target.moved",
    "approval.given",
    "approval.withdrawn",
    "review.created",
    "session.started",
    "session.changed",
    "session.ended",
    "round.started",
    "round.ended",
    "trash.stripped",
    "trash.announced",
    "trash.purged",
    "trash.reduced",
]

# Fault says why a workspace is broken, or cannot be used yet.
Fault: TypeAlias = Literal[
    "missing",
    "moved",
    "unregistered",
    "taken",
    "rewinding",
]

# Fetch says whether the network is used before the base is looked up.
Fetch: TypeAlias = Literal[
    "first",
]

# FileStatus says what became of a file.
FileStatus: TypeAlias = Literal[
    "added",
    "modified",
    "deleted",
    "renamed",
    "typechange",
    "mode",
]

# FixMode says whether the doctor mends what it can.
FixMode: TypeAlias = Literal[
    "all",
]

# ForecastState says whether the collisions of a workspace are known.
ForecastState: TypeAlias = Literal[
    "known",
    "unknown",
]

# From says where a stream of events begins if no cursor says so.
From: TypeAlias = Literal[
    "now",
]

# GoneMode says what is known of a repository that is not there.
GoneMode: TypeAlias = Literal[
    "for good",
]

# ID names one thing of Croft's for ever: sixteen lower-case letters and digits, drawn at
# random. It says nothing about what it names.
ID: TypeAlias = str

# ImportMode says what the doctor does about workspaces that git knows and that no record
# names: the state was lost, with its second copy, or they are another user's.
ImportMode: TypeAlias = Literal[
    "show",
    "all",
]

# IntrusionKind is what was changed.
IntrusionKind: TypeAlias = Literal[
    "head",
    "branch",
    "file",
]

# LeaseMode says whether a workspace may have other leases beside a lease.
LeaseMode: TypeAlias = Literal[
    "exclusive",
]

# LeaseTerm says how long a lease lasts.
LeaseTerm: TypeAlias = Literal[
    "process",
]

# LeftKind says what something is that Croft leaves behind.
LeftKind: TypeAlias = Literal[
    "trash",
    "secrets",
    "archive",
    "home",
    "history",
    "originals",
    "unseen",
    "unknown",
]

# MadeBy says how the files of a workspace came into its directory.
MadeBy: TypeAlias = Literal[
    "git",
    "pool",
    "copy",
]

# Maker says who made a workspace.
Maker: TypeAlias = Literal[
    "caller",
]

# MergeKind says what a merge brings to its target.
MergeKind: TypeAlias = Literal[
    "merge",
    "revert",
    "apply",
]

# MergePolicy says whether finishing means merging.
MergePolicy: TypeAlias = Literal[
    "merge",
    "keep",
]

# MergeState says how far a merge has come in its lane.
MergeState: TypeAlias = Literal[
    "queued",
    "merging",
    "checking",
    "done",
]

# MergeStatus says what became of a workspace's work. The empty status means that it was never
# submitted, and is null in JSON.
MergeStatus: TypeAlias = Literal[
    "pending",
    "merged",
    "discarded",
    "reverted",
]

# Mode says how a workspace is kept apart from the project.
Mode: TypeAlias = Literal[
    "auto",
    "worktree",
    "isolated",
    "legacy",
]

# MountPlace says what mounts are for.
MountPlace: TypeAlias = Literal[
    "sandbox",
]

# Outcome says how an agent ended.
Outcome: TypeAlias = Literal[
    "succeeded",
    "failed",
    "killed",
]

# PoolAct says what is done with a pool.
PoolAct: TypeAlias = Literal[
    "top-up",
    "empty",
]

# PortsMode says what becomes of a workspace's ports.
PortsMode: TypeAlias = Literal[
    "move",
]

# ProvisionHow says how a path of the project comes into a workspace.
ProvisionHow: TypeAlias = Literal[
    "copy",
    "clone",
    "link",
    "install",
    "skip",
    "checkout",
]

# ProvisionMode says what Provision does.
ProvisionMode: TypeAlias = Literal[
    "again",
    "refresh",
    "commands",
]

# ProvisionState says how far a workspace was set up: whether the files, dependencies and
# services that its configuration asks for are there.
ProvisionState: TypeAlias = Literal[
    "ready",
    "pending",
    "unapproved",
    "failed",
]

# PullRequestMode says whether a push opens a pull request.
PullRequestMode: TypeAlias = Literal[
    "open",
]

# PullRequestState says what became of a pull request.
PullRequestState: TypeAlias = Literal[
    "open",
    "merged",
    "closed",
    "advanced",
]

# PushOutcome says what a push did at the remote.
PushOutcome: TypeAlias = Literal[
    "created",
    "up-to-date",
    "fast-forward",
    "rewritten",
    "recreated",
    "merged",
]

# QueueAction is a change of merges that wait in a lane.
QueueAction: TypeAlias = Literal[
    "hold",
    "release",
    "cancel",
    "first",
]

# QueueMode says whether a pull request is handed to the merge queue of its host.
QueueMode: TypeAlias = Literal[
    "join",
]

# Reason says why two pieces of work collide, if not in files.
Reason: TypeAlias = Literal[
    "unrelated",
    "unmergeable",
]

# RemoveMode says what a removal does about what protects a workspace.
RemoveMode: TypeAlias = Literal[
    "force",
]

# RestoreMode says whether a restoration needs the directory in the trash.
RestoreMode: TypeAlias = Literal[
    "commits",
]

# Retention says how many branches of ended rounds an agent has in a session, beside the one
# that it works on: "one", "all", or a number. A branch that goes is archived; its workspace
# can be restored from the trash.
Retention: TypeAlias = str

# RoleFiles says what is done with a role's configuration files.
RoleFiles: TypeAlias = Literal[
    "skip",
]

# RoleMode says what copying a role does about files that were changed in the workspace.
RoleMode: TypeAlias = Literal[
    "replace",
]

# RoundState says how far a round has come.
RoundState: TypeAlias = Literal[
    "open",
    "ended",
]

# RunEnd says how a run ended.
RunEnd: TypeAlias = Literal[
    "done",
    "failed",
    "killed",
    "lost",
]

# RunFinish says whether the work is finished when a run ends.
RunFinish: TypeAlias = Literal[
    "never",
]

# RunState says how far a run has come.
RunState: TypeAlias = Literal[
    "starting",
    "running",
    "ended",
]

# RunWork says what became of the work of a run.
RunWork: TypeAlias = Literal[
    "finished",
    "failed",
]

# Scope says how far a request reaches that names nothing.
Scope: TypeAlias = Literal[
    "all",
]

# SessionState says how far a session has come.
SessionState: TypeAlias = Literal[
    "open",
    "ended",
]

# SessionTurn says where in an agent's session a report is.
SessionTurn: TypeAlias = Literal[
    "begins",
    "leaves",
]

# Side is one of the commits that work is compared with or consists of.
Side: TypeAlias = Literal[
    "base",
    "target",
]

# SkipReason says why a file of the project was not brought into a workspace.
SkipReason: TypeAlias = Literal[
    "exists",
    "blocked",
    "repository",
    "link",
    "special",
    "too-large",
    "too-many",
    "no-room",
    "changing",
    "unreadable",
]

# SnapshotCause says what a snapshot was taken for.
SnapshotCause: TypeAlias = Literal[
    "request",
    "restore",
    "resolve",
    "role",
]

# State says how far a workspace has come.
State: TypeAlias = Literal[
    "creating",
    "ready",
    "stopped",
    "trashed",
    "planned",
    "broken",
]

# StepState says what became of a command that sets a workspace up.
StepState: TypeAlias = Literal[
    "pending",
    "unapproved",
    "running",
    "done",
    "failed",
]

# Strategy says what commits a merge makes.
Strategy: TypeAlias = Literal[
    "no-ff",
    "squash",
]

# TrashLeft says what is left of a removed workspace.
TrashLeft: TypeAlias = Literal[
    "directory",
    "snapshot",
    "commits",
    "away",
]

# TrashReason says why an item is deleted from the trash.
TrashReason: TypeAlias = Literal[
    "expired",
    "budget",
]

# TryState says how far a check, or an attempt, has come.
TryState: TypeAlias = Literal[
    "running",
    "passed",
    "failed",
    "stopped",
]


class About(Model):
    """About describes a daemon, so that a client knows whether its calls would have the same
    result there as in its own process.
    """

    version: str
    pid: int
    state_dir: str
    # settings stands for the settings that the daemon read: a client with other ones calls
    # its own engine instead.
    settings: str
    # api stands for the OpenAPI document.
    api: str
    _fields = {
        "version": ("version", ""),
        "pid": ("pid", ""),
        "state_dir": ("stateDir", ""),
        "settings": ("settings", ""),
        "api": ("api", ""),
    }


class AbsentCheckout(Model):
    """AbsentCheckout is a checkout that was not found when its round ended. Work that was
    neither committed nor staged there is only in that directory, wherever it is now. The
    same holds for commits in an isolated checkout that Croft had not pulled yet.
    """

    # the ID of the workspace
    workspace: ID
    agent: str
    label: str
    # where it was. Once it is there again, Restore takes it as it is; without it, Restore
    # makes one of what is kept.
    path: str
    _fields = {
        "workspace": ("workspace", ""),
        "agent": ("agent", ""),
        "label": ("label", ""),
        "path": ("path", ""),
    }


class Activity(Model):
    """Activity is what the agent of a workspace does, by the last news of it."""

    state: AgentState
    # with waiting
    waiting_for: AgentNeed | None
    # the agent's words: show them as text
    note: str | None
    # what told of it: "report", or the name of an agent's hooks
    source: str | None
    # when the state began
    since: datetime
    # when the last news of it came; news that change nothing count once a minute
    at: datetime
    # of the agent, as the agent calls it
    agent_session: str | None
    # of the agent, if that is known: when it has ended, so has the agent
    process: Owner | None
    _fields = {
        "state": ("state", ""),
        "waiting_for": ("waitingFor", ""),
        "note": ("note", ""),
        "source": ("source", ""),
        "since": ("since", "time"),
        "at": ("at", "time"),
        "agent_session": ("agentSession", ""),
        "process": ("process", "Owner"),
    }


class AdoptResult(Model):
    """AdoptResult answers for every worktree that was asked for."""

    workspaces: list[Workspace]
    left: list[Unadopted]
    _fields = {
        "workspaces": ("workspaces", "[Workspace"),
        "left": ("left", "[Unadopted"),
    }


class Agent(Model):
    """Agent is one worker of a session, over all its rounds."""

    name: str
    # a directory of its own that outlives rounds. Its checkouts lie in it, and the archive of
    # everybody's scratch.
    home: str
    _fields = {
        "name": ("name", ""),
        "home": ("home", ""),
    }


class Agreed(Model):
    """Agreed is what a person was shown and agreed to. A request that has one removes only
    these workspaces, whatever came meanwhile, and its Mode is not looked at: those in
    withWork go with their uncommitted work, the others as with RemoveSafe.
    """

    workspaces: list[ID]
    # those of them that were shown with uncommitted work. The others are kept if they have
    # some by now, and all of them if they are locked.
    with_work: list[ID]
    branches: list[str]
    # those of Status at the time, by the ID of the workspace. One that has another by now is
    # kept with the reason WORK_CHANGED.
    stamps: dict[str, str]
    _fields = {
        "workspaces": ("workspaces", "["),
        "with_work": ("withWork", "["),
        "branches": ("branches", "["),
        "stamps": ("stamps", "{"),
    }


class Announcement(Model):
    """Announcement says that work which is not in its target is going to be deleted from the
    trash.
    """

    # its name for ever
    id: ID
    name: str
    # what goes: after the directory, a snapshot or commits are left
    left: TrashLeft
    # when it goes
    at: datetime
    reason: TrashReason
    _fields = {
        "id": ("id", ""),
        "name": ("name", ""),
        "left": ("left", ""),
        "at": ("at", "time"),
        "reason": ("reason", ""),
    }


class Approval(Model):
    """Approval is what a person allowed, or withdrew. The event that has it names the person."""

    kind: ApprovalKind
    # of checks and a target: the branch
    target: str | None
    # of checks and a target: the commit that the branch was at
    commit: str | None
    # of checks and a git configuration: that of the request
    hash: str | None
    # of checks: the commands
    checks: list[str]
    # of a git configuration: the settings that differed, the first 100; without values, which
    # may be secret
    keys: list[str]
    _fields = {
        "kind": ("kind", ""),
        "target": ("target", ""),
        "commit": ("commit", ""),
        "hash": ("hash", ""),
        "checks": ("checks", "["),
        "keys": ("keys", "["),
    }


class Archive(Model):
    """Archive is what was kept of a scratch directory."""

    label: str
    # where it lies now; empty: there was nothing in it
    paths: list[str]
    _fields = {
        "label": ("label", ""),
        "paths": ("paths", "["),
    }


class Attempt(Model):
    """Attempt is a tree that a lane made of a merge and had checked. A lane stacks several
    merges, a batch, on its target, and checks the tree of all of them. If that fails it
    bisects: it checks the trees of the first few, until the merge is found that breaks the
    checks.
    """

    batch: ID
    # how many merges the batch has
    size: int
    # of this merge in the batch; the lowest is 1
    position: int
    # 0: the first try of the batch; n: the nth step of its bisection
    step: int
    # how many merges of the batch, from the lowest, the tree has; 0: it is the target's own
    merges: int
    commit: str
    tree: str
    state: TryState
    # all that are to be run, in their order; the first that fails is the last
    commands: list[str]
    # those that have begun, without Tail; a command that was run again has two
    checks: list[Check]
    # when it began
    started_at: datetime
    # absent while it runs, and if its driver died
    ended_at: datetime | None
    _fields = {
        "batch": ("batch", ""),
        "size": ("size", ""),
        "position": ("position", ""),
        "step": ("step", ""),
        "merges": ("merges", ""),
        "commit": ("commit", ""),
        "tree": ("tree", ""),
        "state": ("state", ""),
        "commands": ("commands", "["),
        "checks": ("checks", "[Check"),
        "started_at": ("startedAt", "time"),
        "ended_at": ("endedAt", "time"),
    }


class Author(Model):
    """Author is the author of commits. Both fields are required."""

    name: str
    email: str
    _fields = {
        "name": ("name", ""),
        "email": ("email", ""),
    }


class Branch(Model):
    """Branch is a local branch of a repository."""

    name: str
    exists: bool
    _fields = {
        "name": ("name", ""),
        "exists": ("exists", "bool"),
    }


class Changes(Model):
    """Changes counts in how many files and lines work differs from its base."""

    files: int
    # lines
    added: int
    deleted: int
    _fields = {
        "files": ("files", ""),
        "added": ("added", ""),
        "deleted": ("deleted", ""),
    }


class Check(Model):
    """Check is one run of a command on the merged result."""

    # its name for ever
    id: ID | None
    command: str
    # the tree that it ran on
    tree: str
    # absent if an earlier version of Croft ran it
    state: TryState | None
    passed: bool
    # it failed first and passed when it was run again
    flaky: bool
    took: timedelta
    # the median of the last times that the command passed
    usual: timedelta | None
    # the file with its output
    log: str | None
    # the end of the output of a failure
    tail: str | None
    # the last line of the output that is not empty, cut if it is long
    last_line: str | None
    # when it began
    started_at: datetime | None
    _fields = {
        "id": ("id", ""),
        "command": ("command", ""),
        "tree": ("tree", ""),
        "state": ("state", ""),
        "passed": ("passed", "bool"),
        "flaky": ("flaky", "bool"),
        "took": ("took", "duration"),
        "usual": ("usual", "duration"),
        "log": ("log", ""),
        "tail": ("tail", ""),
        "last_line": ("lastLine", ""),
        "started_at": ("startedAt", "time"),
    }


class CheckLog(Model):
    """CheckLog is a part of the output of a check. Of a long output the beginning and the end
    are kept.
    """

    merge: ID
    # the ID of the workspace
    workspace: ID | None
    # the name of the workspace
    workspace_name: str | None
    check: Check
    # as it was printed: the output of a program is not to be trusted
    data: bytes | None
    # where data begins
    offset: int
    # where the next part begins
    next: int
    # of all so far; a check that runs prints more
    size: int
    _fields = {
        "merge": ("merge", ""),
        "workspace": ("workspace", ""),
        "workspace_name": ("workspaceName", ""),
        "check": ("check", "Check"),
        "data": ("data", "bytes"),
        "offset": ("offset", ""),
        "next": ("next", ""),
        "size": ("size", ""),
    }


class CheckOutput(Model):
    """CheckOutput is output of a check that runs."""

    # whole lines; long ones are cut
    text: str
    # how many bytes were left out before text: events carry at most 64 KB of the output of
    # one check. The file that Check.Log names has more.
    left: int | None
    _fields = {
        "text": ("text", ""),
        "left": ("left", ""),
    }


class CheckPlan(Model):
    """CheckPlan lists the commands that a target asks to be run on a merged result before it
    is published.
    """

    # a branch
    target: str
    # its tip, which the checks were read from
    commit: str
    of_: CommandSet | None
    # commands for the shell; of a set-up each with the table that it is of
    checks: list[str]
    # of the checks; empty if there are none
    hash: str
    approved: bool
    # approvedBy and approvedAt are by whom and when they were approved, if a person did.
    approved_by: str | None
    # approvedBy and approvedAt are by whom and when they were approved, if a person did
    approved_at: datetime | None
    # CROFT_TRUST of the Service names the hash, which approves them for what this process
    # submits and lands, unless the Service stands in a workspace
    named: bool
    # why they cannot be approved from where the Service stands.
    refusal: Error | None
    _fields = {
        "target": ("target", ""),
        "commit": ("commit", ""),
        "of_": ("of", ""),
        "checks": ("checks", "["),
        "hash": ("hash", ""),
        "approved": ("approved", "bool"),
        "approved_by": ("approvedBy", ""),
        "approved_at": ("approvedAt", "time"),
        "named": ("named", "bool"),
        "refusal": ("refusal", "Error"),
    }


class CleanResult(Model):
    """CleanResult says what was removed, or would be."""

    removed: list[Removed]
    kept: list[Kept]
    # recorded branches that had no workspace any more
    branches: list[str]
    _fields = {
        "removed": ("removed", "[Removed"),
        "kept": ("kept", "[Kept"),
        "branches": ("branches", "["),
    }


class Collision(Model):
    """Collision is two pieces of work that cannot be merged by themselves one after the other:
    two workspaces, or a workspace and its target. Two workspaces of which one conflicts
    with the target, where the other changed nothing itself, are none.
    """

    # a workspace
    a: str
    # a workspace; with isTarget, a branch
    b: str
    # of a
    a_id: ID | None
    # of b
    b_id: ID | None
    # b is the target of a
    is_target: bool
    # on which they do not agree
    paths: list[str]
    # absent: the paths say it
    reason: Reason | None
    _fields = {
        "a": ("a", ""),
        "b": ("b", ""),
        "a_id": ("aId", ""),
        "b_id": ("bId", ""),
        "is_target": ("isTarget", "bool"),
        "paths": ("paths", "["),
        "reason": ("reason", ""),
    }


class Commit(Model):
    """commit is a commit of a workspace. Its texts and its times are its author's: any text,
    and any time.
    """

    # its name: 40 or 64 hexadecimal digits
    commit: str
    # two or more: it is a merge commit
    parents: list[str]
    # the first line of its message, up to 500 bytes
    title: str
    # the rest of its message, up to 4,000 bytes
    message: str | None
    # its message is longer, or was not read, because the commit has more than 1 MiB
    cut: bool
    # up to 200 bytes each
    author: Author
    # absent if it is no time
    authored_at: datetime | None
    committed_at: datetime | None
    # changes counts what it changed. It is absent of merge commits, and if counting failed or
    # took more than five seconds for the page.
    changes: Changes | None
    # merge brought it to the target, and mergeCommit is the commit that the target became.
    # mergeStatus is that of the merge: reverted if it was taken back. They are absent of
    # commits that the target lacks.
    merge: ID | None
    # merge brought it to the target, and mergeCommit is the commit that the target became
    merge_commit: str | None
    # that of the merge: reverted if it was taken back
    merge_status: MergeStatus | None
    _fields = {
        "commit": ("commit", ""),
        "parents": ("parents", "["),
        "title": ("title", ""),
        "message": ("message", ""),
        "cut": ("cut", "bool"),
        "author": ("author", "Author"),
        "authored_at": ("authoredAt", "time"),
        "committed_at": ("committedAt", "time"),
        "changes": ("changes", "Changes"),
        "merge": ("merge", ""),
        "merge_commit": ("mergeCommit", ""),
        "merge_status": ("mergeStatus", ""),
    }


class Commits(Model):
    """Commits is one page of the commits of a workspace, the newest first: those that its
    target lacks, and before them those that merges of the workspace brought to the target.
    Commits that the workspace began with, or took from the target, are not its own.
    """

    # the ID of the workspace
    workspace: ID
    # the name of the workspace
    workspace_name: str
    # what is left of a workspace that was removed
    left: TrashLeft | None
    # a branch; absent: the workspace has none
    target: str | None
    # the commit that the target was at
    target_commit: str | None
    # the commit that the workspace began with
    base: str | None
    # its last commit
    head: str | None
    items: list[Commit]
    # of all pages
    total: int
    # those of them that the target lacks
    unmerged: int
    # there are more, which no page has: 5,000 are listed
    cut: bool
    # for Page.After; empty: there is no further page
    next: str | None
    # the work that no commit has; absent if there is none, if only commits are left of the
    # workspace, and on all pages but the first.
    uncommitted: Uncommitted | None
    _fields = {
        "workspace": ("workspace", ""),
        "workspace_name": ("workspaceName", ""),
        "left": ("left", ""),
        "target": ("target", ""),
        "target_commit": ("targetCommit", ""),
        "base": ("base", ""),
        "head": ("head", ""),
        "items": ("items", "[Commit"),
        "total": ("total", ""),
        "unmerged": ("unmerged", ""),
        "cut": ("cut", "bool"),
        "next": ("next", ""),
        "uncommitted": ("uncommitted", "Uncommitted"),
    }


class ConflictHunk(Model):
    """ConflictHunk is one place in a file on which two sides do not agree."""

    # in the file with conflict markers
    line: int
    # the target's
    ours: str
    theirs: str
    _fields = {
        "line": ("line", ""),
        "ours": ("ours", ""),
        "theirs": ("theirs", ""),
    }


class ConflictedPath(Model):
    """ConflictedPath is one path on which two sides do not agree."""

    path: str
    # such as "contents" or "modify/delete"
    kind: str | None
    # the workspace whose merge brought the other side; of another commit its hash
    against: str | None
    # when that was merged, or committed; absent: it is not known
    at: datetime | None
    # the first line of that commit's message, if it is not a merge of Croft's
    subject: str | None
    hunks: list[ConflictHunk]
    _fields = {
        "path": ("path", ""),
        "kind": ("kind", ""),
        "against": ("against", ""),
        "at": ("at", "time"),
        "subject": ("subject", ""),
        "hunks": ("hunks", "[ConflictHunk"),
    }


class Count(Model):
    """Count says how many workspaces a project has."""

    # live ones, those being made included
    active: int
    _fields = {
        "active": ("active", ""),
    }


class CreateRequest(Model):
    """CreateRequest asks for one workspace. The zero value is a request for a workspace with
    an invented name, from the branch that is checked out.
    """

    # the same call after a crash returns the same workspace
    key: str | None
    # a directory in the project; default: where the Service was opened
    repo: str | None
    # default: invented
    name: str | None
    agent: str | None
    role: str | None
    session: str | None
    label: str | None
    # the agent's directory, absolute, for layouts that put workspaces there. Default: a new
    # one, whose name says nothing.
    home: str | None
    # any commit; default: the layout's
    base: str | None
    # takes this branch, existing or new; default: a new one by the layout
    branch: str | None
    # default: the branch that base names, else the one that is checked out
    target: str | None
    # a preset; default: the configuration's
    layout: str | None
    # default: by the layout, see auto
    mode: Mode | None
    role_files: RoleFiles | None
    fetch: Fetch | None
    # recorded with it: at most 64 entries, with keys of up to 63 letters, digits and . _ / -,
    # and values of up to 1,024 bytes.
    meta: dict[str, str]
    _fields = {
        "key": ("key", ""),
        "repo": ("repo", ""),
        "name": ("name", ""),
        "agent": ("agent", ""),
        "role": ("role", ""),
        "session": ("session", ""),
        "label": ("label", ""),
        "home": ("home", ""),
        "base": ("base", ""),
        "branch": ("branch", ""),
        "target": ("target", ""),
        "layout": ("layout", ""),
        "mode": ("mode", ""),
        "role_files": ("roleFiles", ""),
        "fetch": ("fetch", ""),
        "meta": ("meta", "{"),
    }


class CreateResult(Model):
    """CreateResult lists workspaces that were made, or would be, in the order of the request."""

    workspaces: list[Workspace]
    _fields = {
        "workspaces": ("workspaces", "[Workspace"),
    }


class DiscardResult(Model):
    """DiscardResult answers for every workspace that was asked for."""

    merges: list[Merge]
    _fields = {
        "merges": ("merges", "[Merge"),
    }


class DoctorResult(Model):
    """DoctorResult lists what the doctor found."""

    findings: list[Finding]
    _fields = {
        "findings": ("findings", "[Finding"),
    }


class Drift(Model):
    """Drift is a file that was brought into a workspace and differs by now."""

    path: str
    state: DriftState
    _fields = {
        "path": ("path", ""),
        "state": ("state", ""),
    }


class Edit(Model):
    """Edit puts lines in the place of others of the old side of a file. Those of a file are in
    order.
    """

    # the first line that goes, from 1; if none goes, the line after which the others come
    old_start: int
    # how many lines go
    old_lines: int
    # the lines that come, as UTF-8
    text: str | None
    # the same, if that is not UTF-8
    raw: bytes | None
    _fields = {
        "old_start": ("oldStart", ""),
        "old_lines": ("oldLines", ""),
        "text": ("text", ""),
        "raw": ("raw", "bytes"),
    }


class Effort(Model):
    """Effort says how many pairs a forecast compared by which means, and how long it took."""

    # pairs that were compared
    pairs: int
    # pairs whose result is known from the last forecast
    remembered: int
    # pairs whose changed paths rule a conflict out
    pruned: int
    # pairs that were merged to find out
    merged: int
    # looking at the workspaces
    reading: timedelta
    # comparing their work
    comparing: timedelta
    _fields = {
        "pairs": ("pairs", ""),
        "remembered": ("remembered", ""),
        "pruned": ("pruned", ""),
        "merged": ("merged", ""),
        "reading": ("reading", "duration"),
        "comparing": ("comparing", "duration"),
    }


class Error(Model):
    """Error is the only error type that leaves this module."""

    code: Code
    # what was attempted: "create", "remove"
    op: str
    # its name, if there is one
    workspace: str | None
    # one line, lower case, no period
    message: str
    # git's stderr, a path, a list of files
    details: str | None
    # a command that the reader can run next
    hint: str | None
    # parts of the message for programs; docs/errors.md says which a code has.
    fields: dict[str, str]
    _fields = {
        "code": ("code", ""),
        "op": ("op", ""),
        "workspace": ("workspace", ""),
        "message": ("message", ""),
        "details": ("details", ""),
        "hint": ("hint", ""),
        "fields": ("fields", "{"),
    }


class Event(Model):
    """Event is something that happened: a noun and a verb in the past tense, such as
    "workspace.created". It names its subjects and has the nouns that it changed, so that a
    program which follows events need not ask.
    """

    # where a reader goes on later
    cursor: Cursor
    # when it happened
    time: datetime
    # what happened
    kind: EventKind
    # who made the change: the user, or "agent in NAME"
    actor: str | None
    # the ID of the workspace that the actor stood in
    actor_workspace: ID | None
    repo: ID | None
    # the ID of the workspace
    workspace: ID | None
    # the name of the workspace
    workspace_name: str | None
    merge: ID | None
    session: ID | None
    round: ID | None
    snapshot: ID | None
    review: ID | None
    # the act of the history that it is a part of
    operation: ID | None
    lease: ID | None
    # a branch
    target: str | None
    # of a check: what it is a check of; merge is the topmost merge in its tree
    batch: ID | None
    check: ID | None
    # absent in events that an earlier version of Croft wrote
    after: Nouns | None
    _fields = {
        "cursor": ("cursor", ""),
        "time": ("time", "time"),
        "kind": ("kind", ""),
        "actor": ("actor", ""),
        "actor_workspace": ("actorWorkspace", ""),
        "repo": ("repo", ""),
        "workspace": ("workspace", ""),
        "workspace_name": ("workspaceName", ""),
        "merge": ("merge", ""),
        "session": ("session", ""),
        "round": ("round", ""),
        "snapshot": ("snapshot", ""),
        "review": ("review", ""),
        "operation": ("operation", ""),
        "lease": ("lease", ""),
        "target": ("target", ""),
        "batch": ("batch", ""),
        "check": ("check", ""),
        "after": ("after", "Nouns"),
    }


class FileContent(Model):
    """FileContent is a part of a file."""

    # the ID of the workspace
    workspace: ID | None
    # the name of the workspace
    workspace_name: str | None
    path: str
    # "100644"; "100755": can be run; "120000": a link, whose data is where it leads;
    # "160000": a submodule, without data
    mode: str
    # the blob's name, or the commit of a submodule
    object: str
    # there is a zero byte near its beginning
    is_binary: bool
    # of the whole file
    size: int
    # where data begins
    offset: int
    # where the next part begins; not less than size: there is none
    next: int
    # as a commit has it, after filters and changes of line ends; not to be trusted
    data: bytes | None
    _fields = {
        "workspace": ("workspace", ""),
        "workspace_name": ("workspaceName", ""),
        "path": ("path", ""),
        "mode": ("mode", ""),
        "object": ("object", ""),
        "is_binary": ("isBinary", "bool"),
        "size": ("size", ""),
        "offset": ("offset", ""),
        "next": ("next", ""),
        "data": ("data", "bytes"),
    }


class Finding(Model):
    """Finding is something that the doctor noticed."""

    # such as WORKSPACE_MISSING
    code: str
    # a name, a path or a ref
    subject: str
    # one sentence
    message: str
    fixed: bool
    # that all mends it, or tried to.
    can_fix: bool
    # seen stands for what was found, if it can be imported: DoctorRequest.Agreed takes it
    # back.
    seen: str | None
    _fields = {
        "code": ("code", ""),
        "subject": ("subject", ""),
        "message": ("message", ""),
        "fixed": ("fixed", "bool"),
        "can_fix": ("canFix", "bool"),
        "seen": ("seen", ""),
    }


class Finished(Model):
    """Finished is the end of an agent, as Finish recorded it."""

    outcome: Outcome
    # the commit that the workspace was left at
    head: str | None
    at: datetime
    _fields = {
        "outcome": ("outcome", ""),
        "head": ("head", ""),
        "at": ("at", "time"),
    }


class Forecast(Model):
    """Forecast says what would happen if the work of all workspaces were merged as it is now."""

    pairs: list[Collision]
    # an order of merging in which few of them meet a conflict, and late. Workspaces that have
    # nothing to merge are not in it.
    order: list[str]
    # the workspaces that could not be read, with the reason.
    skipped: list[Kept]
    effort: Effort
    _fields = {
        "pairs": ("pairs", "[Collision"),
        "order": ("order", "["),
        "skipped": ("skipped", "[Kept"),
        "effort": ("effort", "Effort"),
    }


class GCResult(Model):
    """GCResult says what upkeep freed."""

    # trash that cannot be restored any more
    purged: list[ID]
    # trash whose directory went; commits and a snapshot are left
    reduced: list[ID]
    # trash of which directories went that can be made again
    stripped: list[ID]
    bytes: int
    inodes: int
    # recorded, integrated branches without a workspace
    branches: list[str]
    # those of reduced whose directory was not there when they were removed, nor later: of
    # what was not committed nothing is kept.
    unseen: list[ID]
    # how many removed workspaces are no longer remembered, because nothing was left of them
    # for a long time.
    forgotten: int
    # what is going to be deleted from the trash and has not been announced before.
    announced: list[Announcement]
    # removed workspaces whose time is over and whose directory stays in the trash, because it
    # has commits that could not be brought to the project.
    kept: list[Kept]
    _fields = {
        "purged": ("purged", "["),
        "reduced": ("reduced", "["),
        "stripped": ("stripped", "["),
        "bytes": ("bytes", ""),
        "inodes": ("inodes", ""),
        "branches": ("branches", "["),
        "unseen": ("unseen", "["),
        "forgotten": ("forgotten", ""),
        "announced": ("announced", "[Announcement"),
        "kept": ("kept", "[Kept"),
    }


class GitConfig(Model):
    """GitConfig compares a repository's own git configuration with the settings that Croft
    uses. An agent in one of its checkouts can write that configuration. So Croft reads the
    settings that decide about commits, the repository's format and its remotes when it
    first sees the repository, and takes over later changes only if a person accepts them.
    """

    # settings that differ from those that Croft uses
    changes: list[GitConfigChange]
    # programs that are not approved
    filters: list[GitConfigChange]
    # keys that Croft's git never sees
    ignored: list[str]
    # of changes and filters; empty if there are none
    hash: str
    _fields = {
        "changes": ("changes", "[GitConfigChange"),
        "filters": ("filters", "[GitConfigChange"),
        "ignored": ("ignored", "["),
        "hash": ("hash", ""),
    }


class GitConfigChange(Model):
    """GitConfigChange is one key of a repository's git configuration."""

    key: str
    # the values that Croft uses
    was: list[str]
    # the values in the repository
    now: list[str]
    _fields = {
        "key": ("key", ""),
        "was": ("was", "["),
        "now": ("now", "["),
    }


class HeldBack(Model):
    """HeldBack is what was not committed of one workspace of a round."""

    # the ID of the workspace
    workspace: ID
    agent: str
    label: str
    # in the checkout
    paths: list[str]
    # a directory with copies of the files among them, which only the user of this process can
    # read. No agent is given them.
    archive: str | None
    _fields = {
        "workspace": ("workspace", ""),
        "agent": ("agent", ""),
        "label": ("label", ""),
        "paths": ("paths", "["),
        "archive": ("archive", ""),
    }


class Hunk(Model):
    """Hunk is one place in which a file changed. A range of no lines begins after the line
    that it names.
    """

    # its number in the file, from 1
    id: int
    # as in a patch
    header: str
    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    # the lines of the patch, as UTF-8
    text: str | None
    # the same as it is in the files, if that is not UTF-8
    raw: bytes | None
    _fields = {
        "id": ("id", ""),
        "header": ("header", ""),
        "old_start": ("oldStart", ""),
        "old_lines": ("oldLines", ""),
        "new_start": ("newStart", ""),
        "new_lines": ("newLines", ""),
        "text": ("text", ""),
        "raw": ("raw", "bytes"),
    }


class Intrusion(Model):
    """Intrusion is a change outside of a workspace while its agent ran."""

    what: IntrusionKind
    # the ref, or the path in the project's own checkout
    name: str | None
    before: str | None
    after: str | None
    # in words
    message: str
    # when it was seen
    at: datetime
    _fields = {
        "what": ("what", ""),
        "name": ("name", ""),
        "before": ("before", ""),
        "after": ("after", ""),
        "message": ("message", ""),
        "at": ("at", "time"),
    }


class Kept(Model):
    """Kept is one workspace that was left, with the reason."""

    # its name for ever
    id: ID | None
    name: str
    # why it was left
    reason: Error | None
    _fields = {
        "id": ("id", ""),
        "name": ("name", ""),
        "reason": ("reason", "Error"),
    }


class KeptBranch(Model):
    """KeptBranch is a branch that was made of work that only Croft kept."""

    branch: str
    commit: str
    # of the workspace whose work it is
    name: str
    _fields = {
        "branch": ("branch", ""),
        "commit": ("commit", ""),
        "name": ("name", ""),
    }


class KeptRepo(Model):
    """KeptRepo is a repository that nothing was done to, with the reason."""

    path: str
    reason: Error | None
    _fields = {
        "path": ("path", ""),
        "reason": ("reason", "Error"),
    }


class Lane(Model):
    """Lane is the state of a target branch and of its lane."""

    # the ID of its project
    repo_id: ID | None
    # a branch
    target: str
    # the commit that it is at
    tip: str
    # the commit that the lane left the branch at, or that a person accepted. If it is not
    # tip, the branch moved outside of its lane: by a person, or an agent that can write the
    # repository's refs.
    known: str
    # how many commits others added since
    added: int
    # how many commits of known it does not have any more
    gone: int
    # known is not in the repository any more, so that nothing can be counted
    lost: bool
    # the same in a sentence; empty if only the lane moved it
    message: str | None
    # the last commits that others added, the last one first
    commits: list[LaneCommit]
    # merge.protect: nothing is merged into it until that was accepted
    protect: bool
    # why the branch, or its croft.toml, could not be read; message says it, too
    reason: Code | None
    # what to do about that
    hint: str | None
    _fields = {
        "repo_id": ("repoId", ""),
        "target": ("target", ""),
        "tip": ("tip", ""),
        "known": ("known", ""),
        "added": ("added", ""),
        "gone": ("gone", ""),
        "lost": ("lost", "bool"),
        "message": ("message", ""),
        "commits": ("commits", "[LaneCommit"),
        "protect": ("protect", "bool"),
        "reason": ("reason", ""),
        "hint": ("hint", ""),
    }


class LaneCommit(Model):
    """LaneCommit is a commit that did not come through a lane."""

    commit: str
    author: str
    subject: str
    _fields = {
        "commit": ("commit", ""),
        "author": ("author", ""),
        "subject": ("subject", ""),
    }


class LaneList(Model):
    """List is one page of a list."""

    items: list[Lane]
    # for Page.After, to ask for the page that follows; empty: there is none. It is opaque. If
    # the item that it stands for has left a list whose order is not that of time, the request
    # for the page fails with CURSOR_EXPIRED.
    next: str | None
    # the place in the stream of events that the list reflects: it has what the events up to
    # there changed, and may have what later ones did. Of several pages the cursor of the
    # first is the one to follow from. It is empty if no events tell of the items.
    cursor: Cursor | None
    # the items, those included that a filter left out, that were not or not wholly looked at
    # in the time that the request gave: their conditions may be others.
    unseen: list[ID]
    _fields = {
        "items": ("items", "[Lane"),
        "next": ("next", ""),
        "cursor": ("cursor", ""),
        "unseen": ("unseen", "["),
    }


class Lease(Model):
    """Lease says that a process is at work in a workspace. It expires unless it is renewed."""

    # its name for ever
    id: ID
    # the ID of the workspace
    workspace: ID
    # the process that is at work
    owner: Owner
    # "process": as long as its owner lives, whatever expiresAt says
    term: LeaseTerm | None
    # "exclusive": the workspace has no other lease beside it
    mode: LeaseMode | None
    # epoch counts the exclusive leases that the workspace has had. One before the last is
    # lost.
    epoch: int | None
    # from its taking or a renewal to expiresAt
    ttl: timedelta | None
    # unless it is renewed
    expires_at: datetime
    # the name of the owner's program, which chose it, where that can be seen
    process: str | None
    _fields = {
        "id": ("id", ""),
        "workspace": ("workspace", ""),
        "owner": ("owner", "Owner"),
        "term": ("term", ""),
        "mode": ("mode", ""),
        "epoch": ("epoch", ""),
        "ttl": ("ttl", "duration"),
        "expires_at": ("expiresAt", "time"),
        "process": ("process", ""),
    }


class Left(Model):
    """Left is something that stays, because it is work or not Croft's."""

    kind: LeftKind
    path: str
    # what is to be known of it, and hint is the command for that.
    remark: str | None
    # remark says what is to be known of it, and hint is the command for that
    hint: str | None
    _fields = {
        "kind": ("kind", ""),
        "path": ("path", ""),
        "remark": ("remark", ""),
        "hint": ("hint", ""),
    }


class Merge(Model):
    """Merge is one piece of work on its way to a target branch. A merge that could not be
    carried out is a result, not an error: its status is pending, and reason says why.
    """

    # its name for ever
    id: ID
    kind: MergeKind
    # the ID of its project
    repo_id: ID | None
    # counts its changes, for IfRevision
    revision: int | None
    # the ID of the workspace
    workspace: ID | None
    # the name of the workspace
    workspace_name: str
    # a branch
    target: str
    strategy: Strategy | None
    state: MergeState
    # empty once it is done: there was nothing to merge
    status: MergeStatus | Literal[""]
    # the commit that is merged
    head: str | None
    # the target's commit after the merge
    commit: str | None
    # why it stays pending
    reason: Code | None
    # the reason in a sentence
    message: str | None
    # git's output, a path, a list of files
    details: str | None
    # a command that the reader can run next
    hint: str | None
    # what came of the work of a merge that stayed pending. It is in lists of all merges only;
    # absent: it is still pending.
    became: Became | None
    conflicts: list[ConflictedPath]
    checks: list[Check]
    # what its lane tried, the last ones
    attempts: list[Attempt]
    # the command of the check that runs now, while state is checking
    check: str | None
    # of a revert: how many merges came after the one that it reverts
    later: int | None
    # of a revert: the merge that it reverts
    reverts: ID | None
    # of an apply: the review that it is a part of
    review: ID | None
    # the higher goes first
    priority: int | None
    # it waits until it is released
    held: bool
    # by whom and why it is held; absent if an earlier version of Croft held it
    hold: MergeHold | None
    # how the target had moved outside of its lane, before this was published
    moved: str | None
    # files that were not committed, because they look like secrets, are large, are
    # repositories, or were hidden from git
    held_back: list[str]
    # why the workspace was not put away after the merge
    kept: Error | None
    # who submitted it: the user, or "agent in NAME"
    actor: str | None
    # when it was submitted
    submitted_at: datetime
    # when it ended; absent before
    ended_at: datetime | None
    # the workspace that the actor's working directory was in, if any.
    actor_workspace: ID | None
    _fields = {
        "id": ("id", ""),
        "kind": ("kind", ""),
        "repo_id": ("repoId", ""),
        "revision": ("revision", ""),
        "workspace": ("workspace", ""),
        "workspace_name": ("workspaceName", ""),
        "target": ("target", ""),
        "strategy": ("strategy", ""),
        "state": ("state", ""),
        "status": ("status", ""),
        "head": ("head", ""),
        "commit": ("commit", ""),
        "reason": ("reason", ""),
        "message": ("message", ""),
        "details": ("details", ""),
        "hint": ("hint", ""),
        "became": ("became", ""),
        "conflicts": ("conflicts", "[ConflictedPath"),
        "checks": ("checks", "[Check"),
        "attempts": ("attempts", "[Attempt"),
        "check": ("check", ""),
        "later": ("later", ""),
        "reverts": ("reverts", ""),
        "review": ("review", ""),
        "priority": ("priority", ""),
        "held": ("held", "bool"),
        "hold": ("hold", "MergeHold"),
        "moved": ("moved", ""),
        "held_back": ("heldBack", "["),
        "kept": ("kept", "Error"),
        "actor": ("actor", ""),
        "submitted_at": ("submittedAt", "time"),
        "ended_at": ("endedAt", "time"),
        "actor_workspace": ("actorWorkspace", ""),
    }


class MergeHold(Model):
    """MergeHold says who holds a merge, and why."""

    reason: str | None
    actor: str
    # the ID of the workspace that the actor stood in
    actor_workspace: ID | None
    at: datetime
    _fields = {
        "reason": ("reason", ""),
        "actor": ("actor", ""),
        "actor_workspace": ("actorWorkspace", ""),
        "at": ("at", "time"),
    }


class MergeList(Model):
    """List is one page of a list."""

    items: list[Merge]
    # for Page.After, to ask for the page that follows; empty: there is none. It is opaque. If
    # the item that it stands for has left a list whose order is not that of time, the request
    # for the page fails with CURSOR_EXPIRED.
    next: str | None
    # the place in the stream of events that the list reflects: it has what the events up to
    # there changed, and may have what later ones did. Of several pages the cursor of the
    # first is the one to follow from. It is empty if no events tell of the items.
    cursor: Cursor | None
    # the items, those included that a filter left out, that were not or not wholly looked at
    # in the time that the request gave: their conditions may be others.
    unseen: list[ID]
    _fields = {
        "items": ("items", "[Merge"),
        "next": ("next", ""),
        "cursor": ("cursor", ""),
        "unseen": ("unseen", "["),
    }


class Mount(Model):
    """Mount is a directory or a file of this machine in a container. In a sandbox it has the
    same path as outside.
    """

    source: str
    target: str
    read_only: bool
    file: bool
    _fields = {
        "source": ("source", ""),
        "target": ("target", ""),
        "read_only": ("readOnly", "bool"),
        "file": ("file", "bool"),
    }


class Mounts(Model):
    """mounts has the mounts and the variables that a container needs to work in a workspace.
    git works there as it does outside, but the parts of the repository that decide which
    programs git runs are read-only there, and so are the registrations of other worktrees.
    In a sandbox, mounts are what has to be written for a commit, and what in it must not be
    written because git outside obeys it; the latter may not be there yet.
    """

    # the ID of the workspace
    workspace: ID
    # the workspace in the container, and its working directory
    workdir: str
    # in an order in which they can be made
    mounts: list[Mount]
    # variables that a process there needs
    env: dict[str, str]
    # what will not work there
    notes: list[str]
    _fields = {
        "workspace": ("workspace", ""),
        "workdir": ("workdir", ""),
        "mounts": ("mounts", "[Mount"),
        "env": ("env", "{"),
        "notes": ("notes", "["),
    }


class Next(Model):
    """Next is the step that a workspace waits for."""

    # why it waits for that, or its condition, for people
    what: str
    action: Action
    # the same as a command line of croft
    command: str | None
    _fields = {
        "what": ("what", ""),
        "action": ("action", ""),
        "command": ("command", ""),
    }


class Nouns(Model):
    """Nouns are the subjects of an event after the change, as they are recorded: an event runs
    no git, so that what is only looked up (Env, whether a workspace is broken) is not in
    it. The head of a workspace is as the last act that committed left it, or as a Service
    that looks by itself has seen it. Work is in the events of an act that looked at the
    files. A list looks and tells nothing. Apply one after the other, or let the package
    replica do that.
    """

    workspace: Workspace | None
    merge: Merge | None
    session: Session | None
    # without its workspaces
    round: Round | None
    snapshot: Snapshot | None
    # without its files
    review: Review | None
    lane: Lane | None
    check: Check | None
    approval: Approval | None
    progress: Progress | None
    # what a check printed since the last event of this kind.
    output: CheckOutput | None
    _fields = {
        "workspace": ("workspace", "Workspace"),
        "merge": ("merge", "Merge"),
        "session": ("session", "Session"),
        "round": ("round", "Round"),
        "snapshot": ("snapshot", "Snapshot"),
        "review": ("review", "Review"),
        "lane": ("lane", "Lane"),
        "check": ("check", "Check"),
        "approval": ("approval", "Approval"),
        "progress": ("progress", "Progress"),
        "output": ("output", "CheckOutput"),
    }


class Operation(Model):
    """Operation is one act in the history, which can be undone."""

    # its name for ever
    id: ID
    # create, remove, restore, undo, …
    kind: str
    # the ID of its project
    repo_id: ID | None
    # the workspace concerned; absent if there are several
    workspace: ID | None
    # the names of all that are concerned, with spaces between
    workspace_name: str | None
    # all that are concerned
    workspaces: list[ID]
    # the user, or "agent in NAME"
    actor: str
    # running, done, undone
    state: str
    # when it began
    started_at: datetime
    # Undo would undo it
    undoable: bool
    # the operation that this one undid
    undoes: ID | None
    # the branch that a merge or a revert moved, and commit where it was after that; absent
    # for other acts, and commit for one that merged several times. reverted: a revert has
    # taken it out of the target again since.
    target: str | None
    # target is the branch that a merge or a revert moved, and commit where it was after that;
    # absent for other acts, and commit for one that merged several times
    commit: str | None
    # a revert has taken it out of the target again since
    reverted: bool
    # the workspace that the actor's working directory was in, if any.
    actor_workspace: ID | None
    # remarks of an undo, such as parts that it could not restore. They are not recorded.
    notes: list[str]
    _fields = {
        "id": ("id", ""),
        "kind": ("kind", ""),
        "repo_id": ("repoId", ""),
        "workspace": ("workspace", ""),
        "workspace_name": ("workspaceName", ""),
        "workspaces": ("workspaces", "["),
        "actor": ("actor", ""),
        "state": ("state", ""),
        "started_at": ("startedAt", "time"),
        "undoable": ("undoable", "bool"),
        "undoes": ("undoes", ""),
        "target": ("target", ""),
        "commit": ("commit", ""),
        "reverted": ("reverted", "bool"),
        "actor_workspace": ("actorWorkspace", ""),
        "notes": ("notes", "["),
    }


class OperationList(Model):
    """List is one page of a list."""

    items: list[Operation]
    # for Page.After, to ask for the page that follows; empty: there is none. It is opaque. If
    # the item that it stands for has left a list whose order is not that of time, the request
    # for the page fails with CURSOR_EXPIRED.
    next: str | None
    # the place in the stream of events that the list reflects: it has what the events up to
    # there changed, and may have what later ones did. Of several pages the cursor of the
    # first is the one to follow from. It is empty if no events tell of the items.
    cursor: Cursor | None
    # the items, those included that a filter left out, that were not or not wholly looked at
    # in the time that the request gave: their conditions may be others.
    unseen: list[ID]
    _fields = {
        "items": ("items", "[Operation"),
        "next": ("next", ""),
        "cursor": ("cursor", ""),
        "unseen": ("unseen", "["),
    }


class Owner(Model):
    """Owner identifies the process that holds a lease, also once its number is another's."""

    # the machine
    host: str
    # its start, so that a reboot is noticed
    boot: str | None
    # the process namespace, so that a container is noticed
    space: str | None
    # the number of the process
    pid: int
    # the process's start, as the kernel tells it
    start: str | None
    _fields = {
        "host": ("host", ""),
        "boot": ("boot", ""),
        "space": ("space", ""),
        "pid": ("pid", ""),
        "start": ("start", ""),
    }


class Pool(Model):
    """Pool is what a project has in stock."""

    # how many checkouts are wanted; 0: none
    size: int
    # the directory with them
    path: str
    # those that can be handed out or copied
    spares: list[Spare]
    # of directories that provisioning copies into each new workspace. They come in by a
    # rename as long as nothing in the project's directory has changed.
    copies: list[SpareCopy]
    # why there are not more, if that is known
    why: str | None
    # a process is making some
    busy: bool
    _fields = {
        "size": ("size", ""),
        "path": ("path", ""),
        "spares": ("spares", "[Spare"),
        "copies": ("copies", "[SpareCopy"),
        "why": ("why", ""),
        "busy": ("busy", "bool"),
    }


class Port(Model):
    """port is a TCP port that is a workspace's own."""

    # what for, by the configuration
    name: str | None
    port: int
    _fields = {
        "name": ("name", ""),
        "port": ("port", ""),
    }


class Problem(Model):
    """Problem is the body of an answer to a request that failed: a problem by RFC 9457 that
    has all that a croft.Error has.
    """

    # a page about the code
    type: str
    # the code in words
    title: str
    # of HTTP
    status: int
    # the message
    detail: str
    code: Code
    # what was attempted: "create", "remove"
    op: str
    # its name, if there is one
    workspace: str | None
    # one line, lower case, no period
    message: str
    # git's stderr, a path, a list of files
    details: str | None
    # a command that the reader can run next
    hint: str | None
    # parts of the message for programs; docs/errors.md says which a code has.
    fields: dict[str, str]
    _fields = {
        "type": ("type", ""),
        "title": ("title", ""),
        "status": ("status", ""),
        "detail": ("detail", ""),
        "code": ("code", ""),
        "op": ("op", ""),
        "workspace": ("workspace", ""),
        "message": ("message", ""),
        "details": ("details", ""),
        "hint": ("hint", ""),
        "fields": ("fields", "{"),
    }


class Progress(Model):
    """Progress says how far a long act has come. It is told of acts that take more than a
    second, at most twice a second, and is recorded in no list. CreateAll, Remove, Discard,
    Clean, Reap and GC tell it.
    """

    # as in the history; the act of GC is not listed there
    operation: ID
    # of the operation, or "gc"
    kind: str
    # how many units are done
    done: int
    # how many there are; absent: not known
    total: int | None
    # what is counted, in the plural
    unit: str
    # the act has ended, whatever came of it; one whose process died does not say so
    over: bool
    _fields = {
        "operation": ("operation", ""),
        "kind": ("kind", ""),
        "done": ("done", ""),
        "total": ("total", ""),
        "unit": ("unit", ""),
        "over": ("over", "bool"),
    }


class Prompt(Model):
    """Prompt is what an agent may be told about its checkout. Nothing in it says which agent
    it is.
    """

    branch: str
    # the newest branch of every other agent, by its label, be it of this round, of an earlier
    # one or of a later one.
    others: dict[str, str]
    # what else is still there of the session, by label. text shows both without saying what
    # was the agent's own.
    earlier: dict[str, str]
    # the agent's checkouts of the session's other repositories.
    elsewhere: list[PromptCheckout]
    scratch: str | None
    archive: str | None
    # heldBack names the files that were left in earlier rounds and not committed, by label
    # and round.
    held_back: dict[str, list[str]]
    # a section for a system prompt
    text: str
    # the same for an agent that is started again
    restart: str
    _fields = {
        "branch": ("branch", ""),
        "others": ("others", "{"),
        "earlier": ("earlier", "{"),
        "elsewhere": ("elsewhere", "[PromptCheckout"),
        "scratch": ("scratch", ""),
        "archive": ("archive", ""),
        "held_back": ("heldBack", "{["),
        "text": ("text", ""),
        "restart": ("restart", ""),
    }


class PromptCheckout(Model):
    """PromptCheckout is what an agent may be told about its checkout of another repository."""

    path: str
    branch: str
    others: dict[str, str]
    earlier: dict[str, str]
    _fields = {
        "path": ("path", ""),
        "branch": ("branch", ""),
        "others": ("others", "{"),
        "earlier": ("earlier", "{"),
    }


class Provision(Model):
    """Provision is what was done to make a workspace usable."""

    state: ProvisionState
    # a few words about state, unless it is ready
    why: str | None
    paths: list[ProvisionedPath]
    steps: list[ProvisionedStep]
    # the commands and variables that nobody has approved. hash is theirs: Approve takes it.
    unapproved: list[str]
    # theirs: Approve takes it
    hash: str | None
    # how many files the call brought in or renewed, and ran how many commands it ran, in the
    # answer of Provision.
    brought: int | None
    # brought is how many files the call brought in or renewed, and ran how many commands it
    # ran, in the answer of Provision
    ran: int | None
    # the files that were brought in and differ by now, in the answers of Provision and
    # PlanProvision. driftLeft is how many more there are than it names.
    drift: list[Drift]
    # how many more there are than it names
    drift_left: int | None
    _fields = {
        "state": ("state", ""),
        "why": ("why", ""),
        "paths": ("paths", "[ProvisionedPath"),
        "steps": ("steps", "[ProvisionedStep"),
        "unapproved": ("unapproved", "["),
        "hash": ("hash", ""),
        "brought": ("brought", ""),
        "ran": ("ran", ""),
        "drift": ("drift", "[Drift"),
        "drift_left": ("driftLeft", ""),
    }


class ProvisionItem(Model):
    """ProvisionItem is a part of a file that asks for something."""

    # the file, and the line: croft.toml:12
    source: str
    # such as path node_modules, or step deps
    what: str
    # what it does here
    does: str
    # why that is not what it asks for
    why: str | None
    _fields = {
        "source": ("source", ""),
        "what": ("what", ""),
        "does": ("does", ""),
        "why": ("why", ""),
    }


class ProvisionPlan(Model):
    """ProvisionPlan says what would be done to make a workspace usable, and what asks for it."""

    # its name; empty for one that would be made now
    workspace: str | None
    # whose files were read
    commit: str
    # as it would be found: steps that would run are pending
    provision: Provision
    # in the order in which they are done
    items: list[ProvisionItem]
    # what has no effect, and why
    remarks: list[str]
    _fields = {
        "workspace": ("workspace", ""),
        "commit": ("commit", ""),
        "provision": ("provision", "Provision"),
        "items": ("items", "[ProvisionItem"),
        "remarks": ("remarks", "["),
    }


class ProvisionedPath(Model):
    """ProvisionedPath is what became of a path that the configuration, or .worktreeinclude,
    brings in.
    """

    # as it was configured; .worktreeinclude stands for all that this file selects
    path: str
    # what was asked for
    wanted: ProvisionHow
    # what was done
    how: ProvisionHow
    # why that is not what was asked for
    why: str | None
    # files and links that came in
    files: int | None
    # their size
    bytes: int | None
    # how many of files had been copied before, and came in by a rename; see Pool.
    from_pool: int | None
    skipped: list[Skipped]
    # how many more were skipped than skipped names
    left: int | None
    _fields = {
        "path": ("path", ""),
        "wanted": ("wanted", ""),
        "how": ("how", ""),
        "why": ("why", ""),
        "files": ("files", ""),
        "bytes": ("bytes", ""),
        "from_pool": ("fromPool", ""),
        "skipped": ("skipped", "[Skipped"),
        "left": ("left", ""),
    }


class ProvisionedStep(Model):
    """ProvisionedStep is what became of a command that sets a workspace up, or of a probe."""

    # of a probe: probe-1 and so on
    name: str
    run: str
    state: StepState
    # why it failed
    why: str | None
    # the end of what it printed, if it failed
    tail: str | None
    # the file with all of it
    log: str | None
    # the digest of its key files when it succeeded
    key: str | None
    # when it ended
    at: datetime | None
    took: timedelta | None
    _fields = {
        "name": ("name", ""),
        "run": ("run", ""),
        "state": ("state", ""),
        "why": ("why", ""),
        "tail": ("tail", ""),
        "log": ("log", ""),
        "key": ("key", ""),
        "at": ("at", "time"),
        "took": ("took", "duration"),
    }


class PullRequest(Model):
    """PullRequest is the pull request of a workspace, as its host last told of it."""

    number: int
    url: str
    state: PullRequestState
    # the branch that it goes to
    base: str
    # the commit that it is about; of a merged one, that which was merged
    head: str | None
    # the commit of the base by which it was merged, if the host names one.
    merge_commit: str | None
    # how it was seen that the base has the whole content of head: ancestor, merge, patches or
    # squash. Without one a merged pull request does not count as integrated.
    proof: str | None
    # when the host told
    at: datetime
    _fields = {
        "number": ("number", ""),
        "url": ("url", ""),
        "state": ("state", ""),
        "base": ("base", ""),
        "head": ("head", ""),
        "merge_commit": ("mergeCommit", ""),
        "proof": ("proof", ""),
        "at": ("at", "time"),
    }


class PullRequestHead(Model):
    """PullRequestHead is a pull request whose commits are in the repository."""

    number: int
    commit: str
    # the branch that it goes to; empty: no tool of its host is installed that says it
    base: str | None
    # its author's words: show them as text
    title: str | None
    url: str | None
    _fields = {
        "number": ("number", ""),
        "commit": ("commit", ""),
        "base": ("base", ""),
        "title": ("title", ""),
        "url": ("url", ""),
    }


class Push(Model):
    """Push is what was last pushed of a workspace."""

    # the name of the remote
    remote: str
    # its address, without a password
    url: str
    # there, without refs/heads/
    branch: str
    # empty: a push was begun and nobody knows yet how it ended
    commit: str | None
    at: datetime
    _fields = {
        "remote": ("remote", ""),
        "url": ("url", ""),
        "branch": ("branch", ""),
        "commit": ("commit", ""),
        "at": ("at", "time"),
    }


class Pushed(Model):
    """Pushed answers for a push, or for a look at one."""

    # the ID of its project
    repo_id: ID | None
    # the ID of the workspace
    workspace: ID
    # the name of the workspace
    workspace_name: str
    # absent if nothing was to be pushed
    outcome: PushOutcome | None
    push: Push | None
    pull_request: PullRequest | None
    # the page of the host where a person opens the pull request, if no tool of the host is
    # installed.
    compare: str | None
    remarks: list[str]
    # files that were not committed, so they were not pushed
    held_back: list[str]
    _fields = {
        "repo_id": ("repoId", ""),
        "workspace": ("workspace", ""),
        "workspace_name": ("workspaceName", ""),
        "outcome": ("outcome", ""),
        "push": ("push", "Push"),
        "pull_request": ("pullRequest", "PullRequest"),
        "compare": ("compare", ""),
        "remarks": ("remarks", "["),
        "held_back": ("heldBack", "["),
    }


class Question(Model):
    """Question is what an agent asked and waits for. Its text is the agent's: show it as text."""

    text: str
    since: datetime
    _fields = {
        "text": ("text", ""),
        "since": ("since", "time"),
    }


class QueueResult(Model):
    """QueueResult lists the merges that a call drove or changed."""

    merges: list[Merge]
    _fields = {
        "merges": ("merges", "[Merge"),
    }


class Released(Model):
    """Released names a lease that has ended."""

    lease: ID
    _fields = {
        "lease": ("lease", ""),
    }


class RemoveResult(Model):
    """RemoveResult answers for every name that was asked for."""

    removed: list[Removed]
    kept: list[Kept]
    # already gone, or never there
    unknown: list[str]
    _fields = {
        "removed": ("removed", "[Removed"),
        "kept": ("kept", "[Kept"),
        "unknown": ("unknown", "["),
    }


class Removed(Model):
    """Removed is one workspace that was removed."""

    # its name for ever
    id: ID | None
    name: str
    # under this id it lies in the trash; absent if there was nothing to keep
    trash: ID
    # the branch that was deleted
    branch: str | None
    # sentences about what was left undone, such as commands that failed.
    notes: list[str]
    _fields = {
        "id": ("id", ""),
        "name": ("name", ""),
        "trash": ("trash", ""),
        "branch": ("branch", ""),
        "notes": ("notes", "["),
    }


class Repo(Model):
    """Repo is the project that workspaces are made from."""

    # its name for ever
    id: ID
    # the main checkout, or the bare repository
    path: str
    # the last part of path, without .git
    name: str
    # git's common directory; absent for a plain directory
    git_dir: str | None
    # the branch that is checked out; empty when HEAD is detached
    branch: str
    # the commit that is checked out; absent in an empty repository
    head: str | None
    is_bare: bool
    # it is not at its path, or cannot be read there, and what is asked for by its id fails.
    # It was moved, deleted, or its drive is not mounted; problem says what is known.
    is_missing: bool
    # It was moved, deleted, or its drive is not mounted; problem says what is known
    problem: str | None
    git_version: str | None
    _fields = {
        "id": ("id", ""),
        "path": ("path", ""),
        "name": ("name", ""),
        "git_dir": ("gitDir", ""),
        "branch": ("branch", ""),
        "head": ("head", ""),
        "is_bare": ("isBare", "bool"),
        "is_missing": ("isMissing", "bool"),
        "problem": ("problem", ""),
        "git_version": ("gitVersion", ""),
    }


class RepoList(Model):
    """List is one page of a list."""

    items: list[Repo]
    # for Page.After, to ask for the page that follows; empty: there is none. It is opaque. If
    # the item that it stands for has left a list whose order is not that of time, the request
    # for the page fails with CURSOR_EXPIRED.
    next: str | None
    # the place in the stream of events that the list reflects: it has what the events up to
    # there changed, and may have what later ones did. Of several pages the cursor of the
    # first is the one to follow from. It is empty if no events tell of the items.
    cursor: Cursor | None
    # the items, those included that a filter left out, that were not or not wholly looked at
    # in the time that the request gave: their conditions may be others.
    unseen: list[ID]
    _fields = {
        "items": ("items", "[Repo"),
        "next": ("next", ""),
        "cursor": ("cursor", ""),
        "unseen": ("unseen", "["),
    }


class Resolution(Model):
    """Resolution lists the conflicts that are left after Resolve has brought the target into a
    workspace.
    """

    # in which the conflicts are
    workspace: Workspace
    # a branch
    target: str
    # of the target
    commit: str
    # empty: it went in cleanly
    conflicts: list[ConflictedPath]
    # files that were not committed before; see Merge
    held_back: list[str]
    _fields = {
        "workspace": ("workspace", "Workspace"),
        "target": ("target", ""),
        "commit": ("commit", ""),
        "conflicts": ("conflicts", "[ConflictedPath"),
        "held_back": ("heldBack", "["),
    }


class RevertPlan(Model):
    """RevertPlan lists the conflicts that a revert would have, and counts the later merges."""

    merge: Merge
    # the branch that it would be reverted on
    branch: str
    # the commit that the branch is at
    target: str
    # how many merges came after it
    later: int
    # the workspaces whose merges came after it, the first first, each once. Of at most 50
    # merges they are named.
    later_names: list[str]
    conflicts: list[ConflictedPath]
    _fields = {
        "merge": ("merge", "Merge"),
        "branch": ("branch", ""),
        "target": ("target", ""),
        "later": ("later", ""),
        "later_names": ("laterNames", "["),
        "conflicts": ("conflicts", "[ConflictedPath"),
    }


class Review(Model):
    """Review is the work of a workspace at one moment, uncommitted work included, measured
    from where it left its target. It is frozen: that the agent goes on working, or that the
    target moves, does not change it. It is kept as long as the trash.
    """

    # empty in the answer of Diff, which keeps nothing, unless it is of a review
    id: ID | None
    # the ID of its project
    repo_id: ID | None
    # the ID of the workspace
    workspace: ID
    # the name of the workspace
    workspace_name: str
    # in the answer of Diff: the merge whose work it is
    merge: ID | None
    # in the answer of Diff: what is left of a workspace that was removed; only of a
    # directory, uncommitted work is shown
    left: TrashLeft | None
    # a branch; empty: the workspace has none
    target: str
    # the commit that the target was at
    target_commit: str
    # the commit that the work is measured from
    base: str
    # a commit of the work; in the answer of Diff only if all of it is committed
    head: str | None
    # by their paths; of a page, those on it
    files: list[ReviewFile]
    # of all pages
    total: Changes
    # in the answer of Diff: for Page.After; empty: there is no further page
    next: str | None
    # files that are left out, because they look like secrets, are large, are repositories, or
    # git was told not to look at them
    held_back: list[str]
    # when it was made
    created_at: datetime
    _fields = {
        "id": ("id", ""),
        "repo_id": ("repoId", ""),
        "workspace": ("workspace", ""),
        "workspace_name": ("workspaceName", ""),
        "merge": ("merge", ""),
        "left": ("left", ""),
        "target": ("target", ""),
        "target_commit": ("targetCommit", ""),
        "base": ("base", ""),
        "head": ("head", ""),
        "files": ("files", "[ReviewFile"),
        "total": ("total", "Changes"),
        "next": ("next", ""),
        "held_back": ("heldBack", "["),
        "created_at": ("createdAt", "time"),
    }


class ReviewFile(Model):
    """ReviewFile is one file in which the work differs from its base. A path is as git has it,
    with slashes. One that is not UTF-8, or that begins with a double quote, is written as
    git quotes it: in double quotes, with octal numbers for bytes. So every path survives
    JSON.
    """

    path: str
    # of a file that was renamed
    old_path: str | None
    status: FileStatus
    # such as "100644"; empty where there was nothing
    old_mode: str | None
    new_mode: str | None
    # the blob's name, or the commit of a submodule
    old_object: str | None
    new_object: str | None
    is_binary: bool
    # the bytes of a file that is too large for its lines to be compared; isBinary then, too
    not_shown: int | None
    is_submodule: bool
    # lines
    added: int
    deleted: int
    # none where the file changes only as a whole
    hunks: list[Hunk]
    # hunks of it are without their lines, or left out: they do not fit on a page
    cut: bool
    _fields = {
        "path": ("path", ""),
        "old_path": ("oldPath", ""),
        "status": ("status", ""),
        "old_mode": ("oldMode", ""),
        "new_mode": ("newMode", ""),
        "old_object": ("oldObject", ""),
        "new_object": ("newObject", ""),
        "is_binary": ("isBinary", "bool"),
        "not_shown": ("notShown", ""),
        "is_submodule": ("isSubmodule", "bool"),
        "added": ("added", ""),
        "deleted": ("deleted", ""),
        "hunks": ("hunks", "[Hunk"),
        "cut": ("cut", "bool"),
    }


class Role(Model):
    """Role is a named configuration that is copied into workspaces."""

    name: str
    # where its files lie
    dir: str
    # their names; none: the role is not there
    files: list[str]
    # the snapshot of the workspace from before its changed role files were replaced, if any
    # were.
    snapshot: ID | None
    _fields = {
        "name": ("name", ""),
        "dir": ("dir", ""),
        "files": ("files", "["),
        "snapshot": ("snapshot", ""),
    }


class Round(Model):
    """Round is one turn of agents, each with a fresh checkout and branch."""

    # its name for ever
    id: ID
    # the ID of its project
    repo_id: ID | None
    session: ID
    # from 1
    number: int
    state: RoundState
    # when it began
    started_at: datetime
    # when it ended; absent before
    ended_at: datetime | None
    # one entry for each agent and repository, in the order of the request: all repositories
    # of the first agent, then the next one's.
    workspaces: list[Workspace]
    # heldBack names what agents left when the round ended and Croft did not commit: what
    # looks like a secret, repositories in the checkout, and edits of files that git was told
    # not to look at. What is large is committed.
    held_back: list[HeldBack]
    # absent names the checkouts that were not found when the round was ended by force. What
    # is committed or staged is kept; of an isolated one, as of the last time that Croft
    # looked.
    absent: list[AbsentCheckout]
    # failed names the workspaces that could not be put away when the round ended, with the
    # reason. They are as they were.
    failed: list[Kept]
    _fields = {
        "id": ("id", ""),
        "repo_id": ("repoId", ""),
        "session": ("session", ""),
        "number": ("number", ""),
        "state": ("state", ""),
        "started_at": ("startedAt", "time"),
        "ended_at": ("endedAt", "time"),
        "workspaces": ("workspaces", "[Workspace"),
        "held_back": ("heldBack", "[HeldBack"),
        "absent": ("absent", "[AbsentCheckout"),
        "failed": ("failed", "[Kept"),
    }


class RoundSummary(Model):
    """RoundSummary is a round in the list of a session."""

    # its name for ever
    id: ID
    number: int
    state: RoundState
    _fields = {
        "id": ("id", ""),
        "number": ("number", ""),
        "state": ("state", ""),
    }


class Run(Model):
    """Run is one run of an agent that Croft started in a workspace: a command, the process
    that it became, and how that ended. A workspace has one at a time.
    """

    # its name for ever
    id: ID
    # the ID of the workspace
    workspace: ID
    # the program and its arguments, cut where they are long
    command: list[str]
    state: RunState
    # how and status say how it ended, and Ending in words. A status of 128 and more may stand
    # for a signal: the one that ended it, or by which its supervisor was asked to end it.
    how: RunEnd | None
    # how and status say how it ended, and Ending in words
    status: int | None
    # the first of its processes; it leads their session
    process: Owner | None
    # the process of Croft that waits for it
    supervisor: Owner | None
    # by which the workspace is in use meanwhile
    lease: ID | None
    # finish and policy say what becomes of the work at the end.
    finish: RunFinish | None
    # finish and policy say what becomes of the work at the end
    policy: MergePolicy | None
    # when it began
    started_at: datetime
    # when it ended; absent before
    ended_at: datetime | None
    # when somebody asked for its end
    stopped_at: datetime | None
    # when its work was finished, or that had failed; absent if that is still to be done, or
    # is not to be done.
    finished_at: datetime | None
    # why its work could not be finished.
    unfinished: str | None
    # the changes outside of the workspace that were seen while it ran, at most MaxIntrusions
    # of each kind. They say what changed, and not who did it: no process is watched.
    intrusions: list[Intrusion]
    # how many others were seen.
    more_intrusions: int | None
    # the directory on the host with its output and its status.
    dir: str | None
    _fields = {
        "id": ("id", ""),
        "workspace": ("workspace", ""),
        "command": ("command", "["),
        "state": ("state", ""),
        "how": ("how", ""),
        "status": ("status", ""),
        "process": ("process", "Owner"),
        "supervisor": ("supervisor", "Owner"),
        "lease": ("lease", ""),
        "finish": ("finish", ""),
        "policy": ("policy", ""),
        "started_at": ("startedAt", "time"),
        "ended_at": ("endedAt", "time"),
        "stopped_at": ("stoppedAt", "time"),
        "finished_at": ("finishedAt", "time"),
        "unfinished": ("unfinished", ""),
        "intrusions": ("intrusions", "[Intrusion"),
        "more_intrusions": ("moreIntrusions", ""),
        "dir": ("dir", ""),
    }


class RunLog(Model):
    """RunLog is a part of what an agent printed. Of a long output the beginning and the end
    are kept, so that offset may be after the one that was asked for.
    """

    run: Run
    # as it was printed: the output of a program is not to be trusted
    data: bytes | None
    # where data begins
    offset: int
    # where the next part begins
    next: int
    # of all so far
    size: int
    _fields = {
        "run": ("run", "Run"),
        "data": ("data", "bytes"),
        "offset": ("offset", ""),
        "next": ("next", ""),
        "size": ("size", ""),
    }


class Saved(Model):
    """Saved says what was committed of a workspace."""

    # the ID of its project
    repo_id: ID | None
    # the ID of the workspace
    workspace: ID
    # the name of the workspace
    workspace_name: str
    # the branch that has the commit
    branch: str | None
    # empty: there was nothing to commit
    commit: str | None
    # files that the commit changes
    files: int
    # files that were not committed, because they look like secrets, are large, are
    # repositories, or were hidden from git
    held_back: list[str]
    _fields = {
        "repo_id": ("repoId", ""),
        "workspace": ("workspace", ""),
        "workspace_name": ("workspaceName", ""),
        "branch": ("branch", ""),
        "commit": ("commit", ""),
        "files": ("files", ""),
        "held_back": ("heldBack", "["),
    }


class Session(Model):
    """Session groups the rounds of one undertaking."""

    # its name for ever
    id: ID
    name: str | None
    # the ID of its project
    repo_id: ID | None
    # counts its changes, for IfRevision
    revision: int | None
    # the project that it was started in, or its own empty one
    repo: str
    # how branches and scratch directories are called
    layout: str
    # how many branches of ended rounds an agent keeps
    retention: Retention
    state: SessionState
    # when it began
    started_at: datetime
    # when it ended; absent before
    ended_at: datetime | None
    agents: list[Agent]
    # what callers record with it
    meta: dict[str, str]
    rounds: list[RoundSummary]
    _fields = {
        "id": ("id", ""),
        "name": ("name", ""),
        "repo_id": ("repoId", ""),
        "revision": ("revision", ""),
        "repo": ("repo", ""),
        "layout": ("layout", ""),
        "retention": ("retention", ""),
        "state": ("state", ""),
        "started_at": ("startedAt", "time"),
        "ended_at": ("endedAt", "time"),
        "agents": ("agents", "[Agent"),
        "meta": ("meta", "{"),
        "rounds": ("rounds", "[RoundSummary"),
    }


class SessionList(Model):
    """List is one page of a list."""

    items: list[Session]
    # for Page.After, to ask for the page that follows; empty: there is none. It is opaque. If
    # the item that it stands for has left a list whose order is not that of time, the request
    # for the page fails with CURSOR_EXPIRED.
    next: str | None
    # the place in the stream of events that the list reflects: it has what the events up to
    # there changed, and may have what later ones did. Of several pages the cursor of the
    # first is the one to follow from. It is empty if no events tell of the items.
    cursor: Cursor | None
    # the items, those included that a filter left out, that were not or not wholly looked at
    # in the time that the request gave: their conditions may be others.
    unseen: list[ID]
    _fields = {
        "items": ("items", "[Session"),
        "next": ("next", ""),
        "cursor": ("cursor", ""),
        "unseen": ("unseen", "["),
    }


class Skipped(Model):
    """Skipped is a file of the project that was not brought into a workspace."""

    path: str
    reason: SkipReason
    _fields = {
        "path": ("path", ""),
        "reason": ("reason", ""),
    }


class Snapshot(Model):
    """Snapshot is the whole state of a workspace at one moment: HEAD, index, files and
    whatever was in progress. files that git ignores are in it where the configuration says
    so.
    """

    # its name for ever
    id: ID
    # the ID of its project
    repo_id: ID | None
    # the ID of the workspace
    workspace: ID
    # the name of the workspace
    workspace_name: str
    # it hangs on a ref under refs/croft/snapshot/
    commit: str
    # files that are not as the commit has them: staged, modified, deleted or untracked
    files: int
    # the sizes of the contents that are stored of them
    bytes: int
    # when it was made
    created_at: datetime
    # what it was taken for, reason the words of the request, and actor who took it. They are
    # absent if an earlier version of Croft took it.
    cause: SnapshotCause | None
    # cause is what it was taken for, reason the words of the request, and actor who took it
    reason: str | None
    # cause is what it was taken for, reason the words of the request, and actor who took it
    actor: str | None
    _fields = {
        "id": ("id", ""),
        "repo_id": ("repoId", ""),
        "workspace": ("workspace", ""),
        "workspace_name": ("workspaceName", ""),
        "commit": ("commit", ""),
        "files": ("files", ""),
        "bytes": ("bytes", ""),
        "created_at": ("createdAt", "time"),
        "cause": ("cause", ""),
        "reason": ("reason", ""),
        "actor": ("actor", ""),
    }


class SnapshotList(Model):
    """List is one page of a list."""

    items: list[Snapshot]
    # for Page.After, to ask for the page that follows; empty: there is none. It is opaque. If
    # the item that it stands for has left a list whose order is not that of time, the request
    # for the page fails with CURSOR_EXPIRED.
    next: str | None
    # the place in the stream of events that the list reflects: it has what the events up to
    # there changed, and may have what later ones did. Of several pages the cursor of the
    # first is the one to follow from. It is empty if no events tell of the items.
    cursor: Cursor | None
    # the items, those included that a filter left out, that were not or not wholly looked at
    # in the time that the request gave: their conditions may be others.
    unseen: list[ID]
    _fields = {
        "items": ("items", "[Snapshot"),
        "next": ("next", ""),
        "cursor": ("cursor", ""),
        "unseen": ("unseen", "["),
    }


class Spare(Model):
    """Spare is a checkout in stock."""

    commit: str
    files: int
    bytes: int
    _fields = {
        "commit": ("commit", ""),
        "files": ("files", ""),
        "bytes": ("bytes", ""),
    }


class SpareCopy(Model):
    """SpareCopy is a copy in stock of a directory of the project."""

    # relative to the project, with slashes
    path: str
    # with its directories
    files: int
    bytes: int
    _fields = {
        "path": ("path", ""),
        "files": ("files", ""),
        "bytes": ("bytes", ""),
    }


class Status(Model):
    """Status says what a workspace holds beside its commits."""

    # the ID of the workspace
    workspace: ID
    # the name of the workspace
    workspace_name: str | None
    # the commit that is checked out
    head: str
    # files whose changes are in the index
    staged: int
    # files that differ from the index
    modified: int
    # files that git does not know
    untracked: int
    # files with conflicts that are not resolved
    conflicted: int
    # commits that the target does not have
    ahead: int
    # commits of the target that it does not have
    behind: int
    # the files that are counted
    paths: list[str]
    # stamp stands for the head and the uncommitted files as they are. With another stamp, the
    # workspace has other work. It is for Agreed, and absent in a workspace that is no
    # checkout.
    stamp: str | None
    _fields = {
        "workspace": ("workspace", ""),
        "workspace_name": ("workspaceName", ""),
        "head": ("head", ""),
        "staged": ("staged", ""),
        "modified": ("modified", ""),
        "untracked": ("untracked", ""),
        "conflicted": ("conflicted", ""),
        "ahead": ("ahead", ""),
        "behind": ("behind", ""),
        "paths": ("paths", "["),
        "stamp": ("stamp", ""),
    }


class SubmitResult(Model):
    """SubmitResult has a merge for each workspace that was named, in the order of the request
    and once. That of a workspace which could not be submitted is not in the queue: it has
    ended, is pending, and has the reason and no ID.
    """

    merges: list[Merge]
    _fields = {
        "merges": ("merges", "[Merge"),
    }


class TrashItem(Model):
    """TrashItem is a removed workspace that can be restored."""

    # its name for ever
    id: ID
    name: str
    # the ID of its project
    repo_id: ID | None
    branch: str | None
    # where it lay, and would lie again
    path: str
    # the sizes of its files on disk
    bytes: int
    # its files and directories on disk
    inodes: int
    # what is left of it
    left: TrashLeft
    # why it was removed: merged, discarded, reaped, undone, or removed by anybody else
    as_: Condition | None
    # when it was removed
    removed_at: datetime
    # of what is left
    expires_at: datetime
    # directories that can be made again, such as node_modules, and that went before the rest.
    stripped: list[str]
    # when the rest of the item is going to be deleted, once that was announced.
    purge_at: datetime | None
    # why the directory could not be deleted when its time had come.
    stays: str | None
    _fields = {
        "id": ("id", ""),
        "name": ("name", ""),
        "repo_id": ("repoId", ""),
        "branch": ("branch", ""),
        "path": ("path", ""),
        "bytes": ("bytes", ""),
        "inodes": ("inodes", ""),
        "left": ("left", ""),
        "as_": ("as", ""),
        "removed_at": ("removedAt", "time"),
        "expires_at": ("expiresAt", "time"),
        "stripped": ("stripped", "["),
        "purge_at": ("purgeAt", "time"),
        "stays": ("stays", ""),
    }


class TrashItemList(Model):
    """List is one page of a list."""

    items: list[TrashItem]
    # for Page.After, to ask for the page that follows; empty: there is none. It is opaque. If
    # the item that it stands for has left a list whose order is not that of time, the request
    # for the page fails with CURSOR_EXPIRED.
    next: str | None
    # the place in the stream of events that the list reflects: it has what the events up to
    # there changed, and may have what later ones did. Of several pages the cursor of the
    # first is the one to follow from. It is empty if no events tell of the items.
    cursor: Cursor | None
    # the items, those included that a filter left out, that were not or not wholly looked at
    # in the time that the request gave: their conditions may be others.
    unseen: list[ID]
    _fields = {
        "items": ("items", "[TrashItem"),
        "next": ("next", ""),
        "cursor": ("cursor", ""),
        "unseen": ("unseen", "["),
    }


class Unadopted(Model):
    """Unadopted is a worktree that was not adopted."""

    path: str
    reason: Error | None
    _fields = {
        "path": ("path", ""),
        "reason": ("reason", "Error"),
    }


class Uncommitted(Model):
    """Uncommitted counts the work that no commit has, as a commit of all of it would have it."""

    files: int
    # lines
    added: int
    deleted: int
    # files that the last commit lacks
    new_files: int
    # files that only the last commit has
    deleted_files: int
    # files that are not counted: see Review
    held_back: list[str]
    _fields = {
        "files": ("files", ""),
        "added": ("added", ""),
        "deleted": ("deleted", ""),
        "new_files": ("newFiles", ""),
        "deleted_files": ("deletedFiles", ""),
        "held_back": ("heldBack", "["),
    }


class UndoPlan(Model):
    """UndoPlan lists the steps that an undo would take."""

    operation: Operation
    # one line each
    steps: list[str]
    # why a step would be refused as things stand, such as that a workspace holds uncommitted
    # work. Its hint says how the undo can be carried out.
    refused: Error | None
    # later lists acts of other actors that came after the operation and are not undone with
    # it, the last first.
    later: list[Operation]
    # stamps stand for the work of the workspaces that the undo would move or put back, by
    # their IDs; see Status.
    stamps: dict[str, str]
    _fields = {
        "operation": ("operation", "Operation"),
        "steps": ("steps", "["),
        "refused": ("refused", "Error"),
        "later": ("later", "[Operation"),
        "stamps": ("stamps", "{"),
    }


class UninstallResult(Model):
    """UninstallResult answers for every repository that was asked for, and for the state."""

    repos: list[UninstalledRepo]
    kept: list[KeptRepo]
    # what was deleted of the state and its second copy. While a repository is kept they are
    # needed, and none is.
    files: list[str]
    # what stays in the directories of the state and of its second copy, and belongs to none
    # of repos.
    left: list[Left]
    _fields = {
        "repos": ("repos", "[UninstalledRepo"),
        "kept": ("kept", "[KeptRepo"),
        "files": ("files", "["),
        "left": ("left", "[Left"),
    }


class UninstalledRepo(Model):
    """UninstalledRepo says what was removed from a repository, or would be, and what stays."""

    path: str
    # deleted, below refs/croft/
    refs: list[str]
    # deleted or mended, in the git directory and in Croft's own
    files: list[str]
    # made, so that nothing is lost
    branches: list[KeptBranch]
    # the paths of worktrees that stay, as plain git has them
    workspaces: list[str]
    left: list[Left]
    # those below refs/croft/ that this state did not make: another state's, or the user's.
    # They stay.
    other_refs: list[str]
    _fields = {
        "path": ("path", ""),
        "refs": ("refs", "["),
        "files": ("files", "["),
        "branches": ("branches", "[KeptBranch"),
        "workspaces": ("workspaces", "["),
        "left": ("left", "[Left"),
        "other_refs": ("otherRefs", "["),
    }


class Work(Model):
    """Work is what a look at a workspace saw."""

    # what was looked at in the time that there was. Fields of what is not in it say nothing.
    seen: list[Aspect]
    # commits: those that the target lacks
    ahead: int
    # commits: those of the target that it lacks
    behind: int
    # commits: lines since it left the target; with files, uncommitted and new files included
    added: int
    # commits: likewise
    deleted: int
    # commits: likewise the files; one that was renamed is one
    changed: int
    # files: paths with uncommitted changes
    uncommitted: int
    # files: those of uncommitted that Finish, SubmitMerge and Save do not commit
    held_back: int | None
    # files: those of them with conflicts
    unmerged: int
    # files: the last write or commit that was noticed
    idle_since: datetime | None
    # processes: their names
    inside: list[str]
    _fields = {
        "seen": ("seen", "["),
        "ahead": ("ahead", ""),
        "behind": ("behind", ""),
        "added": ("added", ""),
        "deleted": ("deleted", ""),
        "changed": ("changed", ""),
        "uncommitted": ("uncommitted", ""),
        "held_back": ("heldBack", ""),
        "unmerged": ("unmerged", ""),
        "idle_since": ("idleSince", "time"),
        "inside": ("inside", "["),
    }


class Workspace(Model):
    """Workspace is the isolated directory and the branch of one agent."""

    # its name for ever
    id: ID | None
    # unique among the live workspaces of a repository
    name: str
    # the worker, over all its rounds
    agent: str | None
    # the configuration that was copied in
    role: str | None
    # the undertaking that it was made for
    session: str | None
    # its number in the session
    round: int | None
    # its round has ended, or the session
    is_round_over: bool
    # the anonymous name that others see
    label: str | None
    mode: Mode
    state: State
    # what it is like now; absent in events, which carry the record
    status: Condition | None
    # a few words about status
    why: str | None
    # absolute
    path: str
    # the last part of the path where the layout makes one from the name
    slug: str | None
    # the rule for its path and branch
    layout: str | None
    # without refs/heads/; empty when HEAD is detached
    branch: str | None
    # the commit that is checked out now
    head: str | None
    # the commit that it started from
    base: str | None
    # what that commit was called then
    base_ref: str | None
    # the branch that its work goes back to
    target: str | None
    # the machine
    host: str
    # the project's directory
    repo: str
    # the ID of its project
    repo_id: ID | None
    # counts the changes of its record, for IfRevision
    revision: int | None
    # somebody else made its worktree
    is_adopted: bool
    # by a person, with `croft lock` or `git worktree lock`
    is_locked: bool
    lock_reason: str | None
    # when it was made
    created_at: datetime
    # null until its work was submitted
    merge_status: MergeStatus | None
    # the commit that its target became by the merge; null before
    merge_commit_sha: str | None
    # its directory for notes, which git ignores; absent if it has none
    scratch: str | None
    # why its work stays pending, if that was tried and nothing was committed since: the code
    # of the merge, or IN_PROGRESS while its conflicts are being resolved. mergeMessage is the
    # same in words. What has been put right meanwhile, and a merged workspace with commits
    # since, has a message and no reason.
    merge_reason: Code | None
    # the same in words
    merge_message: str | None
    # when it went to the trash, and keptUntil how long it can be restored at least; absent
    # once it cannot be any more.
    removed_at: datetime | None
    # removedAt is when it went to the trash, and keptUntil how long it can be restored at
    # least; absent once it cannot be any more
    kept_until: datetime | None
    # what is wrong with a broken workspace, and movedFrom where the record has one that was
    # moved; path is where it is now. faultReason is what kept the last attempt to put its
    # files back from its end.
    fault: Fault | None
    # what kept the last attempt to put its files back from its end
    fault_reason: str | None
    # fault says what is wrong with a broken workspace, and movedFrom where the record has one
    # that was moved; path is where it is now
    moved_from: str | None
    # collides names the target, if its commits collide with that as they are now, and the
    # workspaces with which it collided in the last forecast, as far as neither side has new
    # commits since. It is in listings only. A look finds out about the target;
    # Radar.Conflicts makes a new forecast of all.
    collides: list[str]
    # whether collides names all that its commits collide with. It is in listings only.
    forecast: ForecastState | None
    # what callers record with it; Croft does not look at it.
    meta: dict[str, str]
    # the live lease, if a process holds one.
    lease: Lease | None
    # what a process that works here should have in its environment.
    env: dict[str, str]
    # what it waits for; absent if that is nothing, or goes on by itself.
    next: Next | None
    # what a look at it saw; absent if the request gave no time for that. In events it is what
    # the last act saw of its files.
    work: Work | None
    # how its last agent ended, if that was said.
    finished: Finished | None
    # what its agent does, if that was told, and question what it asks a person.
    activity: Activity | None
    # the last run of an agent that Croft started in it.
    run: Run | None
    # the last line that its agent printed, if Croft started it. ports are its own.
    last_line: str | None
    question: Question | None
    # its own
    ports: list[Port]
    # what was done to make it usable; absent if its configuration asks for nothing.
    provision: Provision | None
    # unknown names the fields that only Croft's record has, if this process cannot read it:
    # that they are absent, empty or false here says nothing.
    unknown: list[str]
    # what was last pushed of it, and pullRequest the pull request of its branch.
    push: Push | None
    # push is what was last pushed of it, and pullRequest the pull request of its branch
    pull_request: PullRequest | None
    # how its files came into its directory, and madeWhy why git had to write them.
    made_by: MadeBy | None
    # madeBy says how its files came into its directory, and madeWhy why git had to write them
    made_why: str | None
    # who made or adopted it, and actorWorkspace the workspace of the agent that did. Both are
    # absent for one that an earlier version made.
    actor: str | None
    # actor is who made or adopted it, and actorWorkspace the workspace of the agent that did
    actor_workspace: ID | None
    # remarks made at creation and removal, such as files that git itself shows as modified in
    # a fresh checkout, or at a restoration.
    notes: list[str]
    _fields = {
        "id": ("id", ""),
        "name": ("name", ""),
        "agent": ("agent", ""),
        "role": ("role", ""),
        "session": ("session", ""),
        "round": ("round", ""),
        "is_round_over": ("isRoundOver", "bool"),
        "label": ("label", ""),
        "mode": ("mode", ""),
        "state": ("state", ""),
        "status": ("status", ""),
        "why": ("why", ""),
        "path": ("path", ""),
        "slug": ("slug", ""),
        "layout": ("layout", ""),
        "branch": ("branch", ""),
        "head": ("head", ""),
        "base": ("base", ""),
        "base_ref": ("baseRef", ""),
        "target": ("target", ""),
        "host": ("host", ""),
        "repo": ("repo", ""),
        "repo_id": ("repoId", ""),
        "revision": ("revision", ""),
        "is_adopted": ("isAdopted", "bool"),
        "is_locked": ("isLocked", "bool"),
        "lock_reason": ("lockReason", ""),
        "created_at": ("createdAt", "time"),
        "merge_status": ("mergeStatus", ""),
        "merge_commit_sha": ("mergeCommitSha", ""),
        "scratch": ("scratch", ""),
        "merge_reason": ("mergeReason", ""),
        "merge_message": ("mergeMessage", ""),
        "removed_at": ("removedAt", "time"),
        "kept_until": ("keptUntil", "time"),
        "fault": ("fault", ""),
        "fault_reason": ("faultReason", ""),
        "moved_from": ("movedFrom", ""),
        "collides": ("collides", "["),
        "forecast": ("forecast", ""),
        "meta": ("meta", "{"),
        "lease": ("lease", "Lease"),
        "env": ("env", "{"),
        "next": ("next", "Next"),
        "work": ("work", "Work"),
        "finished": ("finished", "Finished"),
        "activity": ("activity", "Activity"),
        "run": ("run", "Run"),
        "last_line": ("lastLine", ""),
        "question": ("question", "Question"),
        "ports": ("ports", "[Port"),
        "provision": ("provision", "Provision"),
        "unknown": ("unknown", "["),
        "push": ("push", "Push"),
        "pull_request": ("pullRequest", "PullRequest"),
        "made_by": ("madeBy", ""),
        "made_why": ("madeWhy", ""),
        "actor": ("actor", ""),
        "actor_workspace": ("actorWorkspace", ""),
        "notes": ("notes", "["),
    }


class WorkspaceList(Model):
    """List is one page of a list."""

    items: list[Workspace]
    # for Page.After, to ask for the page that follows; empty: there is none. It is opaque. If
    # the item that it stands for has left a list whose order is not that of time, the request
    # for the page fails with CURSOR_EXPIRED.
    next: str | None
    # the place in the stream of events that the list reflects: it has what the events up to
    # there changed, and may have what later ones did. Of several pages the cursor of the
    # first is the one to follow from. It is empty if no events tell of the items.
    cursor: Cursor | None
    # the items, those included that a filter left out, that were not or not wholly looked at
    # in the time that the request gave: their conditions may be others.
    unseen: list[ID]
    _fields = {
        "items": ("items", "[Workspace"),
        "next": ("next", ""),
        "cursor": ("cursor", ""),
        "unseen": ("unseen", "["),
    }


class Worktree(Model):
    """Worktree is a worktree as git has it registered, Croft's or not."""

    path: str
    branch: str
    head: str
    is_main: bool
    is_locked: bool
    lock_reason: str | None
    # absent: not Croft's
    workspace: ID | None
    _fields = {
        "path": ("path", ""),
        "branch": ("branch", ""),
        "head": ("head", ""),
        "is_main": ("isMain", "bool"),
        "is_locked": ("isLocked", "bool"),
        "lock_reason": ("lockReason", ""),
        "workspace": ("workspace", ""),
    }


class WorktreeList(Model):
    """List is one page of a list."""

    items: list[Worktree]
    # for Page.After, to ask for the page that follows; empty: there is none. It is opaque. If
    # the item that it stands for has left a list whose order is not that of time, the request
    # for the page fails with CURSOR_EXPIRED.
    next: str | None
    # the place in the stream of events that the list reflects: it has what the events up to
    # there changed, and may have what later ones did. Of several pages the cursor of the
    # first is the one to follow from. It is empty if no events tell of the items.
    cursor: Cursor | None
    # the items, those included that a filter left out, that were not or not wholly looked at
    # in the time that the request gave: their conditions may be others.
    unseen: list[ID]
    _fields = {
        "items": ("items", "[Worktree"),
        "next": ("next", ""),
        "cursor": ("cursor", ""),
        "unseen": ("unseen", "["),
    }


class Calls:
    """One method for each operation of the API."""

    def _send(self, method: str, path: str, fields: dict[str, Any], answer: type[T], wait: float | None = None) -> T:
        raise NotImplementedError

    def _pages(self, path: str, fields: dict[str, Any], answer: type[Model]) -> Iterator[Any]:
        while True:
            page: Any = self._send("GET", path, fields, answer)
            yield from page.items
            if not page.next:
                return
            fields = {**fields, "after": page.next}

    def count_active(
        self,
        *,
        repo: str | None = None,
    ) -> Count:
        """Counts the live workspaces, those being made included."""
        fields: dict[str, Any] = {
            "repo": repo,
        }
        return self._send("GET", "/v1/active", fields, Count)

    def get_branch(
        self,
        branch: str,
        *,
        repo: str | None = None,
    ) -> Branch:
        """Describes a local branch. A branch that does not exist is an answer, not an error.

          branch: without refs/heads/
        """
        fields: dict[str, Any] = {
            "repo": repo,
        }
        return self._send("GET", f"/v1/branches/{segment(branch)}", fields, Branch)

    def checks(
        self,
        *,
        repo: str | None = None,
        target: str | None = None,
        workspace: str | None = None,
        of_: CommandSet | None = None,
    ) -> CheckPlan:
        """Shows the checks that a target's tip asks for.

          target: a branch; default: that of the workspace, or of one that would be made
          workspace: workspace, with setup, means the commands of this workspace, which
            began at another commit than the tip of its target. It is a name, an ID or a
            path.
        """
        fields: dict[str, Any] = {
            "repo": repo,
            "target": target,
            "workspace": workspace,
            "of": of_,
        }
        return self._send("GET", "/v1/checks", fields, CheckPlan)

    def approve(
        self,
        *,
        key: str | None = None,
        repo: str | None = None,
        target: str | None = None,
        workspace: str | None = None,
        hash: str,
        of_: CommandSet | None = None,
        mode: ApproveMode | None = None,
        from_: str | None = None,
    ) -> CheckPlan:
        """Allows these commands to run in this repository, in this order, whatever commit asks
        for them. A command runs what it finds in the merged files: a user who approves
        "make test" approves whatever a candidate puts behind it. It fails with
        CHECKS_UNTRUSTED if the target asks for other ones by now, and where it is asked for
        from inside a workspace: that is where agents are. With withdraw they may not run
        any more: a merge that comes to them is refused with CHECKS_UNTRUSTED, unless
        CROFT_TRUST names them; one that is being checked goes on. That is no failure if
        they were not approved.

          workspace: that of the ChecksRequest.
          hash: the hash of the checks that the person has seen. It is required, so that
            only these are approved.
          from_: the working directory of the person who approves. It is checked in
            addition to that of the Service.
        """
        fields: dict[str, Any] = {
            "key": key,
            "repo": repo,
            "target": target,
            "workspace": workspace,
            "hash": hash,
            "of": of_,
            "mode": mode,
            "from": from_,
        }
        return self._send("POST", "/v1/checks/approve", fields, CheckPlan)

    def commits(
        self,
        *,
        repo: str | None = None,
        workspace: str | None = None,
        target: str | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> Commits:
        """Lists the commits of a workspace, the newest first, and counts its uncommitted work.
        What the workspace began with is taken from Croft's record, not from the repository.
        Without a Limit a page has 100 commits, and at most 500. A commit that came after
        the page before is not on the next one; if the last commit of the page before is not
        one of the workspace any more, because the branch was rewritten, the request fails
        with CURSOR_EXPIRED.

          workspace: a name, an ID or a path; default: where repo lies
          target: default: the workspace's own
          limit: how many items are wanted at most. Without one an implementation answers
            with as many as it likes.
          after: Next of the page before.
        """
        fields: dict[str, Any] = {
            "repo": repo,
            "workspace": workspace,
            "target": target,
            "limit": limit,
            "after": after,
        }
        return self._send("GET", "/v1/commits", fields, Commits)

    def iter_commits(
        self,
        *,
        repo: str | None = None,
        workspace: str | None = None,
        target: str | None = None,
        limit: int | None = None,
    ) -> Iterator[Commit]:
        """Yields the items of all pages of commits, asking for one page after the other."""
        fields: dict[str, Any] = {
            "repo": repo,
            "workspace": workspace,
            "target": target,
            "limit": limit,
        }
        return self._pages("/v1/commits", fields, Commits)

    def conflicts(
        self,
        *,
        repo: str | None = None,
    ) -> Forecast:
        """Forecasts which workspaces will collide with each other and with their target, with
        all the work that is in them now, committed or not. It compares the workspaces that
        have the same target. Nothing is changed by it, and nothing is left in the
        repository. Workspaces that changed since the last forecast are compared again; for
        the others the last result is used.
        """
        fields: dict[str, Any] = {
            "repo": repo,
        }
        return self._send("GET", "/v1/conflicts", fields, Forecast)

    def daemon(
        self,
    ) -> About:
        """Describes the daemon."""
        fields: dict[str, Any] = {}
        return self._send("GET", "/v1/daemon", fields, About)

    def diff(
        self,
        *,
        repo: str | None = None,
        workspace: str | None = None,
        review: ID | None = None,
        merge: ID | None = None,
        target: str | None = None,
        paths: Sequence[str] | None = None,
        detail: Detail | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> Review:
        """Shows the work of a workspace, of a review or of a merge, and keeps nothing. With a
        Limit it answers with a page: at most that many files, and fewer if their lines are
        more than 1 MiB. All pages are of one state: if the work, or the commit that it is
        measured from, has changed since the page before, the request fails with
        CURSOR_EXPIRED. A review does not change. Files in conflict are shown as they are.

          repo: not looked at for a merge
          workspace: a name, an ID or a path; default: where repo lies
          merge: merge shows what a merge has brought to its target or, if it has not
            landed, what it would bring.
          target: of a workspace; default: its own
          paths: files, or directories with all below; default: all
          limit: how many items are wanted at most. Without one an implementation answers
            with as many as it likes.
          after: Next of the page before.
        """
        fields: dict[str, Any] = {
            "repo": repo,
            "workspace": workspace,
            "review": review,
            "merge": merge,
            "target": target,
            "paths": paths,
            "detail": detail,
            "limit": limit,
            "after": after,
        }
        return self._send("GET", "/v1/diff", fields, Review)

    def file(
        self,
        *,
        repo: str | None = None,
        workspace: str | None = None,
        review: ID | None = None,
        merge: ID | None = None,
        target: str | None = None,
        path: str,
        side: Side | None = None,
        object: str | None = None,
        offset: int | None = None,
        limit: int | None = None,
    ) -> FileContent:
        """Returns a part of a file as it is on one side of work, uncommitted work included.
        Links are not followed, but for one that an agent puts in the place of a directory
        while that is read (docs/security.md). Only files that a commit of the work would
        have are read: others are FILE_NOT_FOUND, and those that are held back
        FILE_HELD_BACK.

          workspace: the ID of the workspace
          path: as in ReviewFile; a renamed file has its OldPath on the other sides
          object: that of a part before. If the file is another one by now, the request
            fails with WORK_CHANGED.
          offset: in bytes
          limit: bytes; default and most: 1 MiB
        """
        fields: dict[str, Any] = {
            "repo": repo,
            "workspace": workspace,
            "review": review,
            "merge": merge,
            "target": target,
            "path": path,
            "side": side,
            "object": object,
            "offset": offset,
            "limit": limit,
        }
        return self._send("GET", "/v1/file", fields, FileContent)

    def git_config(
        self,
        *,
        repo: str | None = None,
    ) -> GitConfig:
        """Returns the differences between the repository's git configuration and the settings
        that Croft uses.
        """
        fields: dict[str, Any] = {
            "repo": repo,
        }
        return self._send("GET", "/v1/git-config", fields, GitConfig)

    def accept_git_config(
        self,
        *,
        key: str | None = None,
        repo: str | None = None,
        hash: str,
    ) -> GitConfig:
        """Makes Croft use the repository's git configuration as it is now. It fails with
        CONFIG_CHANGED if the configuration differs from the one that was hashed, and from
        inside of a workspace.

          hash: the hash of the differences that the person has seen. It is required, so
            that only these are accepted.
        """
        fields: dict[str, Any] = {
            "key": key,
            "repo": repo,
            "hash": hash,
        }
        return self._send("POST", "/v1/git-config/accept", fields, GitConfig)

    def release(
        self,
        lease: ID,
    ) -> Released:
        """Ends a lease, also again. An ID that no lease can have is LEASE_LOST."""
        fields: dict[str, Any] = {}
        return self._send("POST", f"/v1/leases/{segment(lease)}/release", fields, Released)

    def renew(
        self,
        lease: ID,
    ) -> Lease:
        """Prolongs a lease. One that was reaped or taken over is LEASE_LOST."""
        fields: dict[str, Any] = {}
        return self._send("POST", f"/v1/leases/{segment(lease)}/renew", fields, Lease)

    def merges(
        self,
        *,
        repo: str | None = None,
        repos: Scope | None = None,
        target: str | None = None,
        scope: Scope | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> MergeList:
        """Lists the merges that wait, in the order of their lanes, then the pending ones that
        DriveLanes tries again; with all, also the merges that have ended, the last first.

          repos: all: of all projects; repo is not looked at
          target: default: every lane
          scope: all: also merges that have ended
          limit: how many items are wanted at most. Without one an implementation answers
            with as many as it likes.
          after: Next of the page before.
        """
        fields: dict[str, Any] = {
            "repo": repo,
            "repos": repos,
            "target": target,
            "scope": scope,
            "limit": limit,
            "after": after,
        }
        return self._send("GET", "/v1/merges", fields, MergeList)

    def iter_merges(
        self,
        *,
        repo: str | None = None,
        repos: Scope | None = None,
        target: str | None = None,
        scope: Scope | None = None,
        limit: int | None = None,
    ) -> Iterator[Merge]:
        """Yields the items of all pages of merges, asking for one page after the other."""
        fields: dict[str, Any] = {
            "repo": repo,
            "repos": repos,
            "target": target,
            "scope": scope,
            "limit": limit,
        }
        return self._pages("/v1/merges", fields, MergeList)

    def submit_merges(
        self,
        *,
        key: str | None = None,
        repo: str | None = None,
        workspaces: Sequence[str],
        target: str | None = None,
        strategy: Strategy | None = None,
        message: str | None = None,
        priority: int | None = None,
        after: AfterMerge | None = None,
    ) -> SubmitResult:
        """Is SubmitMerge for several workspaces. It looks at them side by side and records
        their merges together, so that they land as one batch where their targets allow it.
        It fails with WORKTREE_NOT_FOUND, and commits nothing, if one of them does not
        exist; any other failure is that of one workspace, and in its merge.

          key: the same call after a crash submits each workspace once
          workspaces: required; they land in this order, among those of one priority
          target: default: the workspace's
          strategy: default: the target's
        """
        fields: dict[str, Any] = {
            "key": key,
            "repo": repo,
            "workspaces": workspaces,
            "target": target,
            "strategy": strategy,
            "message": message,
            "priority": priority,
            "after": after,
        }
        return self._send("POST", "/v1/merges", fields, SubmitResult)

    def get_merge(
        self,
        merge: str,
        *,
        repo: str | None = None,
    ) -> Merge:
        """Finds a merge by its ID, or fails with MERGE_NOT_FOUND."""
        fields: dict[str, Any] = {
            "repo": repo,
        }
        return self._send("GET", f"/v1/merges/{segment(merge)}", fields, Merge)

    def check_log(
        self,
        merge: ID,
        *,
        check: ID | None = None,
        offset: int | None = None,
        limit: int | None = None,
        follow: str | None = None,
    ) -> CheckLog:
        """Returns a part of the output of a check, for callers that do not share a disk with
        the Service. A merge without such a check, and one whose output is not kept any
        more, is CHECK_NOT_FOUND.

          check: one of merge.Checks or of an attempt. Default: the one that runs, else
            one that failed, else the last one.
          offset: in bytes
          limit: bytes; default and most: 1 MiB
          follow: if it is there, the answer is the output as text, as it is printed,
            until the check has ended
        """
        fields: dict[str, Any] = {
            "check": check,
            "offset": offset,
            "limit": limit,
            "follow": follow,
        }
        return self._send("GET", f"/v1/merges/{segment(merge)}/log", fields, CheckLog)

    def history(
        self,
        *,
        repo: str | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> OperationList:
        """Lists operations, the last first.

          limit: how many items are wanted at most. Without one an implementation answers
            with as many as it likes.
          after: Next of the page before.
        """
        fields: dict[str, Any] = {
            "repo": repo,
            "limit": limit,
            "after": after,
        }
        return self._send("GET", "/v1/operations", fields, OperationList)

    def iter_history(
        self,
        *,
        repo: str | None = None,
        limit: int | None = None,
    ) -> Iterator[Operation]:
        """Yields the items of all pages of history, asking for one page after the other."""
        fields: dict[str, Any] = {
            "repo": repo,
            "limit": limit,
        }
        return self._pages("/v1/operations", fields, OperationList)

    def get_operation(
        self,
        operation: str,
        *,
        repo: str | None = None,
    ) -> Operation:
        """Finds an operation by its ID, or fails with OPERATION_NOT_FOUND."""
        fields: dict[str, Any] = {
            "repo": repo,
        }
        return self._send("GET", f"/v1/operations/{segment(operation)}", fields, Operation)

    def fetch_pull_request(
        self,
        number: int,
        *,
        repo: str | None = None,
        remote: str | None = None,
    ) -> PullRequestHead:
        """Fetches the commits of a pull request into the repository, and says where it begins
        and where it goes to, for a workspace that is made of it. No ref is written.

          number: required
          remote: default: origin
        """
        fields: dict[str, Any] = {
            "repo": repo,
            "remote": remote,
        }
        return self._send("POST", f"/v1/pull-requests/{segment(number)}/fetch", fields, PullRequestHead)

    def lanes(
        self,
        *,
        repo: str | None = None,
        target: str | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> LaneList:
        """Lists the targets that lanes have moved, and says which of them moved outside of
        their lane since.

          target: default: every lane
          limit: how many items are wanted at most. Without one an implementation answers
            with as many as it likes.
          after: Next of the page before.
        """
        fields: dict[str, Any] = {
            "repo": repo,
            "target": target,
            "limit": limit,
            "after": after,
        }
        return self._send("GET", "/v1/queues", fields, LaneList)

    def iter_lanes(
        self,
        *,
        repo: str | None = None,
        target: str | None = None,
        limit: int | None = None,
    ) -> Iterator[Lane]:
        """Yields the items of all pages of lanes, asking for one page after the other."""
        fields: dict[str, Any] = {
            "repo": repo,
            "target": target,
            "limit": limit,
        }
        return self._pages("/v1/queues", fields, LaneList)

    def accept_target(
        self,
        *,
        key: str | None = None,
        repo: str | None = None,
        target: str,
        from_: str | None = None,
    ) -> Lane:
        """Says that a target may be where it is, although it moved outside of its lane, and
        returns the lane as it was accepted. It fails with TARGET_MOVED from inside a
        workspace: that is where agents are.

          key: the same call accepts the same commit, and no later one
          target: a branch
          from_: the directory that the person stands in; default: that of the Service
        """
        fields: dict[str, Any] = {
            "key": key,
            "repo": repo,
            "target": target,
            "from": from_,
        }
        return self._send("POST", "/v1/queues/accept", fields, Lane)

    def change_queue(
        self,
        *,
        key: str | None = None,
        repo: str | None = None,
        action: QueueAction,
        merges: Sequence[str] | None = None,
        target: str | None = None,
        reason: str | None = None,
        dry_run: DryRun | None = None,
        if_revision: int | None = None,
    ) -> QueueResult:
        """Holds, releases or cancels merges that wait.

          key: the same call changes no merge that was submitted since
          merges: IDs or names of workspaces; default: all that wait
          reason: of hold: why, one line of at most 200 bytes; holding again replaces it
          dry_run: answers with the merges that would be changed, as they are
          if_revision: fails with REVISION_CHANGED if the one merge that is named is at
            another revision
        """
        fields: dict[str, Any] = {
            "key": key,
            "repo": repo,
            "action": action,
            "merges": merges,
            "target": target,
            "reason": reason,
            "dryRun": dry_run,
            "ifRevision": if_revision,
        }
        return self._send("POST", "/v1/queues/change", fields, QueueResult)

    def drive_lanes(
        self,
        *,
        repo: str | None = None,
        target: str | None = None,
        until: DriveUntil | None = None,
    ) -> QueueResult:
        """Drives the lanes of a repository until they are empty, and tries again the merges
        that stayed pending because of the user's checkout, because the target had moved, or
        because its checks had not been approved, which they are now. stopped makes the
        caller the driver of these lanes: it keeps their locks, so that a call that waits
        for a merge only waits, and its end stops no check. A second driver waits, in this
        process or another one, and goes on when the first has ended. A lane that fails for
        a reason of the machine, such as a full disk, is tried again after a while. The end
        of the context ends the call without an error, and with no merges in the answer: the
        events tell of them.

          target: default: every lane
        """
        fields: dict[str, Any] = {
            "repo": repo,
            "target": target,
            "until": until,
        }
        return self._send("POST", "/v1/queues/run", fields, QueueResult)

    def repos(
        self,
        *,
        limit: int | None = None,
        after: str | None = None,
    ) -> RepoList:
        """Lists the projects that this Service knows, also those that are not at their paths
        any more, in the order in which they were first seen. A project is known once a call
        has named it, until Upkeep.Uninstall forgets it.

          limit: how many items are wanted at most. Without one an implementation answers
            with as many as it likes.
          after: Next of the page before.
        """
        fields: dict[str, Any] = {
            "limit": limit,
            "after": after,
        }
        return self._send("GET", "/v1/repos", fields, RepoList)

    def iter_repos(
        self,
        *,
        limit: int | None = None,
    ) -> Iterator[Repo]:
        """Yields the items of all pages of repos, asking for one page after the other."""
        fields: dict[str, Any] = {
            "limit": limit,
        }
        return self._pages("/v1/repos", fields, RepoList)

    def get_repo(
        self,
        repo: str,
    ) -> Repo:
        """Describes a project. A directory that is in no git repository is NOT_A_REPO.

          repo: a directory in the project; default: where the Service was opened
        """
        fields: dict[str, Any] = {}
        return self._send("GET", f"/v1/repos/{segment(repo)}", fields, Repo)

    def check_repo(
        self,
        repo: str,
    ) -> Repo:
        """Describes a project, as Repo does, in which workspaces can be made. It fails with
        NOT_A_REPO if there is no repository or no commit in it.

          repo: a directory in the project; default: where the Service was opened
        """
        fields: dict[str, Any] = {}
        return self._send("GET", f"/v1/repos/{segment(repo)}/check", fields, Repo)

    def plan_revert(
        self,
        *,
        repo: str | None = None,
        merge: ID | None = None,
        ref: str | None = None,
        target: str | None = None,
        message: str | None = None,
    ) -> RevertPlan:
        """Returns the conflicts that a revert would have and how many merges came after the
        merge. It changes nothing.

          ref: instead of merge: a workspace's name, a merge's ID or its commit
          target: a commit: fails with TARGET_MOVED if the branch is not at it
          message: default: like git's
        """
        fields: dict[str, Any] = {
            "repo": repo,
            "merge": merge,
            "ref": ref,
            "target": target,
            "message": message,
        }
        return self._send("GET", "/v1/reverts", fields, RevertPlan)

    def submit_revert(
        self,
        *,
        key: str | None = None,
        repo: str | None = None,
        merge: ID | None = None,
        ref: str | None = None,
        target: str | None = None,
        message: str | None = None,
        wait: float | None = None,
    ) -> Merge:
        """Submits the revert of a merge: a new commit on the target undoes it, through the
        same lane and checks. It returns at once; WaitMerge waits.

          key: the same call after a crash returns the same revert
          ref: instead of merge: a workspace's name, a merge's ID or its commit
          target: a commit: fails with TARGET_MOVED if the branch is not at it
          message: default: like git's
        """
        fields: dict[str, Any] = {
            "key": key,
            "repo": repo,
            "merge": merge,
            "ref": ref,
            "target": target,
            "message": message,
        }
        return self._send("POST", "/v1/reverts", fields, Merge, wait)

    def resolve_revert(
        self,
        *,
        key: str | None = None,
        repo: str | None = None,
        merge: ID | None = None,
        ref: str | None = None,
        target: str | None = None,
        message: str | None = None,
    ) -> Resolution:
        """Makes a workspace of the name revert-NAME, in which the merge of NAME is taken back
        and whose target was brought in: what is in conflict is left there to be resolved.
        Merging that workspace takes the merge back. It fails with INVALID_REQUEST if the
        revert has no conflict, and with IN_PROGRESS if it is being resolved.

          key: the same call after a crash returns the same revert
          ref: instead of merge: a workspace's name, a merge's ID or its commit
          target: a commit: fails with TARGET_MOVED if the branch is not at it
          message: default: like git's
        """
        fields: dict[str, Any] = {
            "key": key,
            "repo": repo,
            "merge": merge,
            "ref": ref,
            "target": target,
            "message": message,
        }
        return self._send("POST", "/v1/reverts/resolve", fields, Resolution)

    def get_review(
        self,
        review: str,
        *,
        repo: str | None = None,
    ) -> Review:
        """Finds a review by its ID, without the lines of its hunks, or fails with
        REVIEW_NOT_FOUND. Diff has the lines.
        """
        fields: dict[str, Any] = {
            "repo": repo,
        }
        return self._send("GET", f"/v1/reviews/{segment(review)}", fields, Review)

    def submit_apply(
        self,
        review: ID,
        *,
        key: str | None = None,
        repo: str | None = None,
        workspace: str | None = None,
        paths: Sequence[str] | None = None,
        hunks: Mapping[str, Sequence[int]] | None = None,
        edits: Mapping[str, Sequence[Edit | Mapping[str, Any]]] | None = None,
        message: str | None = None,
        wait: float | None = None,
    ) -> Merge:
        """Submits the chosen part of a review to its target as one commit, through the lane
        and its checks. It returns at once; WaitMerge waits. If the target changed one of
        the chosen files since the review the result is pending with the reason BASE_MOVED;
        if it changed others only, the message says so. It fails with REVIEW_NOT_FOUND if
        the review is not kept any more, and with INVALID_REQUEST if nothing is chosen or
        the choice cannot be.

          workspace: if it is given, the review must be of it: a name or an ID
          paths: files, or directories with all below; "." is everything
          hunks: by path
          edits: by path: lines in place of hunks, where a hunk was divided or written
            anew
          message: of the commit; default: which workspace it came from
        """
        fields: dict[str, Any] = {
            "key": key,
            "repo": repo,
            "workspace": workspace,
            "paths": paths,
            "hunks": hunks,
            "edits": edits,
            "message": message,
        }
        return self._send("POST", f"/v1/reviews/{segment(review)}/apply", fields, Merge, wait)

    def role(
        self,
        *,
        repo: str | None = None,
        role: str | None = None,
        workspace: str | None = None,
        mode: RoleMode | None = None,
    ) -> Role:
        """Looks a role up; a role without files is ROLE_NOT_FOUND.

          role: default for copying: the workspace's own
          workspace: a name, an ID or a path
          mode: for copying
        """
        fields: dict[str, Any] = {
            "repo": repo,
            "role": role,
            "workspace": workspace,
            "mode": mode,
        }
        return self._send("GET", "/v1/role", fields, Role)

    def copy_role(
        self,
        *,
        key: str | None = None,
        repo: str | None = None,
        role: str | None = None,
        workspace: str | None = None,
        mode: RoleMode | None = None,
        if_revision: int | None = None,
    ) -> Role:
        """Copies a role's files into a workspace, also over an earlier copy. They do not show
        as changes of the agent's.

          key: for copying
          role: default for copying: the workspace's own
          workspace: a name, an ID or a path
          mode: for copying
          if_revision: fails with REVISION_CHANGED if the workspace is at another revision
        """
        fields: dict[str, Any] = {
            "key": key,
            "repo": repo,
            "role": role,
            "workspace": workspace,
            "mode": mode,
            "ifRevision": if_revision,
        }
        return self._send("POST", "/v1/role", fields, Role)

    def get_round(
        self,
        round: str,
        *,
        repo: str | None = None,
    ) -> Round:
        """Finds a round by its ID, or fails with ROUND_NOT_FOUND."""
        fields: dict[str, Any] = {
            "repo": repo,
        }
        return self._send("GET", f"/v1/rounds/{segment(round)}", fields, Round)

    def end_round(
        self,
        round: ID,
        *,
        key: str | None = None,
        mode: EndMode | None = None,
    ) -> Round:
        """Commits what agents left uncommitted, archives their scratch in the homes of all,
        and moves the checkouts to the trash. Their branches stay, and earlier ones of these
        agents go as the retention says. An agent for which that fails is named in the
        result, and does not keep the others from ending; calling again tries it again. So
        is one whose checkout is not found.

          key: of this round
        """
        fields: dict[str, Any] = {
            "key": key,
            "mode": mode,
        }
        return self._send("POST", f"/v1/rounds/{segment(round)}/end", fields, Round)

    def sessions(
        self,
        *,
        repo: str | None = None,
        repos: Scope | None = None,
        states: Sequence[SessionState] | None = None,
        meta: Mapping[str, str] | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> SessionList:
        """Lists sessions, oldest first.

          repos: all: of all projects; repo is not looked at
          states: those wanted. Default: the open ones.
          meta: only those with all of these entries
          limit: how many items are wanted at most. Without one an implementation answers
            with as many as it likes.
          after: Next of the page before.
        """
        fields: dict[str, Any] = {
            "repo": repo,
            "repos": repos,
            "states": states,
            "meta": meta,
            "limit": limit,
            "after": after,
        }
        return self._send("GET", "/v1/sessions", fields, SessionList)

    def iter_sessions(
        self,
        *,
        repo: str | None = None,
        repos: Scope | None = None,
        states: Sequence[SessionState] | None = None,
        meta: Mapping[str, str] | None = None,
        limit: int | None = None,
    ) -> Iterator[Session]:
        """Yields the items of all pages of sessions, asking for one page after the other."""
        fields: dict[str, Any] = {
            "repo": repo,
            "repos": repos,
            "states": states,
            "meta": meta,
            "limit": limit,
        }
        return self._pages("/v1/sessions", fields, SessionList)

    def start_session(
        self,
        *,
        key: str | None = None,
        repo: str | None = None,
        context: Context | None = None,
        name: str | None = None,
        layout: str | None = None,
        retention: Retention | None = None,
        meta: Mapping[str, str] | None = None,
    ) -> Session:
        """Begins a session.

          key: the same call after a crash returns the same session
          layout: default: rounds
          retention: default: one
          meta: recorded with it; see CreateRequest
        """
        fields: dict[str, Any] = {
            "key": key,
            "repo": repo,
            "context": context,
            "name": name,
            "layout": layout,
            "retention": retention,
            "meta": meta,
        }
        return self._send("POST", "/v1/sessions", fields, Session)

    def get_session(
        self,
        session: str,
        *,
        repo: str | None = None,
    ) -> Session:
        """Finds a session by its ID or, among the open ones, its name; or fails with
        SESSION_NOT_FOUND.
        """
        fields: dict[str, Any] = {
            "repo": repo,
        }
        return self._send("GET", f"/v1/sessions/{segment(session)}", fields, Session)

    def end_session(
        self,
        session: str,
        *,
        key: str | None = None,
        if_revision: int | None = None,
    ) -> Session:
        """Ends what is open and deletes the session's branches. Their workspaces can be
        restored while they are in the trash.

          session: an ID, or a name
          if_revision: fails with REVISION_CHANGED if the session is at another revision
        """
        fields: dict[str, Any] = {
            "key": key,
            "ifRevision": if_revision,
        }
        return self._send("POST", f"/v1/sessions/{segment(session)}/end", fields, Session)

    def present(
        self,
        session: str,
        *,
        key: str | None = None,
        winner: str,
        repo: str | None = None,
        mode: Mode | None = None,
        home: str | None = None,
    ) -> Workspace:
        """Makes the workspace in which the result of a session is reviewed. It starts from the
        winner's last commit and has a target; the workspaces of rounds have none, so only
        changes from this one are merged into the project. The session stays open.

          session: an ID, or a name
          key: of this session
          winner: an agent, or the ID of one of its workspaces
          repo: of several; default: the first
          home: absolute; where it lies, with everybody's archives. Default: one that
            Croft makes
        """
        fields: dict[str, Any] = {
            "key": key,
            "winner": winner,
            "repo": repo,
            "mode": mode,
            "home": home,
        }
        return self._send("POST", f"/v1/sessions/{segment(session)}/present", fields, Workspace)

    def start_round(
        self,
        session: str,
        *,
        key: str | None = None,
        number: int | None = None,
        agents: Sequence[str],
        repos: Sequence[str] | None = None,
        base: str | None = None,
        mode: Mode | None = None,
        carry: Carry | None = None,
        homes: Mapping[str, str] | None = None,
        branches: Mapping[str, str] | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> Round:
        """Makes the checkouts of a round in all its repositories, all or none. Each has a
        label that no agent had before in the session, unless the request gives it one. An
        agent whose earlier round is still open fails with ROUND_BUSY; others may start
        while it is.

          session: an ID, or a name
          key: of this session
          number: of a round that was started before: that one. Default: the next
          agents: required; names that only the caller sees
          repos: directories in the projects; default: the session's own
          base: any commit; default: what is checked out
          mode: default: auto
          homes: directories of the caller's choice, by agent, absolute. Default: one that
            Croft makes, whose name says nothing.
          branches: explicit names of branches, by agent. Default: random ones.
          labels: the names under which the others see an agent. In a session a label
            belongs to one agent, which may have it in several rounds; then an agent can
            find out which it has had. Default: new ones in every round.
        """
        fields: dict[str, Any] = {
            "key": key,
            "number": number,
            "agents": agents,
            "repos": repos,
            "base": base,
            "mode": mode,
            "carry": carry,
            "homes": homes,
            "branches": branches,
            "labels": labels,
        }
        return self._send("POST", f"/v1/sessions/{segment(session)}/rounds", fields, Round)

    def snapshots(
        self,
        *,
        repo: str | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> SnapshotList:
        """Lists the snapshots of a repository, oldest first.

          limit: how many items are wanted at most. Without one an implementation answers
            with as many as it likes.
          after: Next of the page before.
        """
        fields: dict[str, Any] = {
            "repo": repo,
            "limit": limit,
            "after": after,
        }
        return self._send("GET", "/v1/snapshots", fields, SnapshotList)

    def iter_snapshots(
        self,
        *,
        repo: str | None = None,
        limit: int | None = None,
    ) -> Iterator[Snapshot]:
        """Yields the items of all pages of snapshots, asking for one page after the other."""
        fields: dict[str, Any] = {
            "repo": repo,
            "limit": limit,
        }
        return self._pages("/v1/snapshots", fields, SnapshotList)

    def get_snapshot(
        self,
        snapshot: str,
        *,
        repo: str | None = None,
    ) -> Snapshot:
        """Finds a snapshot by its ID, or fails with SNAPSHOT_NOT_FOUND."""
        fields: dict[str, Any] = {
            "repo": repo,
        }
        return self._send("GET", f"/v1/snapshots/{segment(snapshot)}", fields, Snapshot)

    def trash(
        self,
        *,
        repo: str | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> TrashItemList:
        """Lists the removed workspaces that can be restored, the most recently removed first.

          limit: how many items are wanted at most. Without one an implementation answers
            with as many as it likes.
          after: Next of the page before.
        """
        fields: dict[str, Any] = {
            "repo": repo,
            "limit": limit,
            "after": after,
        }
        return self._send("GET", "/v1/trash", fields, TrashItemList)

    def iter_trash(
        self,
        *,
        repo: str | None = None,
        limit: int | None = None,
    ) -> Iterator[TrashItem]:
        """Yields the items of all pages of trash, asking for one page after the other."""
        fields: dict[str, Any] = {
            "repo": repo,
            "limit": limit,
        }
        return self._pages("/v1/trash", fields, TrashItemList)

    def restore(
        self,
        trash: str,
        *,
        key: str | None = None,
        repo: str | None = None,
        mode: RestoreMode | None = None,
    ) -> Workspace:
        """Brings a removed workspace back: branch, registration, files, index and whatever was
        in progress, at the identical path. It fails with WORKTREE_EXISTS, BRANCH_EXISTS or
        BRANCH_IN_USE if something else is there now, and then the workspace is still in the
        trash. Of several removed workspaces of one name it takes the last. One that is not
        in the trash is WORKTREE_NOT_FOUND. Parts that were deleted from the trash before,
        such as directories that can be made again, are named in the workspace's Notes.
        Given a snapshot's ID, it brings the workspace back to that state, in place; ignored
        files stay. Its present state is saved as another snapshot first. A process or a
        lease inside keeps it as it is, with WORKSPACE_BUSY, and so does a lock.

          trash: required: an ID of the trash or of a snapshot, or a name
          key: the same call after a crash returns the same workspace
          mode: mode commits does without a directory that cannot be found.
        """
        fields: dict[str, Any] = {
            "key": key,
            "repo": repo,
            "mode": mode,
        }
        return self._send("POST", f"/v1/trash/{segment(trash)}/restore", fields, Workspace)

    def plan_undo(
        self,
        *,
        repo: str | None = None,
        operation: ID | None = None,
        mode: RemoveMode | None = None,
        stamps: Mapping[str, str] | None = None,
    ) -> UndoPlan:
        """Returns the steps that Undo would take, and changes nothing.

          operation: default: the last of this actor that is not undone
          mode: mode force lets an undo move uncommitted work to the trash.
          stamps: those of the plan that a person was shown. If one of the workspaces has
            another by now, Undo fails with WORK_CHANGED, and nothing is undone.
        """
        fields: dict[str, Any] = {
            "repo": repo,
            "operation": operation,
            "mode": mode,
            "stamps": stamps,
        }
        return self._send("GET", "/v1/undo", fields, UndoPlan)

    def undo(
        self,
        *,
        key: str | None = None,
        repo: str | None = None,
        operation: ID | None = None,
        mode: RemoveMode | None = None,
        stamps: Mapping[str, str] | None = None,
    ) -> Operation:
        """Undoes an operation: a workspace that it made goes to the trash, one that it removed
        is restored. The undo is an operation itself and can be undone. If the request names
        no operation, Undo undoes the last act of the same actor, and the one before it when
        it is called again. A caller whose working directory lies in a workspace acts as
        that workspace, and undoes an act of another actor only by its name. A merge of
        which the target has nothing any more counts as undone. Undo fails with
        INVALID_REQUEST if there is nothing to undo, and like Restore and Remove otherwise.

          key: the same call after a crash undoes the same act, and no other
          operation: default: the last of this actor that is not undone
          mode: mode force lets an undo move uncommitted work to the trash.
          stamps: those of the plan that a person was shown. If one of the workspaces has
            another by now, Undo fails with WORK_CHANGED, and nothing is undone.
        """
        fields: dict[str, Any] = {
            "key": key,
            "repo": repo,
            "operation": operation,
            "mode": mode,
            "stamps": stamps,
        }
        return self._send("POST", "/v1/undo", fields, Operation)

    def clean(
        self,
        *,
        key: str | None = None,
        repo: str | None = None,
        all: Scope | None = None,
        dry_run: DryRun | None = None,
        agreed: Agreed | Mapping[str, Any] | None = None,
        branches: Scope | None = None,
    ) -> CleanResult:
        """Removes what is provably finished: clean, idle, and integrated in its target. With
        all it removes every workspace, with uncommitted work too, the recorded branches
        that are left, and the emptied base directory. A lock or a process inside keeps a
        workspace even then.

          key: the same call removes nothing that was finished since
          all: all: finished or not
          branches: all deletes the recorded branches that have no workspace any more,
            whether their work is in its target or not, and nothing else. Their tips stay
            archived.
        """
        fields: dict[str, Any] = {
            "key": key,
            "repo": repo,
            "all": all,
            "dryRun": dry_run,
            "agreed": agreed,
            "branches": branches,
        }
        return self._send("POST", "/v1/upkeep/clean", fields, CleanResult)

    def doctor(
        self,
        *,
        key: str | None = None,
        repo: str | None = None,
        fix: FixMode | None = None,
        import_: ImportMode | None = None,
        agreed: Sequence[str] | None = None,
    ) -> DoctorResult:
        """Compares records, refs, registrations and disk. It deletes nothing that it does not
        know, and makes records of what it finds in a repository only if that is asked for.

          key: the same call mends nothing that broke since
          agreed: the findings, by Seen, that a person was shown and agreed to. With any,
            all binds no other ones.
        """
        fields: dict[str, Any] = {
            "key": key,
            "repo": repo,
            "fix": fix,
            "import": import_,
            "agreed": agreed,
        }
        return self._send("POST", "/v1/upkeep/doctor", fields, DoctorResult)

    def gc(
        self,
        *,
        key: str | None = None,
        repo: str | None = None,
        dry_run: DryRun | None = None,
    ) -> GCResult:
        """Deletes recorded branches that are integrated and have no workspace any more, and
        trash. Of that, directories that can be made again go first; what is in its target
        and was clean goes when it is past its retention, or when the trash is over its
        budget. Other work is announced before it goes, and when its directory goes, it can
        still be restored from its commits and a snapshot, for a while that the
        configuration says. The history, events and removed workspaces of which nothing is
        left are forgotten in the end.

          key: the same call deletes no trash that expired since
          dry_run: dryRun tells what would be deleted and announced, as far as that is
            known before: of what would be forgotten, and of a directory that turns out to
            have to stay, nothing is said.
        """
        fields: dict[str, Any] = {
            "key": key,
            "repo": repo,
            "dryRun": dry_run,
        }
        return self._send("POST", "/v1/upkeep/gc", fields, GCResult)

    def pool(
        self,
        *,
        repo: str | None = None,
    ) -> Pool:
        """Describes the checkouts that are kept in stock for new workspaces."""
        fields: dict[str, Any] = {
            "repo": repo,
        }
        return self._send("GET", "/v1/upkeep/pool", fields, Pool)

    def change_pool(
        self,
        *,
        repo: str | None = None,
        do: PoolAct | None = None,
    ) -> Pool:
        """Fills the pool of a project, or empties it. It returns when that is done, and with
        fewer checkouts than are wanted where there is a reason: a limit, or a repository
        whose files cannot be written in advance. If another process is filling the pool it
        returns at once.
        """
        fields: dict[str, Any] = {
            "repo": repo,
            "do": do,
        }
        return self._send("POST", "/v1/upkeep/pool", fields, Pool)

    def reap(
        self,
        *,
        key: str | None = None,
        repo: str | None = None,
        older_than: timedelta | str | None = None,
        mode: RemoveMode | None = None,
        dry_run: DryRun | None = None,
        agreed: Agreed | Mapping[str, Any] | None = None,
    ) -> CleanResult:
        """Removes orphans and answers for each workspace that it looked at and kept. A lock, a
        live or invisible owner or a process inside keeps a workspace always.

          key: the same call removes nothing that was orphaned since
          older_than: olderThan, if positive, also takes idle workspaces of that age that
            nobody leased and whose commits are in their target.
          mode: mode force takes those with uncommitted work, or with commits that are
            nowhere else, too. One whose directory is not found stays.
          dry_run: dryRun lists without removing.
        """
        fields: dict[str, Any] = {
            "key": key,
            "repo": repo,
            "olderThan": older_than,
            "mode": mode,
            "dryRun": dry_run,
            "agreed": agreed,
        }
        return self._send("POST", "/v1/upkeep/reap", fields, CleanResult)

    def uninstall(
        self,
        *,
        key: str | None = None,
        repo: str | None = None,
        all: Scope | None = None,
        dry_run: DryRun | None = None,
        gone: GoneMode | None = None,
        shown: Sequence[str] | None = None,
    ) -> UninstallResult:
        """Removes all that is Croft's own from a repository: refs, files in its git directory,
        its settings and excludes there, and what Croft remembers of it. Branches,
        worktrees, and whatever else is work stay and are named; commits and snapshots that
        only Croft kept become branches below croft-kept/. It is refused, with nothing done,
        while merges wait or isolated workspaces live, whose git directories are Croft's.
        With all it does so for every repository that is known. Those that it is refused
        for, and those that are not there now, are kept with the reason. If none is, what
        Croft keeps for all of them goes too, and the Service with it: the next one begins
        with an empty state.

          key: the same call leaves a repository alone that Croft was used in again. With
            all it goes with the state, and then nothing is known that could be removed.
          all: all removes it from every repository that is known, and then the state,
            with its second copy, if no repository was kept.
          gone: for good says of repo, at whose path nothing is, that it does not come
            back. What is remembered of it is forgotten; of its workspaces and its trash
            nothing is deleted.
          shown: shown, with all: only these repositories, by their paths. Others that are
            known by now are kept.
        """
        fields: dict[str, Any] = {
            "key": key,
            "repo": repo,
            "all": all,
            "dryRun": dry_run,
            "gone": gone,
            "shown": shown,
        }
        return self._send("POST", "/v1/upkeep/uninstall", fields, UninstallResult)

    def workspaces(
        self,
        *,
        repo: str | None = None,
        repos: Scope | None = None,
        session: str | None = None,
        role: str | None = None,
        agent: str | None = None,
        branch: str | None = None,
        target: str | None = None,
        meta: Mapping[str, str] | None = None,
        states: Sequence[State] | None = None,
        merge_statuses: Sequence[MergeStatus] | None = None,
        conditions: Sequence[Condition] | None = None,
        asks: Asks | None = None,
        maker: Maker | None = None,
        look: timedelta | str | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> WorkspaceList:
        """Lists workspaces, oldest first. It starts no git process per workspace. A listing
        that cannot be read is an error, never an empty list.

          repos: all: of all projects; repo is not looked at
          meta: all of these entries
          states: default: all but trashed
          merge_statuses: what became of the work. If states are not given, those that are
            gone are meant too.
          conditions: what the workspaces are like. Those that are gone are meant too if
            one of the conditions is theirs.
          asks: whom their agents ask; default: anybody, or nobody.
          maker: who made them; default: anybody.
          look: the time for looking at commits, files and processes, those that were
            active last first. Without it a condition is decided by the record and the refs
            alone, and all workspaces that could have been looked at are unseen.
          limit: how many items are wanted at most. Without one an implementation answers
            with as many as it likes.
          after: Next of the page before.
        """
        fields: dict[str, Any] = {
            "repo": repo,
            "repos": repos,
            "session": session,
            "role": role,
            "agent": agent,
            "branch": branch,
            "target": target,
            "meta": meta,
            "states": states,
            "mergeStatuses": merge_statuses,
            "conditions": conditions,
            "asks": asks,
            "maker": maker,
            "look": look,
            "limit": limit,
            "after": after,
        }
        return self._send("GET", "/v1/workspaces", fields, WorkspaceList)

    def iter_workspaces(
        self,
        *,
        repo: str | None = None,
        repos: Scope | None = None,
        session: str | None = None,
        role: str | None = None,
        agent: str | None = None,
        branch: str | None = None,
        target: str | None = None,
        meta: Mapping[str, str] | None = None,
        states: Sequence[State] | None = None,
        merge_statuses: Sequence[MergeStatus] | None = None,
        conditions: Sequence[Condition] | None = None,
        asks: Asks | None = None,
        maker: Maker | None = None,
        look: timedelta | str | None = None,
        limit: int | None = None,
    ) -> Iterator[Workspace]:
        """Yields the items of all pages of workspaces, asking for one page after the other."""
        fields: dict[str, Any] = {
            "repo": repo,
            "repos": repos,
            "session": session,
            "role": role,
            "agent": agent,
            "branch": branch,
            "target": target,
            "meta": meta,
            "states": states,
            "mergeStatuses": merge_statuses,
            "conditions": conditions,
            "asks": asks,
            "maker": maker,
            "look": look,
            "limit": limit,
        }
        return self._pages("/v1/workspaces", fields, WorkspaceList)

    def create(
        self,
        *,
        key: str | None = None,
        repo: str | None = None,
        name: str | None = None,
        agent: str | None = None,
        role: str | None = None,
        session: str | None = None,
        label: str | None = None,
        home: str | None = None,
        base: str | None = None,
        branch: str | None = None,
        target: str | None = None,
        layout: str | None = None,
        mode: Mode | None = None,
        role_files: RoleFiles | None = None,
        fetch: Fetch | None = None,
        meta: Mapping[str, str] | None = None,
    ) -> Workspace:
        """Makes one workspace. It is CreateAll with a single part.

          key: the same call after a crash returns the same workspace
          repo: a directory in the project; default: where the Service was opened
          name: default: invented
          home: the agent's directory, absolute, for layouts that put workspaces there.
            Default: a new one, whose name says nothing.
          base: any commit; default: the layout's
          branch: takes this branch, existing or new; default: a new one by the layout
          target: default: the branch that base names, else the one that is checked out
          layout: a preset; default: the configuration's
          mode: default: by the layout, see auto
          meta: recorded with it: at most 64 entries, with keys of up to 63 letters,
            digits and . _ / -, and values of up to 1,024 bytes.
        """
        fields: dict[str, Any] = {
            "key": key,
            "repo": repo,
            "name": name,
            "agent": agent,
            "role": role,
            "session": session,
            "label": label,
            "home": home,
            "base": base,
            "branch": branch,
            "target": target,
            "layout": layout,
            "mode": mode,
            "roleFiles": role_files,
            "fetch": fetch,
            "meta": meta,
        }
        return self._send("POST", "/v1/workspaces", fields, Workspace)

    def adopt(
        self,
        *,
        key: str | None = None,
        repo: str | None = None,
        paths: Sequence[str] | None = None,
        all: Scope | None = None,
        name: str | None = None,
        agent: str | None = None,
        meta: Mapping[str, str] | None = None,
    ) -> AdoptResult:
        """Makes workspaces of worktrees that somebody else made. Nothing in them is written,
        and their branches are never deleted. One that is a workspace already is answered as
        it is. A worktree is left, with the reason, if it and its registration do not name
        each other.

          paths: absolute
          all: all: all worktrees of the project that are no workspaces yet
          name: of one; default: by its directory
        """
        fields: dict[str, Any] = {
            "key": key,
            "repo": repo,
            "paths": paths,
            "all": all,
            "name": name,
            "agent": agent,
            "meta": meta,
        }
        return self._send("POST", "/v1/workspaces/adopt", fields, AdoptResult)

    def create_all(
        self,
        *,
        key: str | None = None,
        repo: str | None = None,
        workspaces: Sequence[CreateRequest | Mapping[str, Any]],
    ) -> CreateResult:
        """Makes several workspaces, all or none: when it fails, nothing of them remains and
        nothing else was touched. If the process dies in between, the next one rolls back
        what was begun. It fails with NOT_A_REPO, WORKTREE_EXISTS, BRANCH_EXISTS,
        BRANCH_BLOCKED, BRANCH_IN_USE, BASE_NOT_FOUND, ROLE_NOT_FOUND, SESSION_REQUIRED,
        INVALID_NAME, LIMIT_REACHED, NO_SPACE, NOT_WRITABLE, KEY_CONFLICT or GIT_FAILED.

          workspaces: required
        """
        fields: dict[str, Any] = {
            "key": key,
            "repo": repo,
            "workspaces": workspaces,
        }
        return self._send("POST", "/v1/workspaces/all", fields, CreateResult)

    def discard(
        self,
        *,
        key: str | None = None,
        repo: str | None = None,
        workspaces: Sequence[str] | None = None,
        all: Scope | None = None,
        agreed: Agreed | Mapping[str, Any] | None = None,
        dry_run: DryRun | None = None,
        if_revision: int | None = None,
    ) -> DiscardResult:
        """Moves the workspaces whose work is not wanted, with their branches, to the trash,
        and answers for each. Trash.Restore brings one back.

          all: all: every workspace whose work is pending
          dry_run: answers with what would become of each; the key is not used
          if_revision: fails with REVISION_CHANGED if the one workspace that is named is
            at another revision
        """
        fields: dict[str, Any] = {
            "key": key,
            "repo": repo,
            "workspaces": workspaces,
            "all": all,
            "agreed": agreed,
            "dryRun": dry_run,
            "ifRevision": if_revision,
        }
        return self._send("POST", "/v1/workspaces/discard", fields, DiscardResult)

    def plan_create(
        self,
        *,
        key: str | None = None,
        repo: str | None = None,
        workspaces: Sequence[CreateRequest | Mapping[str, Any]],
    ) -> CreateResult:
        """Says what CreateAll would make, and makes nothing: names, branches, paths, where
        they start and where their work goes. Names and parts of names that are drawn at
        random are drawn again by CreateAll. It fails as CreateAll would, as far as that can
        be known before.

          workspaces: required
        """
        fields: dict[str, Any] = {
            "key": key,
            "repo": repo,
            "workspaces": workspaces,
        }
        return self._send("POST", "/v1/workspaces/plan", fields, CreateResult)

    def plan_provision(
        self,
        *,
        repo: str | None = None,
        workspace: str | None = None,
    ) -> ProvisionPlan:
        """Says what Provision would do, and writes nothing.

          workspace: default: a workspace that would be made now
        """
        fields: dict[str, Any] = {
            "repo": repo,
            "workspace": workspace,
        }
        return self._send("POST", "/v1/workspaces/plan-provision", fields, ProvisionPlan)

    def remove(
        self,
        *,
        key: str | None = None,
        repo: str | None = None,
        workspaces: Sequence[str] | None = None,
        all: Scope | None = None,
        mode: RemoveMode | None = None,
        branch: BranchMode | None = None,
        agreed: Agreed | Mapping[str, Any] | None = None,
        dry_run: DryRun | None = None,
        if_revision: int | None = None,
    ) -> RemoveResult:
        """Moves workspaces to the trash and answers for each. Calling it again for what is
        gone succeeds. A workspace is kept, with the reason WORKSPACE_DIRTY,
        WORKSPACE_LOCKED or WORKSPACE_BUSY, where the request's mode does not override that.

          key: the same call after a crash removes nothing that was made since
          workspaces: names, IDs or paths
          all: instead of workspaces
          dry_run: lists without removing
          if_revision: fails with REVISION_CHANGED if the one workspace that is named is
            at another revision
        """
        fields: dict[str, Any] = {
            "key": key,
            "repo": repo,
            "workspaces": workspaces,
            "all": all,
            "mode": mode,
            "branch": branch,
            "agreed": agreed,
            "dryRun": dry_run,
            "ifRevision": if_revision,
        }
        return self._send("POST", "/v1/workspaces/remove", fields, RemoveResult)

    def get_workspace(
        self,
        workspace: str,
        *,
        repo: str | None = None,
        scope: Scope | None = None,
        look: timedelta | str | None = None,
    ) -> Workspace:
        """Finds one live workspace, or with all one that was removed, or fails with
        WORKTREE_NOT_FOUND.

          workspace: a name, an ID, or a path in the workspace. Empty means the workspace
            that repo lies in.
          scope: all also finds one that is gone, the last of that name, as long as Croft
            remembers it.
          look: as in WorkspacesRequest
        """
        fields: dict[str, Any] = {
            "repo": repo,
            "scope": scope,
            "look": look,
        }
        return self._send("GET", f"/v1/workspaces/{segment(workspace)}", fields, Workspace)

    def update_workspace(
        self,
        workspace: str,
        *,
        key: str | None = None,
        repo: str | None = None,
        meta: Mapping[str, str] | None = None,
        ports: PortsMode | None = None,
        if_revision: int | None = None,
    ) -> Workspace:
        """Changes the entries of a workspace's Meta that the request names, or gives it other
        ports. A key or a value that cannot be recorded is INVALID_NAME. A workspace without
        ports that is to get others is INVALID_REQUEST; LIMIT_REACHED says that none are
        free. If it fails, the workspace has the ports that it had.

          workspace: a name, an ID or a path; default: where repo lies
          meta: the entries to set. An empty value deletes the entry; others stay.
          ports: what becomes of the ports of the workspace. They are moved in a request
            without meta.
          if_revision: fails with REVISION_CHANGED if the workspace is at another revision
        """
        fields: dict[str, Any] = {
            "key": key,
            "repo": repo,
            "meta": meta,
            "ports": ports,
            "ifRevision": if_revision,
        }
        return self._send("PATCH", f"/v1/workspaces/{segment(workspace)}", fields, Workspace)

    def archive_scratch(
        self,
        workspace: str,
        *,
        key: str | None = None,
        repo: str | None = None,
        label: str | None = None,
        if_revision: int | None = None,
    ) -> Archive:
        """Copies the scratch of a live workspace to the archives.

          workspace: a name, an ID or a path
          label: default: the workspace's label, else the end of its branch
          if_revision: fails with REVISION_CHANGED if the workspace is at another revision
        """
        fields: dict[str, Any] = {
            "key": key,
            "repo": repo,
            "label": label,
            "ifRevision": if_revision,
        }
        return self._send("POST", f"/v1/workspaces/{segment(workspace)}/archive", fields, Archive)

    def finish(
        self,
        workspace: str,
        *,
        key: str | None = None,
        repo: str | None = None,
        lease: Lease | Mapping[str, Any] | None = None,
        outcome: Outcome | None = None,
        policy: MergePolicy | None = None,
        message: str | None = None,
        if_revision: int | None = None,
        wait: float | None = None,
    ) -> Merge:
        """Says that an agent has ended. Uncommitted work is committed. The work goes to the
        lane if the policy says so and the outcome is Succeeded, and is pending otherwise.
        It fails with WORKSPACE_BROKEN if the workspace is not as it was left: then nothing
        was committed.

          workspace: a name, an ID or a path; default: where repo lies
          lease: instead of workspace: its lease, which is released
          outcome: default: Succeeded
          message: of the commit; default: by the configuration's template
          if_revision: fails with REVISION_CHANGED if the workspace is at another revision
        """
        fields: dict[str, Any] = {
            "key": key,
            "repo": repo,
            "lease": lease,
            "outcome": outcome,
            "policy": policy,
            "message": message,
            "ifRevision": if_revision,
        }
        return self._send("POST", f"/v1/workspaces/{segment(workspace)}/finish", fields, Merge, wait)

    def take_lease(
        self,
        workspace: str,
        *,
        key: str | None = None,
        repo: str | None = None,
        owner: Owner | Mapping[str, Any] | None = None,
        ttl: timedelta | str | None = None,
        mode: LeaseMode | None = None,
        term: LeaseTerm | None = None,
    ) -> Lease:
        """Takes a lease. Several may be held on one workspace; an exclusive one is
        WORKSPACE_BUSY while another is live, and while it is held so is every other. Its
        owner gets the same one again, and so does a process with process. A workspace that
        is not ready is WORKSPACE_BROKEN, an owner that must be seen and is not
        INVALID_REQUEST.

          workspace: a name, an ID or a path; default: where repo lies
          key: the same call after a crash returns the same lease
          owner: owner will hold the lease. Default: the process of the Service. A PID
            without a Host is one that the Service can see; with a Host it may be elsewhere:
            then the ttl alone counts.
          ttl: at least a second. Default and maximum: lease.ttl, lease.max_ttl
        """
        fields: dict[str, Any] = {
            "key": key,
            "repo": repo,
            "owner": owner,
            "ttl": ttl,
            "mode": mode,
            "term": term,
        }
        return self._send("POST", f"/v1/workspaces/{segment(workspace)}/leases", fields, Lease)

    def lock(
        self,
        workspace: str,
        *,
        key: str | None = None,
        repo: str | None = None,
        reason: str | None = None,
        if_revision: int | None = None,
    ) -> Workspace:
        """Protects a workspace from removal. Locking it again replaces the reason.

          workspace: required: a name, an ID or a path
          key: the same call does not lock what was unlocked since
          if_revision: fails with REVISION_CHANGED if the workspace is at another revision
        """
        fields: dict[str, Any] = {
            "key": key,
            "repo": repo,
            "reason": reason,
            "ifRevision": if_revision,
        }
        return self._send("POST", f"/v1/workspaces/{segment(workspace)}/lock", fields, Workspace)

    def submit_merge(
        self,
        workspace: str,
        *,
        key: str | None = None,
        repo: str | None = None,
        target: str | None = None,
        strategy: Strategy | None = None,
        message: str | None = None,
        priority: int | None = None,
        after: AfterMerge | None = None,
        head: str | None = None,
        review: ID | None = None,
        if_revision: int | None = None,
        wait: float | None = None,
    ) -> Merge:
        """Commits the uncommitted work of a workspace and submits all its work to the lane. It
        returns at once; WaitMerge waits. It fails with WORK_CHANGED if the request says
        which work the caller has seen, and the workspace has other work by now.

          workspace: the ID of the workspace
          target: default: the workspace's
          strategy: default: the configuration's at the target
          message: of the merge commit; default: by template
          head: the commit that the caller has seen, and review the review. If the work is
            another one by now, the request fails with WORK_CHANGED, and nothing is
            committed or submitted. A workspace with uncommitted work is at no commit.
          review: head is the commit that the caller has seen, and review the review
          if_revision: fails with REVISION_CHANGED if the workspace is at another revision
        """
        fields: dict[str, Any] = {
            "key": key,
            "repo": repo,
            "target": target,
            "strategy": strategy,
            "message": message,
            "priority": priority,
            "after": after,
            "head": head,
            "review": review,
            "ifRevision": if_revision,
        }
        return self._send("POST", f"/v1/workspaces/{segment(workspace)}/merge", fields, Merge, wait)

    def mounts(
        self,
        workspace: str,
        *,
        repo: str | None = None,
        workdir: str | None = None,
        place: MountPlace | None = None,
    ) -> Mounts:
        """Returns the mounts and the variables that a container needs to work in a workspace.
        It fails with WORKSPACE_BROKEN if a part of the workspace is not a plain directory,
        and with Unsupported if a sandbox could not be kept from what is not the
        workspace's: see Place.

          workspace: a name, an ID or a path; default: where repo lies
          workdir: absolute; default: containers.workdir
          place: default: a container
        """
        fields: dict[str, Any] = {
            "repo": repo,
            "workdir": workdir,
            "place": place,
        }
        return self._send("GET", f"/v1/workspaces/{segment(workspace)}/mounts", fields, Mounts)

    def run_log(
        self,
        workspace: str,
        *,
        repo: str | None = None,
        offset: int | None = None,
        limit: int | None = None,
    ) -> RunLog:
        """Returns a part of what the last agent of a workspace printed, also of one that was
        removed. A workspace that had none, or whose output is not kept any more, is
        RUN_NOT_FOUND.

          workspace: a name, an ID or a path; default: where repo lies
          offset: in bytes; negative: from the end
          limit: bytes; default and most: 1 MiB
        """
        fields: dict[str, Any] = {
            "repo": repo,
            "offset": offset,
            "limit": limit,
        }
        return self._send("GET", f"/v1/workspaces/{segment(workspace)}/output", fields, RunLog)

    def prompt(
        self,
        workspace: str,
        *,
        repo: str | None = None,
        scope: Scope | None = None,
        look: timedelta | str | None = None,
    ) -> Prompt:
        """Describes a workspace of an open round to its agent.

          workspace: a name, an ID, or a path in the workspace. Empty means the workspace
            that repo lies in.
          scope: all also finds one that is gone, the last of that name, as long as Croft
            remembers it.
          look: as in WorkspacesRequest
        """
        fields: dict[str, Any] = {
            "repo": repo,
            "scope": scope,
            "look": look,
        }
        return self._send("GET", f"/v1/workspaces/{segment(workspace)}/prompt", fields, Prompt)

    def provision(
        self,
        workspace: str,
        *,
        key: str | None = None,
        repo: str | None = None,
        steps: Sequence[str] | None = None,
        mode: ProvisionMode | None = None,
    ) -> Provision:
        """Brings in the files that are missing, and runs the commands by which a workspace is
        set up, as the croft.toml of the commit says that it began with. Commands that
        nobody has approved are not run, but named. One that fails is no error: the answer
        says so, and the workspace stays usable. What a workspace has is never overwritten,
        but for copies that nobody has changed, if they are to be renewed.

          workspace: a name, an ID or a path; default: where repo lies
          steps: only these; default: all
        """
        fields: dict[str, Any] = {
            "key": key,
            "repo": repo,
            "steps": steps,
            "mode": mode,
        }
        return self._send("POST", f"/v1/workspaces/{segment(workspace)}/provision", fields, Provision)

    def push(
        self,
        workspace: str,
        *,
        repo: str | None = None,
        remote: str | None = None,
        message: str | None = None,
        pull_request: PullRequestMode | None = None,
        title: str | None = None,
        body: str | None = None,
        queue: QueueMode | None = None,
    ) -> Pushed:
        """Commits the uncommitted work of a workspace as Save does, and puts the branch of the
        same name at a remote to the commit that the workspace is at: no other branch, and
        only if that branch is where Croft last pushed it, or has no commits that the
        workspace lacks; otherwise it fails with REMOTE_ADVANCED and nothing is pushed. A
        branch that the workspace has rewritten is rewritten there. With open it then opens
        a pull request for the branch, or finds the open one. A second call does nothing
        again. The remote's address is the accepted one; see GitConfigs. It fails with
        PUSH_REJECTED if the remote does not take the commit, with REMOTE_UNREACHABLE if the
        remote does not answer or does not know the user, and for an agent with
        ACCESS_DENIED, unless the user allows it.

          workspace: a name, an ID or a path; default: where repo lies
          remote: default: that of the last push, else origin, else the only one
          message: of the commit of uncommitted work; default: by the configuration's
            template
          title: of the pull request; default: from the commits, or as it is there
          body: likewise
          queue: with open
        """
        fields: dict[str, Any] = {
            "repo": repo,
            "remote": remote,
            "message": message,
            "pullRequest": pull_request,
            "title": title,
            "body": body,
            "queue": queue,
        }
        return self._send("POST", f"/v1/workspaces/{segment(workspace)}/push", fields, Pushed)

    def refresh_push(
        self,
        workspace: str,
        *,
        repo: str | None = None,
    ) -> Pushed:
        """Asks the host what became of the pull request of a workspace, and records it:
        whether it was merged, by a merge, a squash or a rebase, whether the target there
        has the content of what was pushed, or whether it was closed. It changes nothing
        there.

          workspace: a name, an ID or a path; default: where repo lies
        """
        fields: dict[str, Any] = {
            "repo": repo,
        }
        return self._send("POST", f"/v1/workspaces/{segment(workspace)}/push/refresh", fields, Pushed)

    def report_agent(
        self,
        workspace: str,
        *,
        repo: str | None = None,
        state: AgentState,
        waiting_for: AgentNeed | None = None,
        note: str | None = None,
        source: str | None = None,
        agent_session: str | None = None,
        turn: SessionTurn | None = None,
        process: Owner | Mapping[str, Any] | None = None,
        at: datetime | None = None,
    ) -> Activity:
        """Records what the agent of a workspace does, and tells of it as workspace.reported.
        It is no new revision of the workspace, and no act of the history.

          workspace: a name, an ID or a path; default: where repo lies
          state: required; not unknown
          waiting_for: with waiting; default: answer
          note: at most MaxNote bytes
          source: default: "report"
          agent_session: the agent's own name for its session, of at most 128 bytes. News
            of a session that came before the present one are dropped, unless the present
            one has ended.
          turn: whether the session begins with the report, or leaves the workspace with
            it.
          process: the agent's: once it has ended, so has the agent, whatever it said
            last. Only PID is required, if it runs where the Service does.
          at: when it was so, if the report comes late; default: now. News from before the
            last ones are dropped.
        """
        fields: dict[str, Any] = {
            "repo": repo,
            "state": state,
            "waitingFor": waiting_for,
            "note": note,
            "source": source,
            "agentSession": agent_session,
            "turn": turn,
            "process": process,
            "at": at,
        }
        return self._send("POST", f"/v1/workspaces/{segment(workspace)}/report", fields, Activity)

    def resolve(
        self,
        workspace: str,
        *,
        key: str | None = None,
        repo: str | None = None,
        target: str | None = None,
        strategy: Strategy | None = None,
        message: str | None = None,
        priority: int | None = None,
        after: AfterMerge | None = None,
        head: str | None = None,
        review: ID | None = None,
        if_revision: int | None = None,
    ) -> Resolution:
        """Brings the target into a workspace, so that conflicts can be resolved there and the
        merge be submitted again.

          workspace: the ID of the workspace
          target: default: the workspace's
          strategy: default: the configuration's at the target
          message: of the merge commit; default: by template
          head: the commit that the caller has seen, and review the review. If the work is
            another one by now, the request fails with WORK_CHANGED, and nothing is
            committed or submitted. A workspace with uncommitted work is at no commit.
          review: head is the commit that the caller has seen, and review the review
          if_revision: fails with REVISION_CHANGED if the workspace is at another revision
        """
        fields: dict[str, Any] = {
            "key": key,
            "repo": repo,
            "target": target,
            "strategy": strategy,
            "message": message,
            "priority": priority,
            "after": after,
            "head": head,
            "review": review,
            "ifRevision": if_revision,
        }
        return self._send("POST", f"/v1/workspaces/{segment(workspace)}/resolve", fields, Resolution)

    def create_review(
        self,
        workspace: str,
        *,
        key: str | None = None,
        repo: str | None = None,
        target: str | None = None,
        applied: Applied | None = None,
        detail: Detail | None = None,
    ) -> Review:
        """Freezes the work of a workspace without disturbing it. The review is on disk when
        CreateReview returns. Repeated with its Key, it may leave out the lines of a large
        review.

          workspace: the ID of the workspace
          applied: hidden leaves out what was applied before and is still in the target.
          detail: how much of each file the answer has. Diff shows the rest.
        """
        fields: dict[str, Any] = {
            "key": key,
            "repo": repo,
            "target": target,
            "applied": applied,
            "detail": detail,
        }
        return self._send("POST", f"/v1/workspaces/{segment(workspace)}/reviews", fields, Review)

    def begin_run(
        self,
        workspace: str,
        *,
        key: str | None = None,
        repo: str | None = None,
        command: Sequence[str],
        finish: RunFinish | None = None,
        policy: MergePolicy | None = None,
        supervisor: Owner | Mapping[str, Any] | None = None,
    ) -> Run:
        """Records that an agent is about to be started in a workspace. While another one runs
        there it is WORKSPACE_BUSY. One whose processes are gone is recorded as lost first.

          workspace: required: a name, an ID or a path
          command: required
          supervisor: the process that will wait for the agent; default: that of the
            Service.
        """
        fields: dict[str, Any] = {
            "key": key,
            "repo": repo,
            "command": command,
            "finish": finish,
            "policy": policy,
            "supervisor": supervisor,
        }
        return self._send("POST", f"/v1/workspaces/{segment(workspace)}/runs", fields, Run)

    def record_run(
        self,
        workspace: str,
        run: ID,
        *,
        repo: str | None = None,
        process: Owner | Mapping[str, Any] | None = None,
        supervisor: Owner | Mapping[str, Any] | None = None,
        end: RunEnd | None = None,
        status: int | None = None,
        work: RunWork | None = None,
        why: str | None = None,
    ) -> Run:
        """Records the process of a run, which takes a lease, that it goes on, which renews the
        lease, or its end, which releases it. Each looks for changes outside of the
        workspace, and tells of those as run.intruded. Of a run that has ended it changes
        nothing; one that is not the last of its workspace is RUN_NOT_FOUND.

          workspace: required
          run: required
          process: the first process of the agent, of which a PID is enough. It takes the
            lease.
          supervisor: the process that waits for the agent from now on.
          end: end ends the run, with status unless it is lost.
          status: end ends the run, with status unless it is lost
          work: what became of the work of a run that has ended, and why, with failed, why
            it could not be finished.
          why: work says what became of the work of a run that has ended, and why, with
            failed, why it could not be finished
        """
        fields: dict[str, Any] = {
            "repo": repo,
            "process": process,
            "supervisor": supervisor,
            "end": end,
            "status": status,
            "work": work,
            "why": why,
        }
        return self._send("POST", f"/v1/workspaces/{segment(workspace)}/runs/{segment(run)}", fields, Run)

    def save(
        self,
        workspace: str,
        *,
        key: str | None = None,
        repo: str | None = None,
        message: str | None = None,
        paths: Sequence[str] | None = None,
        if_revision: int | None = None,
    ) -> Saved:
        """Commits the uncommitted work of a workspace to its branch, by the rules of
        Merges.Finish: no program of the repository runs, no link is followed, and files
        that look like secrets or are large stay uncommitted and are named. Without
        uncommitted work it succeeds, and its answer has no commit. Paths choose a part of
        the work. Then nothing else may be staged, and no merge may be in progress: both
        would go into the commit.

          workspace: a name, an ID or a path; default: where repo lies
          message: of the commit; default: by the configuration's template
          paths: files and directories of the workspace, relative, with slashes; default:
            all
          if_revision: fails with REVISION_CHANGED if the workspace is at another revision
        """
        fields: dict[str, Any] = {
            "key": key,
            "repo": repo,
            "message": message,
            "paths": paths,
            "ifRevision": if_revision,
        }
        return self._send("POST", f"/v1/workspaces/{segment(workspace)}/save", fields, Saved)

    def take_snapshot(
        self,
        workspace: str,
        *,
        key: str | None = None,
        repo: str | None = None,
        reason: str | None = None,
        if_revision: int | None = None,
    ) -> Snapshot:
        """Saves the state of a workspace without disturbing it. The snapshot is on disk when
        TakeSnapshot returns.

          workspace: a name, an ID or a path; default: where repo lies
          reason: why, one line of at most 200 bytes
          if_revision: fails with REVISION_CHANGED if the workspace is at another revision
        """
        fields: dict[str, Any] = {
            "key": key,
            "repo": repo,
            "reason": reason,
            "ifRevision": if_revision,
        }
        return self._send("POST", f"/v1/workspaces/{segment(workspace)}/snapshots", fields, Snapshot)

    def status(
        self,
        workspace: ID,
    ) -> Status:
        """Looks for uncommitted work. Role files that Croft put there do not count, nor does
        STATE.json.

          workspace: the ID of the workspace
        """
        fields: dict[str, Any] = {}
        return self._send("GET", f"/v1/workspaces/{segment(workspace)}/status", fields, Status)

    def stop_run(
        self,
        workspace: str,
        *,
        repo: str | None = None,
        grace: timedelta | str | None = None,
    ) -> Run:
        """Asks the processes of the agent to end, kills those that do not, and returns when
        all are gone and the end is recorded. If none runs, the last one is returned as it
        ended; a workspace that had none is RUN_NOT_FOUND.

          workspace: a name, an ID or a path; default: where repo lies
          grace: from the request to end until its processes are killed; default: 10
            seconds
        """
        fields: dict[str, Any] = {
            "repo": repo,
            "grace": grace,
        }
        return self._send("POST", f"/v1/workspaces/{segment(workspace)}/stop", fields, Run)

    def unlock(
        self,
        workspace: str,
        *,
        key: str | None = None,
        repo: str | None = None,
        reason: str | None = None,
        if_revision: int | None = None,
    ) -> Workspace:
        """Removes the lock of a workspace. Unlocking it again succeeds.

          workspace: required: a name, an ID or a path
          key: the same call does not lock what was unlocked since
          if_revision: fails with REVISION_CHANGED if the workspace is at another revision
        """
        fields: dict[str, Any] = {
            "key": key,
            "repo": repo,
            "reason": reason,
            "ifRevision": if_revision,
        }
        return self._send("POST", f"/v1/workspaces/{segment(workspace)}/unlock", fields, Workspace)

    def worktrees(
        self,
        *,
        repo: str | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> WorktreeList:
        """Lists what git has registered in the repository: the main checkout, Croft's
        worktrees and everybody else's.

          limit: how many items are wanted at most. Without one an implementation answers
            with as many as it likes.
          after: Next of the page before.
        """
        fields: dict[str, Any] = {
            "repo": repo,
            "limit": limit,
            "after": after,
        }
        return self._send("GET", "/v1/worktrees", fields, WorktreeList)

    def iter_worktrees(
        self,
        *,
        repo: str | None = None,
        limit: int | None = None,
    ) -> Iterator[Worktree]:
        """Yields the items of all pages of worktrees, asking for one page after the other."""
        fields: dict[str, Any] = {
            "repo": repo,
            "limit": limit,
        }
        return self._pages("/v1/worktrees", fields, WorktreeList)
