// The types and the calls of Croft's API.
// Generated from docs/openapi/openapi.json; CROFT_UPDATE=1 go test -run TestOpenAPI . writes it.

/** A call, as the transport sends it. */
export interface Call {
  method: string;
  path: string;
  /** The query of a GET, the body of anything else. */
  fields: object;
  /** The body may have a key, so that the call can be sent again. */
  keyed: boolean;
  options?: WaitOptions;
}

/** What every call takes beside its request. */
export interface CallOptions {
  signal?: AbortSignal;
}

/** What a call takes that answers with a merge. */
export interface WaitOptions extends CallOptions {
  /** Answer when the merge has ended, or after so many seconds, 60 at most. */
  wait?: number;
}

/** A name, an ID or a path as a segment of a path. The empty one stands for the default. */
export function segment(value: string | number): string {
  const text = String(value);
  if (text === "") return "-";
  if (text === "-") return "name%3A-";
  if (text === "/") return "path%3A%2F";
  if (text === "." || text === "..") return text.replaceAll(".", "%2E");
  return encodeURIComponent(text);
}

/**
 * About describes a daemon, so that a client knows whether its calls would have the same
 * result there as in its own process.
 */
export interface About {
  version: string;
  pid: number;
  stateDir: string;
  /**
   * settings stands for the settings that the daemon read: a client with other ones calls its
   * own engine instead.
   */
  settings: string;
  /** api stands for the OpenAPI document. */
  api: string;
}

/**
 * AbsentCheckout is a checkout that was not found when its round ended. Work that was neither
 * committed nor staged there is only in that directory, wherever it is now. The same holds for
 * commits in an isolated checkout that Croft had not pulled yet.
 */
export interface AbsentCheckout {
  /** the ID of the workspace */
  workspace: ID;
  agent: string;
  label: string;
  /**
   * where it was. Once it is there again, Restore takes it as it is; without it, Restore makes
   * one of what is kept.
   */
  path: string;
}

/** AcceptGitConfigRequest asks Croft to accept a repository's git configuration as it is now. */
export interface AcceptGitConfigRequest {
  key?: string;
  repo?: string;
  /**
   * the hash of the differences that the person has seen. It is required, so that only these
   * are accepted.
   */
  hash: string;
}

/** AcceptRequest accepts that a target moved outside of its lane. */
export interface AcceptRequest {
  /** the same call accepts the same commit, and no later one */
  key?: string;
  repo?: string;
  /** a branch */
  target: string;
  /** the directory that the person stands in; default: that of the Service */
  from?: string;
}

/** Action is what a workspace waits for, for programs that act. */
export type Action =
  | "diagnose"
  | "repair"
  | "release"
  | "drive"
  | "diff"
  | "remove"
  | "work"
  | "answer"
  | "merge"
  | "resolve"
  | "approve"
  | "accept"
  | "logs"
  | "show"
  | "unlock"
  | "review"
  | "set-up"
  | "finish"
  | "push"
  | "follow"
  | "restore"
  | (string & {}); // a newer daemon may have more words

/** Activity is what the agent of a workspace does, by the last news of it. */
export interface Activity {
  state: AgentState;
  /** with waiting */
  waitingFor?: AgentNeed;
  /** the agent's words: show them as text */
  note?: string;
  /** what told of it: "report", or the name of an agent's hooks */
  source?: string;
  /** when the state began */
  since: string;
  /** when the last news of it came; news that change nothing count once a minute */
  at: string;
  /** of the agent, as the agent calls it */
  agentSession?: string;
  /** of the agent, if that is known: when it has ended, so has the agent */
  process?: Owner;
}

/**
 * AdoptRequest makes workspaces of worktrees that somebody else made. Without paths and all it
 * is the worktree that repo lies in.
 */
export interface AdoptRequest {
  key?: string;
  repo?: string;
  /** absolute */
  paths?: string[];
  /** all: all worktrees of the project that are no workspaces yet */
  all?: Scope;
  /** of one; default: by its directory */
  name?: string;
  agent?: string;
  meta?: Record<string, string>;
}

/** AdoptResult answers for every worktree that was asked for. */
export interface AdoptResult {
  workspaces: Workspace[];
  left?: Unadopted[];
}

/** AfterMerge says what becomes of a workspace whose work was merged. */
export type AfterMerge =
  | "keep";

/** Agent is one worker of a session, over all its rounds. */
export interface Agent {
  name: string;
  /**
   * a directory of its own that outlives rounds. Its checkouts lie in it, and the archive of
   * everybody's scratch.
   */
  home: string;
}

/** AgentNeed is what an agent waits for. */
export type AgentNeed =
  | "answer"
  | "permission"
  | "credentials"
  | "resource"
  | "limit"
  | (string & {}); // a newer daemon may have more words

/** AgentState says what the agent of a workspace does. */
export type AgentState =
  | "starting"
  | "working"
  | "waiting"
  | "idle"
  | "ended"
  | "unknown"
  | (string & {}); // a newer daemon may have more words

/**
 * Agreed is what a person was shown and agreed to. A request that has one removes only these
 * workspaces, whatever came meanwhile, and its Mode is not looked at: those in withWork go
 * with their uncommitted work, the others as with RemoveSafe.
 */
export interface Agreed {
  workspaces?: ID[];
  /**
   * those of them that were shown with uncommitted work. The others are kept if they have some
   * by now, and all of them if they are locked.
   */
  withWork?: ID[];
  branches?: string[];
  /**
   * those of Status at the time, by the ID of the workspace. One that has another by now is
   * kept with the reason WORK_CHANGED.
   */
  stamps?: Record<string, string>;
}

/**
 * Announcement says that work which is not in its target is going to be deleted from the
 * trash.
 */
export interface Announcement {
  /** its name for ever */
  id: ID;
  name: string;
  /** what goes: after the directory, a snapshot or commits are left */
  left: TrashLeft;
  /** when it goes */
  at: string;
  reason: TrashReason;
}

/** Applied says whether a review has what was applied before and is still in the target. */
export type Applied =
  | "hidden";

/**
 * ApplyRequest chooses a part of a review: whole files by paths, some hunks of others by
 * hunks. A renamed file is chosen under its new path and takes the old one away. Mode and name
 * of a file come along with any of its hunks.
 */
export interface ApplyRequest {
  key?: string;
  repo?: string;
  /** if it is given, the review must be of it: a name or an ID */
  workspace?: string;
  /** files, or directories with all below; "." is everything */
  paths?: string[];
  /** by path */
  hunks?: Record<string, number[]>;
  /** by path: lines in place of hunks, where a hunk was divided or written anew */
  edits?: Record<string, Edit[]>;
  /** of the commit; default: which workspace it came from */
  message?: string;
}

/** Approval is what a person allowed, or withdrew. The event that has it names the person. */
export interface Approval {
  kind: ApprovalKind;
  /** of checks and a target: the branch */
  target?: string;
  /** of checks and a target: the commit that the branch was at */
  commit?: string;
  /** of checks and a git configuration: that of the request */
  hash?: string;
  /** of checks: the commands */
  checks?: string[];
  /**
   * of a git configuration: the settings that differed, the first 100; without values, which
   * may be secret
   */
  keys?: string[];
}

/** ApprovalKind says what a person allowed. */
export type ApprovalKind =
  | "checks"
  | "target"
  | "git-config"
  | (string & {}); // a newer daemon may have more words

/** ApproveMode says whether checks may run from now on. */
export type ApproveMode =
  | "withdraw";

/** ApproveRequest allows the checks of a target to run, or withdraws that. */
export interface ApproveRequest {
  key?: string;
  repo?: string;
  target?: string;
  /** that of the ChecksRequest. */
  workspace?: string;
  /**
   * the hash of the checks that the person has seen. It is required, so that only these are
   * approved.
   */
  hash: string;
  of?: CommandSet;
  mode?: ApproveMode;
  /**
   * the working directory of the person who approves. It is checked in addition to that of the
   * Service.
   */
  from?: string;
}

/** Archive is what was kept of a scratch directory. */
export interface Archive {
  label: string;
  /** where it lies now; empty: there was nothing in it */
  paths: string[];
}

/** ArchiveRequest asks for a copy of a workspace's scratch. */
export interface ArchiveRequest {
  key?: string;
  repo?: string;
  /** default: the workspace's label, else the end of its branch */
  label?: string;
  /** fails with REVISION_CHANGED if the workspace is at another revision */
  ifRevision?: number;
}

/** Asks says whom an agent asks. */
export type Asks =
  | "person";

/** Aspect is a side of a workspace that a look at it examines. */
export type Aspect =
  | "commits"
  | "files"
  | "processes"
  | (string & {}); // a newer daemon may have more words

/**
 * Attempt is a tree that a lane made of a merge and had checked. A lane stacks several merges,
 * a batch, on its target, and checks the tree of all of them. If that fails it bisects: it
 * checks the trees of the first few, until the merge is found that breaks the checks.
 */
export interface Attempt {
  batch: ID;
  /** how many merges the batch has */
  size: number;
  /** of this merge in the batch; the lowest is 1 */
  position: number;
  /** 0: the first try of the batch; n: the nth step of its bisection */
  step: number;
  /** how many merges of the batch, from the lowest, the tree has; 0: it is the target's own */
  merges: number;
  commit: string;
  tree: string;
  state: TryState;
  /** all that are to be run, in their order; the first that fails is the last */
  commands?: string[];
  /** those that have begun, without Tail; a command that was run again has two */
  checks?: Check[];
  /** when it began */
  startedAt: string;
  /** absent while it runs, and if its driver died */
  endedAt?: string;
}

/** Author is the author of commits. Both fields are required. */
export interface Author {
  name: string;
  email: string;
}

/** Became says what came of work whose merge stayed pending. */
export type Became =
  | "merged"
  | "reverted"
  | "discarded"
  | "submitted"
  | "removed"
  | (string & {}); // a newer daemon may have more words

/** BeginRunRequest asks to begin a run. */
export interface BeginRunRequest {
  key?: string;
  repo?: string;
  /** required */
  command: string[];
  finish?: RunFinish;
  policy?: MergePolicy;
  /** the process that will wait for the agent; default: that of the Service. */
  supervisor?: Owner;
}

/** Branch is a local branch of a repository. */
export interface Branch {
  name: string;
  exists: boolean;
}

/** BranchMode says what becomes of the branch of a removed workspace. */
export type BranchMode =
  | "keep";

/**
 * Carry says what becomes of uncommitted changes in the project's checkout when a round
 * starts.
 */
export type Carry =
  | "dirty";

/** ChangePoolRequest asks for checkouts to be made in stock, or to be deleted. */
export interface ChangePoolRequest {
  repo?: string;
  do?: PoolAct;
}

/** Changes counts in how many files and lines work differs from its base. */
export interface Changes {
  files: number;
  /** lines */
  added: number;
  deleted: number;
}

/** Check is one run of a command on the merged result. */
export interface Check {
  /** its name for ever */
  id?: ID;
  command: string;
  /** the tree that it ran on */
  tree: string;
  /** absent if an earlier version of Croft ran it */
  state?: TryState;
  passed: boolean;
  /** it failed first and passed when it was run again */
  flaky?: boolean;
  took: string;
  /** the median of the last times that the command passed */
  usual?: string;
  /** the file with its output */
  log?: string;
  /** the end of the output of a failure */
  tail?: string;
  /** the last line of the output that is not empty, cut if it is long */
  lastLine?: string;
  /** when it began */
  startedAt?: string;
}

/**
 * CheckLog is a part of the output of a check. Of a long output the beginning and the end are
 * kept.
 */
export interface CheckLog {
  merge: ID;
  /** the ID of the workspace */
  workspace?: ID;
  /** the name of the workspace */
  workspaceName?: string;
  check: Check;
  /** as it was printed: the output of a program is not to be trusted */
  data?: string;
  /** where data begins */
  offset: number;
  /** where the next part begins */
  next: number;
  /** of all so far; a check that runs prints more */
  size: number;
}

/** CheckOutput is output of a check that runs. */
export interface CheckOutput {
  /** whole lines; long ones are cut */
  text: string;
  /**
   * how many bytes were left out before text: events carry at most 64 KB of the output of one
   * check. The file that Check.Log names has more.
   */
  left?: number;
}

/**
 * CheckPlan lists the commands that a target asks to be run on a merged result before it is
 * published.
 */
export interface CheckPlan {
  /** a branch */
  target: string;
  /** its tip, which the checks were read from */
  commit: string;
  of?: CommandSet;
  /** commands for the shell; of a set-up each with the table that it is of */
  checks: string[];
  /** of the checks; empty if there are none */
  hash: string;
  approved: boolean;
  /** approvedBy and approvedAt are by whom and when they were approved, if a person did. */
  approvedBy?: string;
  /** approvedBy and approvedAt are by whom and when they were approved, if a person did */
  approvedAt?: string;
  /**
   * CROFT_TRUST of the Service names the hash, which approves them for what this process
   * submits and lands, unless the Service stands in a workspace
   */
  named?: boolean;
  /** why they cannot be approved from where the Service stands. */
  refusal?: Error;
}

/** CleanRequest asks for the removal of everything that is provably finished, or of everything. */
export interface CleanRequest {
  /** the same call removes nothing that was finished since */
  key?: string;
  repo?: string;
  /** all: finished or not */
  all?: Scope;
  dryRun?: DryRun;
  agreed?: Agreed;
  /**
   * all deletes the recorded branches that have no workspace any more, whether their work is
   * in its target or not, and nothing else. Their tips stay archived.
   */
  branches?: Scope;
}

/** CleanResult says what was removed, or would be. */
export interface CleanResult {
  removed: Removed[];
  kept?: Kept[];
  /** recorded branches that had no workspace any more */
  branches: string[];
}

/**
 * Code is a machine-readable reason for a failure. Codes are part of the API: they are never
 * renamed and never reused. A Code is itself an error, so that errors.Is finds it in whatever
 * a Service returns.
 */
export type Code =
  | "NOT_A_REPO"
  | "WORKTREE_EXISTS"
  | "WORKTREE_NOT_FOUND"
  | "BRANCH_EXISTS"
  | "GIT_FAILED"
  | "ROLE_NOT_FOUND"
  | "CLEANUP_FAILED"
  | "BRANCH_BLOCKED"
  | "BRANCH_IN_USE"
  | "BASE_NOT_FOUND"
  | "INVALID_NAME"
  | "INVALID_REQUEST"
  | "REQUEST_TOO_LARGE"
  | "SESSION_REQUIRED"
  | "KEY_CONFLICT"
  | "LIMIT_REACHED"
  | "NO_SPACE"
  | "DISK_ERROR"
  | "NOT_WRITABLE"
  | "READ_ONLY"
  | "WORKSPACE_DIRTY"
  | "WORKSPACE_LOCKED"
  | "WORKSPACE_BUSY"
  | "WORKSPACE_BROKEN"
  | "WRONG_BRANCH"
  | "IN_PROGRESS"
  | "SIGNING_FAILED"
  | "IDENTITY_UNKNOWN"
  | "CONFLICT"
  | "UNRELATED_HISTORIES"
  | "NOT_CONFIRMED"
  | "SUBMODULE_LOCAL"
  | "HOST_DIRTY"
  | "TARGET_MOVED"
  | "CURSOR_EXPIRED"
  | "WORK_CHANGED"
  | "REVISION_CHANGED"
  | "TARGET_BROKEN"
  | "TARGET_NOT_FOUND"
  | "MERGE_NOT_FOUND"
  | "MERGE_HELD"
  | "NOT_MERGED"
  | "BASE_MOVED"
  | "SESSION_NOT_FOUND"
  | "SESSION_OVER"
  | "ROUND_NOT_FOUND"
  | "ROUND_BUSY"
  | "REVIEW_NOT_FOUND"
  | "OPERATION_NOT_FOUND"
  | "SNAPSHOT_NOT_FOUND"
  | "LEASE_LOST"
  | "REMOTE_NOT_FOUND"
  | "REMOTE_ADVANCED"
  | "REMOTE_UNREACHABLE"
  | "PUSH_REJECTED"
  | "HOST_REFUSED"
  | "PULL_REQUEST_NOT_FOUND"
  | "CHECKS_UNTRUSTED"
  | "CHECK_FAILED"
  | "RUN_NOT_FOUND"
  | "CHECK_NOT_FOUND"
  | "FILE_NOT_FOUND"
  | "FILE_HELD_BACK"
  | "UNAUTHENTICATED"
  | "ACCESS_DENIED"
  | "TOKEN_NOT_FOUND"
  | "DAEMON_RUNNING"
  | "DAEMON_UNREACHABLE"
  | "GIT_NOT_FOUND"
  | "GIT_TOO_OLD"
  | "GIT_UNSAFE"
  | "FILTER_REFUSED"
  | "CONFIG_CHANGED"
  | "GIT_TIMEOUT"
  | "FILE_IRREGULAR"
  | "OBJECT_FORGED"
  | "OBJECT_MISSING"
  | "CONFIG_INVALID"
  | "STATE_UNAVAILABLE"
  | "UNSUPPORTED"
  | "CANCELED"
  | "CLOSED"
  | "INTERNAL"
  | (string & {}); // a newer daemon may have more words

/**
 * Collision is two pieces of work that cannot be merged by themselves one after the other: two
 * workspaces, or a workspace and its target. Two workspaces of which one conflicts with the
 * target, where the other changed nothing itself, are none.
 */
export interface Collision {
  /** a workspace */
  a: string;
  /** a workspace; with isTarget, a branch */
  b: string;
  /** of a */
  aId?: ID;
  /** of b */
  bId?: ID;
  /** b is the target of a */
  isTarget?: boolean;
  /** on which they do not agree */
  paths: string[];
  /** absent: the paths say it */
  reason?: Reason;
}

/** CommandSet says which commands of a croft.toml are meant. */
export type CommandSet =
  | "setup"
  | (string & {}); // a newer daemon may have more words

/**
 * commit is a commit of a workspace. Its texts and its times are its author's: any text, and
 * any time.
 */
export interface Commit {
  /** its name: 40 or 64 hexadecimal digits */
  commit: string;
  /** two or more: it is a merge commit */
  parents?: string[];
  /** the first line of its message, up to 500 bytes */
  title: string;
  /** the rest of its message, up to 4,000 bytes */
  message?: string;
  /** its message is longer, or was not read, because the commit has more than 1 MiB */
  cut?: boolean;
  /** up to 200 bytes each */
  author: Author;
  /** absent if it is no time */
  authoredAt?: string;
  committedAt?: string;
  /**
   * changes counts what it changed. It is absent of merge commits, and if counting failed or
   * took more than five seconds for the page.
   */
  changes?: Changes;
  /**
   * merge brought it to the target, and mergeCommit is the commit that the target became.
   * mergeStatus is that of the merge: reverted if it was taken back. They are absent of
   * commits that the target lacks.
   */
  merge?: ID;
  /** merge brought it to the target, and mergeCommit is the commit that the target became */
  mergeCommit?: string;
  /** that of the merge: reverted if it was taken back */
  mergeStatus?: MergeStatus;
}

/**
 * Commits is one page of the commits of a workspace, the newest first: those that its target
 * lacks, and before them those that merges of the workspace brought to the target. Commits
 * that the workspace began with, or took from the target, are not its own.
 */
export interface Commits {
  /** the ID of the workspace */
  workspace: ID;
  /** the name of the workspace */
  workspaceName: string;
  /** what is left of a workspace that was removed */
  left?: TrashLeft;
  /** a branch; absent: the workspace has none */
  target?: string;
  /** the commit that the target was at */
  targetCommit?: string;
  /** the commit that the workspace began with */
  base?: string;
  /** its last commit */
  head?: string;
  items: Commit[];
  /** of all pages */
  total: number;
  /** those of them that the target lacks */
  unmerged: number;
  /** there are more, which no page has: 5,000 are listed */
  cut?: boolean;
  /** for Page.After; empty: there is no further page */
  next?: string;
  /**
   * the work that no commit has; absent if there is none, if only commits are left of the
   * workspace, and on all pages but the first.
   */
  uncommitted?: Uncommitted;
}

/**
 * Condition says in a word what a workspace is like now, so that a person or a program knows
 * whether to act. State is what the record says; a condition is decided from the record, the
 * newest merge, the refs, and the files and commits as far as they were looked at. Of the
 * conditions that apply, the first in the list is the one. A merge that has ended counts only
 * for the commit that it was about: a new commit makes its result void.
 */
export type Condition =
  | "missing"
  | "broken"
  | "making"
  | "unfinished"
  | "merging"
  | "checking"
  | "held"
  | "queued"
  | "waiting"
  | "working"
  | "orphan"
  | "resolving"
  | "conflict"
  | "check-failed"
  | "target-fails"
  | "unapproved"
  | "blocked"
  | "stuck"
  | "not-set-up"
  | "failed"
  | "killed"
  | "dirty"
  | "reverted"
  | "merged"
  | "collides"
  | "to-review"
  | "pending"
  | "ahead"
  | "in-place"
  | "locked"
  | "unseen"
  | "empty"
  | "discarded"
  | "reaped"
  | "undone"
  | "removed"
  | (string & {}); // a newer daemon may have more words

/** ConflictHunk is one place in a file on which two sides do not agree. */
export interface ConflictHunk {
  /** in the file with conflict markers */
  line: number;
  /** the target's */
  ours: string;
  theirs: string;
}

/** ConflictedPath is one path on which two sides do not agree. */
export interface ConflictedPath {
  path: string;
  /** such as "contents" or "modify/delete" */
  kind?: string;
  /** the workspace whose merge brought the other side; of another commit its hash */
  against?: string;
  /** when that was merged, or committed; absent: it is not known */
  at?: string;
  /** the first line of that commit's message, if it is not a merge of Croft's */
  subject?: string;
  hunks?: ConflictHunk[];
}

/** Context says what project the agents of a session work on. */
export type Context =
  | "none";

/** Count says how many workspaces a project has. */
export interface Count {
  /** live ones, those being made included */
  active: number;
}

/**
 * CreateAllRequest asks for several workspaces, all or none. key and repo of the parts are
 * ignored.
 */
export interface CreateAllRequest {
  key?: string;
  repo?: string;
  /** required */
  workspaces: CreateRequest[];
}

/**
 * CreateRequest asks for one workspace. The zero value is a request for a workspace with an
 * invented name, from the branch that is checked out.
 */
export interface CreateRequest {
  /** the same call after a crash returns the same workspace */
  key?: string;
  /** a directory in the project; default: where the Service was opened */
  repo?: string;
  /** default: invented */
  name?: string;
  agent?: string;
  role?: string;
  session?: string;
  label?: string;
  /**
   * the agent's directory, absolute, for layouts that put workspaces there. Default: a new
   * one, whose name says nothing.
   */
  home?: string;
  /** any commit; default: the layout's */
  base?: string;
  /** takes this branch, existing or new; default: a new one by the layout */
  branch?: string;
  /** default: the branch that base names, else the one that is checked out */
  target?: string;
  /** a preset; default: the configuration's */
  layout?: string;
  /** default: by the layout, see auto */
  mode?: Mode;
  roleFiles?: RoleFiles;
  fetch?: Fetch;
  /**
   * recorded with it: at most 64 entries, with keys of up to 63 letters, digits and . _ / -,
   * and values of up to 1,024 bytes.
   */
  meta?: Record<string, string>;
}

/** CreateResult lists workspaces that were made, or would be, in the order of the request. */
export interface CreateResult {
  workspaces: Workspace[];
}

/**
 * Cursor is a place in the stream of events. It is opaque. A Service that lost its state
 * refuses the cursors from before with CURSOR_EXPIRED.
 */
export type Cursor = string;

/** Detail says how much of each file a difference shows. */
export type Detail =
  | "hunks"
  | "stat";

/** DiscardRequest names workspaces whose work is not wanted. */
export interface DiscardRequest {
  key?: string;
  repo?: string;
  workspaces?: string[];
  /** all: every workspace whose work is pending */
  all?: Scope;
  agreed?: Agreed;
  /** answers with what would become of each; the key is not used */
  dryRun?: DryRun;
  /** fails with REVISION_CHANGED if the one workspace that is named is at another revision */
  ifRevision?: number;
}

/** DiscardResult answers for every workspace that was asked for. */
export interface DiscardResult {
  merges: Merge[];
}

/** DoctorRequest asks for an examination. */
export interface DoctorRequest {
  /** the same call mends nothing that broke since */
  key?: string;
  repo?: string;
  fix?: FixMode;
  import?: ImportMode;
  /**
   * the findings, by Seen, that a person was shown and agreed to. With any, all binds no other
   * ones.
   */
  agreed?: string[];
}

/** DoctorResult lists what the doctor found. */
export interface DoctorResult {
  findings: Finding[];
}

/** Drift is a file that was brought into a workspace and differs by now. */
export interface Drift {
  path: string;
  state: DriftState;
}

/** DriftState says how a file that was brought into a workspace differs from what came in. */
export type DriftState =
  | "stale"
  | "edited"
  | "diverged"
  | "missing"
  | "moved"
  | (string & {}); // a newer daemon may have more words

/** DriveRequest chooses the lanes to drive. */
export interface DriveRequest {
  repo?: string;
  /** default: every lane */
  target?: string;
  until?: DriveUntil;
}

/** DriveUntil says when DriveLanes ends. */
export type DriveUntil =
  | "stopped";

/** DryRun says whether something is done or only told. */
export type DryRun =
  | "on";

/**
 * Edit puts lines in the place of others of the old side of a file. Those of a file are in
 * order.
 */
export interface Edit {
  /** the first line that goes, from 1; if none goes, the line after which the others come */
  oldStart: number;
  /** how many lines go */
  oldLines: number;
  /** the lines that come, as UTF-8 */
  text?: string;
  /** the same, if that is not UTF-8 */
  raw?: string;
}

/** Effort says how many pairs a forecast compared by which means, and how long it took. */
export interface Effort {
  /** pairs that were compared */
  pairs: number;
  /** pairs whose result is known from the last forecast */
  remembered: number;
  /** pairs whose changed paths rule a conflict out */
  pruned: number;
  /** pairs that were merged to find out */
  merged: number;
  /** looking at the workspaces */
  reading: string;
  /** comparing their work */
  comparing: string;
}

/** EndMode says what the end of a round does about checkouts that it cannot put away. */
export type EndMode =
  | "force";

/** EndRoundRequest names a round to end. */
export interface EndRoundRequest {
  /** of this round */
  key?: string;
  mode?: EndMode;
}

/** EndSessionRequest names a session to end. */
export interface EndSessionRequest {
  key?: string;
  /** fails with REVISION_CHANGED if the session is at another revision */
  ifRevision?: number;
}

/** Error is the only error type that leaves this module. */
export interface Error {
  code: Code;
  /** what was attempted: "create", "remove" */
  op: string;
  /** its name, if there is one */
  workspace?: string;
  /** one line, lower case, no period */
  message: string;
  /** git's stderr, a path, a list of files */
  details?: string;
  /** a command that the reader can run next */
  hint?: string;
  /** parts of the message for programs; docs/errors.md says which a code has. */
  fields?: Record<string, string>;
}

/**
 * Event is something that happened: a noun and a verb in the past tense, such as
 * "workspace.created". It names its subjects and has the nouns that it changed, so that a
 * program which follows events need not ask.
 */
export interface Event {
  /** where a reader goes on later */
  cursor: Cursor;
  /** when it happened */
  time: string;
  /** what happened */
  kind: EventKind;
  /** who made the change: the user, or "agent in NAME" */
  actor?: string;
  /** the ID of the workspace that the actor stood in */
  actorWorkspace?: ID;
  repo?: ID;
  /** the ID of the workspace */
  workspace?: ID;
  /** the name of the workspace */
  workspaceName?: string;
  merge?: ID;
  session?: ID;
  round?: ID;
  snapshot?: ID;
  review?: ID;
  /** the act of the history that it is a part of */
  operation?: ID;
  lease?: ID;
  /** a branch */
  target?: string;
  /** of a check: what it is a check of; merge is the topmost merge in its tree */
  batch?: ID;
  check?: ID;
  /** absent in events that an earlier version of Croft wrote */
  after?: Nouns;
}

/** The kind of an event: a noun and a verb in the past tense. */
export type EventKind =
  | "workspace.creating"
  | "workspace.created"
  | "workspace.adopted"
  | "workspace.changed"
  | "workspace.forgotten"
  | "workspace.removed"
  | "workspace.locked"
  | "workspace.unlocked"
  | "workspace.reaped"
  | "workspace.rebuilt"
  | "workspace.moved"
  | "workspace.restored"
  | "workspace.saved"
  | "lease.taken"
  | "lease.released"
  | "branch.deleted"
  | "operation.undone"
  | "operation.progressed"
  | "workspace.finished"
  | "workspace.reported"
  | "workspace.left"
  | "run.started"
  | "run.ended"
  | "run.intruded"
  | "workspace.pushed"
  | "pull_request.opened"
  | "pull_request.merged"
  | "pull_request.closed"
  | "pull_request.advanced"
  | "merge.queued"
  | "merge.started"
  | "merge.checking"
  | "merge.held"
  | "merge.released"
  | "merge.merged"
  | "merge.pending"
  | "merge.discarded"
  | "merge.reverted"
  | "merge.canceled"
  | "merge.changed"
  | "check.started"
  | "check.output"
  | "check.ended"
  | "target.moved"
  | "approval.given"
  | "approval.withdrawn"
  | "review.created"
  | "session.started"
  | "session.changed"
  | "session.ended"
  | "round.started"
  | "round.ended"
  | "trash.stripped"
  | "trash.announced"
  | "trash.purged"
  | "trash.reduced"
  | (string & {}); // a newer daemon may have more words

/** Fault says why a workspace is broken, or cannot be used yet. */
export type Fault =
  | "missing"
  | "moved"
  | "unregistered"
  | "taken"
  | "rewinding"
  | (string & {}); // a newer daemon may have more words

/** Fetch says whether the network is used before the base is looked up. */
export type Fetch =
  | "first";

/** FetchPullRequestRequest names a pull request. */
export interface FetchPullRequestRequest {
  repo?: string;
  /** default: origin */
  remote?: string;
}

/** FileContent is a part of a file. */
export interface FileContent {
  /** the ID of the workspace */
  workspace?: ID;
  /** the name of the workspace */
  workspaceName?: string;
  path: string;
  /**
   * "100644"; "100755": can be run; "120000": a link, whose data is where it leads; "160000":
   * a submodule, without data
   */
  mode: string;
  /** the blob's name, or the commit of a submodule */
  object: string;
  /** there is a zero byte near its beginning */
  isBinary?: boolean;
  /** of the whole file */
  size: number;
  /** where data begins */
  offset: number;
  /** where the next part begins; not less than size: there is none */
  next: number;
  /** as a commit has it, after filters and changes of line ends; not to be trusted */
  data?: string;
}

/** FileStatus says what became of a file. */
export type FileStatus =
  | "added"
  | "modified"
  | "deleted"
  | "renamed"
  | "typechange"
  | "mode"
  | (string & {}); // a newer daemon may have more words

/** Finding is something that the doctor noticed. */
export interface Finding {
  /** such as WORKSPACE_MISSING */
  code: string;
  /** a name, a path or a ref */
  subject: string;
  /** one sentence */
  message: string;
  fixed: boolean;
  /** that all mends it, or tried to. */
  canFix?: boolean;
  /** seen stands for what was found, if it can be imported: DoctorRequest.Agreed takes it back. */
  seen?: string;
}

/** FinishRequest says that an agent has ended. */
export interface FinishRequest {
  key?: string;
  repo?: string;
  /** instead of workspace: its lease, which is released */
  lease?: Lease;
  /** default: Succeeded */
  outcome?: Outcome;
  policy?: MergePolicy;
  /** of the commit; default: by the configuration's template */
  message?: string;
  /** fails with REVISION_CHANGED if the workspace is at another revision */
  ifRevision?: number;
}

/** Finished is the end of an agent, as Finish recorded it. */
export interface Finished {
  outcome: Outcome;
  /** the commit that the workspace was left at */
  head?: string;
  at: string;
}

/** FixMode says whether the doctor mends what it can. */
export type FixMode =
  | "all";

/** Forecast says what would happen if the work of all workspaces were merged as it is now. */
export interface Forecast {
  pairs: Collision[];
  /**
   * an order of merging in which few of them meet a conflict, and late. Workspaces that have
   * nothing to merge are not in it.
   */
  order: string[];
  /** the workspaces that could not be read, with the reason. */
  skipped?: Kept[];
  effort: Effort;
}

/** ForecastState says whether the collisions of a workspace are known. */
export type ForecastState =
  | "known"
  | "unknown"
  | (string & {}); // a newer daemon may have more words

/** From says where a stream of events begins if no cursor says so. */
export type From =
  | "now";

/** GCRequest names the project whose upkeep is done. */
export interface GCRequest {
  /** the same call deletes no trash that expired since */
  key?: string;
  repo?: string;
  /**
   * dryRun tells what would be deleted and announced, as far as that is known before: of what
   * would be forgotten, and of a directory that turns out to have to stay, nothing is said.
   */
  dryRun?: DryRun;
}

/** GCResult says what upkeep freed. */
export interface GCResult {
  /** trash that cannot be restored any more */
  purged: ID[];
  /** trash whose directory went; commits and a snapshot are left */
  reduced: ID[];
  /** trash of which directories went that can be made again */
  stripped: ID[];
  bytes: number;
  inodes: number;
  /** recorded, integrated branches without a workspace */
  branches: string[];
  /**
   * those of reduced whose directory was not there when they were removed, nor later: of what
   * was not committed nothing is kept.
   */
  unseen?: ID[];
  /**
   * how many removed workspaces are no longer remembered, because nothing was left of them for
   * a long time.
   */
  forgotten: number;
  /** what is going to be deleted from the trash and has not been announced before. */
  announced: Announcement[];
  /**
   * removed workspaces whose time is over and whose directory stays in the trash, because it
   * has commits that could not be brought to the project.
   */
  kept?: Kept[];
}

/**
 * GitConfig compares a repository's own git configuration with the settings that Croft uses.
 * An agent in one of its checkouts can write that configuration. So Croft reads the settings
 * that decide about commits, the repository's format and its remotes when it first sees the
 * repository, and takes over later changes only if a person accepts them.
 */
export interface GitConfig {
  /** settings that differ from those that Croft uses */
  changes: GitConfigChange[];
  /** programs that are not approved */
  filters: GitConfigChange[];
  /** keys that Croft's git never sees */
  ignored: string[];
  /** of changes and filters; empty if there are none */
  hash: string;
}

/** GitConfigChange is one key of a repository's git configuration. */
export interface GitConfigChange {
  key: string;
  /** the values that Croft uses */
  was?: string[];
  /** the values in the repository */
  now?: string[];
}

/** GoneMode says what is known of a repository that is not there. */
export type GoneMode =
  | "for good";

/** HeldBack is what was not committed of one workspace of a round. */
export interface HeldBack {
  /** the ID of the workspace */
  workspace: ID;
  agent: string;
  label: string;
  /** in the checkout */
  paths: string[];
  /**
   * a directory with copies of the files among them, which only the user of this process can
   * read. No agent is given them.
   */
  archive?: string;
}

/**
 * Hunk is one place in which a file changed. A range of no lines begins after the line that it
 * names.
 */
export interface Hunk {
  /** its number in the file, from 1 */
  id: number;
  /** as in a patch */
  header: string;
  oldStart: number;
  oldLines: number;
  newStart: number;
  newLines: number;
  /** the lines of the patch, as UTF-8 */
  text?: string;
  /** the same as it is in the files, if that is not UTF-8 */
  raw?: string;
}

/**
 * ID names one thing of Croft's for ever: sixteen lower-case letters and digits, drawn at
 * random. It says nothing about what it names.
 */
export type ID = string;

/**
 * ImportMode says what the doctor does about workspaces that git knows and that no record
 * names: the state was lost, with its second copy, or they are another user's.
 */
export type ImportMode =
  | "show"
  | "all";

/** Intrusion is a change outside of a workspace while its agent ran. */
export interface Intrusion {
  what: IntrusionKind;
  /** the ref, or the path in the project's own checkout */
  name?: string;
  before?: string;
  after?: string;
  /** in words */
  message: string;
  /** when it was seen */
  at: string;
}

/** IntrusionKind is what was changed. */
export type IntrusionKind =
  | "head"
  | "branch"
  | "file"
  | (string & {}); // a newer daemon may have more words

/** Kept is one workspace that was left, with the reason. */
export interface Kept {
  /** its name for ever */
  id?: ID;
  name: string;
  /** why it was left */
  reason: Error | null;
}

/** KeptBranch is a branch that was made of work that only Croft kept. */
export interface KeptBranch {
  branch: string;
  commit: string;
  /** of the workspace whose work it is */
  name: string;
}

/** KeptRepo is a repository that nothing was done to, with the reason. */
export interface KeptRepo {
  path: string;
  reason: Error | null;
}

/** Lane is the state of a target branch and of its lane. */
export interface Lane {
  /** the ID of its project */
  repoId?: ID;
  /** a branch */
  target: string;
  /** the commit that it is at */
  tip: string;
  /**
   * the commit that the lane left the branch at, or that a person accepted. If it is not tip,
   * the branch moved outside of its lane: by a person, or an agent that can write the
   * repository's refs.
   */
  known: string;
  /** how many commits others added since */
  added: number;
  /** how many commits of known it does not have any more */
  gone: number;
  /** known is not in the repository any more, so that nothing can be counted */
  lost?: boolean;
  /** the same in a sentence; empty if only the lane moved it */
  message?: string;
  /** the last commits that others added, the last one first */
  commits?: LaneCommit[];
  /** merge.protect: nothing is merged into it until that was accepted */
  protect?: boolean;
  /** why the branch, or its croft.toml, could not be read; message says it, too */
  reason?: Code;
  /** what to do about that */
  hint?: string;
}

/** LaneCommit is a commit that did not come through a lane. */
export interface LaneCommit {
  commit: string;
  author: string;
  subject: string;
}

/** List is one page of a list. */
export interface LaneList {
  items: Lane[];
  /**
   * for Page.After, to ask for the page that follows; empty: there is none. It is opaque. If
   * the item that it stands for has left a list whose order is not that of time, the request
   * for the page fails with CURSOR_EXPIRED.
   */
  next?: string;
  /**
   * the place in the stream of events that the list reflects: it has what the events up to
   * there changed, and may have what later ones did. Of several pages the cursor of the first
   * is the one to follow from. It is empty if no events tell of the items.
   */
  cursor?: Cursor;
  /**
   * the items, those included that a filter left out, that were not or not wholly looked at in
   * the time that the request gave: their conditions may be others.
   */
  unseen?: ID[];
}

/** Lease says that a process is at work in a workspace. It expires unless it is renewed. */
export interface Lease {
  /** its name for ever */
  id: ID;
  /** the ID of the workspace */
  workspace: ID;
  /** the process that is at work */
  owner: Owner;
  /** "process": as long as its owner lives, whatever expiresAt says */
  term?: LeaseTerm;
  /** "exclusive": the workspace has no other lease beside it */
  mode?: LeaseMode;
  /** epoch counts the exclusive leases that the workspace has had. One before the last is lost. */
  epoch?: number;
  /** from its taking or a renewal to expiresAt */
  ttl?: string;
  /** unless it is renewed */
  expiresAt: string;
  /** the name of the owner's program, which chose it, where that can be seen */
  process?: string;
}

/** LeaseMode says whether a workspace may have other leases beside a lease. */
export type LeaseMode =
  | "exclusive"
  | (string & {}); // a newer daemon may have more words

/** LeaseRequest asks for a lease. */
export interface LeaseRequest {
  /** the same call after a crash returns the same lease */
  key?: string;
  repo?: string;
  /**
   * owner will hold the lease. Default: the process of the Service. A PID without a Host is
   * one that the Service can see; with a Host it may be elsewhere: then the ttl alone counts.
   */
  owner?: Owner;
  /** at least a second. Default and maximum: lease.ttl, lease.max_ttl */
  ttl?: string;
  mode?: LeaseMode;
  term?: LeaseTerm;
}

/** LeaseTerm says how long a lease lasts. */
export type LeaseTerm =
  | "process"
  | (string & {}); // a newer daemon may have more words

/** Left is something that stays, because it is work or not Croft's. */
export interface Left {
  kind: LeftKind;
  path: string;
  /** what is to be known of it, and hint is the command for that. */
  remark?: string;
  /** remark says what is to be known of it, and hint is the command for that */
  hint?: string;
}

/** LeftKind says what something is that Croft leaves behind. */
export type LeftKind =
  | "trash"
  | "secrets"
  | "archive"
  | "home"
  | "history"
  | "originals"
  | "unseen"
  | "unknown"
  | (string & {}); // a newer daemon may have more words

/** LockRequest asks to lock or unlock a workspace. */
export interface LockRequest {
  /** the same call does not lock what was unlocked since */
  key?: string;
  repo?: string;
  reason?: string;
  /** fails with REVISION_CHANGED if the workspace is at another revision */
  ifRevision?: number;
}

/** MadeBy says how the files of a workspace came into its directory. */
export type MadeBy =
  | "git"
  | "pool"
  | "copy"
  | (string & {}); // a newer daemon may have more words

/** Maker says who made a workspace. */
export type Maker =
  | "caller";

/**
 * Merge is one piece of work on its way to a target branch. A merge that could not be carried
 * out is a result, not an error: its status is pending, and reason says why.
 */
export interface Merge {
  /** its name for ever */
  id: ID;
  kind: MergeKind;
  /** the ID of its project */
  repoId?: ID;
  /** counts its changes, for IfRevision */
  revision?: number;
  /** the ID of the workspace */
  workspace?: ID;
  /** the name of the workspace */
  workspaceName: string;
  /** a branch */
  target: string;
  strategy?: Strategy;
  state: MergeState;
  /** empty once it is done: there was nothing to merge */
  status: MergeStatus | "";
  /** the commit that is merged */
  head?: string;
  /** the target's commit after the merge */
  commit?: string;
  /** why it stays pending */
  reason?: Code;
  /** the reason in a sentence */
  message?: string;
  /** git's output, a path, a list of files */
  details?: string;
  /** a command that the reader can run next */
  hint?: string;
  /**
   * what came of the work of a merge that stayed pending. It is in lists of all merges only;
   * absent: it is still pending.
   */
  became?: Became;
  conflicts?: ConflictedPath[];
  checks?: Check[];
  /** what its lane tried, the last ones */
  attempts?: Attempt[];
  /** the command of the check that runs now, while state is checking */
  check?: string;
  /** of a revert: how many merges came after the one that it reverts */
  later?: number;
  /** of a revert: the merge that it reverts */
  reverts?: ID;
  /** of an apply: the review that it is a part of */
  review?: ID;
  /** the higher goes first */
  priority?: number;
  /** it waits until it is released */
  held?: boolean;
  /** by whom and why it is held; absent if an earlier version of Croft held it */
  hold?: MergeHold;
  /** how the target had moved outside of its lane, before this was published */
  moved?: string;
  /**
   * files that were not committed, because they look like secrets, are large, are
   * repositories, or were hidden from git
   */
  heldBack?: string[];
  /** why the workspace was not put away after the merge */
  kept?: Error;
  /** who submitted it: the user, or "agent in NAME" */
  actor?: string;
  /** when it was submitted */
  submittedAt: string;
  /** when it ended; absent before */
  endedAt?: string;
  /** the workspace that the actor's working directory was in, if any. */
  actorWorkspace?: ID;
}

/** MergeHold says who holds a merge, and why. */
export interface MergeHold {
  reason?: string;
  actor: string;
  /** the ID of the workspace that the actor stood in */
  actorWorkspace?: ID;
  at: string;
}

/** MergeKind says what a merge brings to its target. */
export type MergeKind =
  | "merge"
  | "revert"
  | "apply"
  | (string & {}); // a newer daemon may have more words

/** List is one page of a list. */
export interface MergeList {
  items: Merge[];
  /**
   * for Page.After, to ask for the page that follows; empty: there is none. It is opaque. If
   * the item that it stands for has left a list whose order is not that of time, the request
   * for the page fails with CURSOR_EXPIRED.
   */
  next?: string;
  /**
   * the place in the stream of events that the list reflects: it has what the events up to
   * there changed, and may have what later ones did. Of several pages the cursor of the first
   * is the one to follow from. It is empty if no events tell of the items.
   */
  cursor?: Cursor;
  /**
   * the items, those included that a filter left out, that were not or not wholly looked at in
   * the time that the request gave: their conditions may be others.
   */
  unseen?: ID[];
}

/** MergePolicy says whether finishing means merging. */
export type MergePolicy =
  | "merge"
  | "keep"
  | (string & {}); // a newer daemon may have more words

/** MergeRequest submits the work of a workspace to a lane. */
export interface MergeRequest {
  key?: string;
  repo?: string;
  /** default: the workspace's */
  target?: string;
  /** default: the configuration's at the target */
  strategy?: Strategy;
  /** of the merge commit; default: by template */
  message?: string;
  priority?: number;
  after?: AfterMerge;
  /**
   * the commit that the caller has seen, and review the review. If the work is another one by
   * now, the request fails with WORK_CHANGED, and nothing is committed or submitted. A
   * workspace with uncommitted work is at no commit.
   */
  head?: string;
  /** head is the commit that the caller has seen, and review the review */
  review?: ID;
  /** fails with REVISION_CHANGED if the workspace is at another revision */
  ifRevision?: number;
}

/** MergeState says how far a merge has come in its lane. */
export type MergeState =
  | "queued"
  | "merging"
  | "checking"
  | "done"
  | (string & {}); // a newer daemon may have more words

/**
 * MergeStatus says what became of a workspace's work. The empty status means that it was never
 * submitted, and is null in JSON.
 */
export type MergeStatus =
  | "pending"
  | "merged"
  | "discarded"
  | "reverted"
  | (string & {}); // a newer daemon may have more words

/** Mode says how a workspace is kept apart from the project. */
export type Mode =
  | "auto"
  | "worktree"
  | "isolated"
  | "legacy"
  | (string & {}); // a newer daemon may have more words

/**
 * Mount is a directory or a file of this machine in a container. In a sandbox it has the same
 * path as outside.
 */
export interface Mount {
  source: string;
  target: string;
  readOnly: boolean;
  file?: boolean;
}

/** MountPlace says what mounts are for. */
export type MountPlace =
  | "sandbox";

/**
 * mounts has the mounts and the variables that a container needs to work in a workspace. git
 * works there as it does outside, but the parts of the repository that decide which programs
 * git runs are read-only there, and so are the registrations of other worktrees. In a sandbox,
 * mounts are what has to be written for a commit, and what in it must not be written because
 * git outside obeys it; the latter may not be there yet.
 */
export interface Mounts {
  /** the ID of the workspace */
  workspace: ID;
  /** the workspace in the container, and its working directory */
  workdir: string;
  /** in an order in which they can be made */
  mounts: Mount[];
  /** variables that a process there needs */
  env: Record<string, string>;
  /** what will not work there */
  notes?: string[];
}

/** Next is the step that a workspace waits for. */
export interface Next {
  /** why it waits for that, or its condition, for people */
  what: string;
  action: Action;
  /** the same as a command line of croft */
  command?: string;
}

/**
 * Nouns are the subjects of an event after the change, as they are recorded: an event runs no
 * git, so that what is only looked up (Env, whether a workspace is broken) is not in it. The
 * head of a workspace is as the last act that committed left it, or as a Service that looks by
 * itself has seen it. Work is in the events of an act that looked at the files. A list looks
 * and tells nothing. Apply one after the other, or let the package replica do that.
 */
export interface Nouns {
  workspace?: Workspace;
  merge?: Merge;
  session?: Session;
  /** without its workspaces */
  round?: Round;
  snapshot?: Snapshot;
  /** without its files */
  review?: Review;
  lane?: Lane;
  check?: Check;
  approval?: Approval;
  progress?: Progress;
  /** what a check printed since the last event of this kind. */
  output?: CheckOutput;
}

/** Operation is one act in the history, which can be undone. */
export interface Operation {
  /** its name for ever */
  id: ID;
  /** create, remove, restore, undo, … */
  kind: string;
  /** the ID of its project */
  repoId?: ID;
  /** the workspace concerned; absent if there are several */
  workspace?: ID;
  /** the names of all that are concerned, with spaces between */
  workspaceName?: string;
  /** all that are concerned */
  workspaces?: ID[];
  /** the user, or "agent in NAME" */
  actor: string;
  /** running, done, undone */
  state: string;
  /** when it began */
  startedAt: string;
  /** Undo would undo it */
  undoable: boolean;
  /** the operation that this one undid */
  undoes?: ID;
  /**
   * the branch that a merge or a revert moved, and commit where it was after that; absent for
   * other acts, and commit for one that merged several times. reverted: a revert has taken it
   * out of the target again since.
   */
  target?: string;
  /**
   * target is the branch that a merge or a revert moved, and commit where it was after that;
   * absent for other acts, and commit for one that merged several times
   */
  commit?: string;
  /** a revert has taken it out of the target again since */
  reverted?: boolean;
  /** the workspace that the actor's working directory was in, if any. */
  actorWorkspace?: ID;
  /** remarks of an undo, such as parts that it could not restore. They are not recorded. */
  notes?: string[];
}

/** List is one page of a list. */
export interface OperationList {
  items: Operation[];
  /**
   * for Page.After, to ask for the page that follows; empty: there is none. It is opaque. If
   * the item that it stands for has left a list whose order is not that of time, the request
   * for the page fails with CURSOR_EXPIRED.
   */
  next?: string;
  /**
   * the place in the stream of events that the list reflects: it has what the events up to
   * there changed, and may have what later ones did. Of several pages the cursor of the first
   * is the one to follow from. It is empty if no events tell of the items.
   */
  cursor?: Cursor;
  /**
   * the items, those included that a filter left out, that were not or not wholly looked at in
   * the time that the request gave: their conditions may be others.
   */
  unseen?: ID[];
}

/** Outcome says how an agent ended. */
export type Outcome =
  | "succeeded"
  | "failed"
  | "killed"
  | (string & {}); // a newer daemon may have more words

/** Owner identifies the process that holds a lease, also once its number is another's. */
export interface Owner {
  /** the machine */
  host: string;
  /** its start, so that a reboot is noticed */
  boot?: string;
  /** the process namespace, so that a container is noticed */
  space?: string;
  /** the number of the process */
  pid: number;
  /** the process's start, as the kernel tells it */
  start?: string;
}

/** PlanProvisionRequest asks what would be done to make a workspace usable. */
export interface PlanProvisionRequest {
  repo?: string;
  /** default: a workspace that would be made now */
  workspace?: string;
}

/** Pool is what a project has in stock. */
export interface Pool {
  /** how many checkouts are wanted; 0: none */
  size: number;
  /** the directory with them */
  path: string;
  /** those that can be handed out or copied */
  spares: Spare[];
  /**
   * of directories that provisioning copies into each new workspace. They come in by a rename
   * as long as nothing in the project's directory has changed.
   */
  copies?: SpareCopy[];
  /** why there are not more, if that is known */
  why?: string;
  /** a process is making some */
  busy?: boolean;
}

/** PoolAct says what is done with a pool. */
export type PoolAct =
  | "top-up"
  | "empty";

/** port is a TCP port that is a workspace's own. */
export interface Port {
  /** what for, by the configuration */
  name?: string;
  port: number;
}

/** PortsMode says what becomes of a workspace's ports. */
export type PortsMode =
  | "move";

/** PresentRequest asks for the workspace in which a session's result is finished. */
export interface PresentRequest {
  /** of this session */
  key?: string;
  /** an agent, or the ID of one of its workspaces */
  winner: string;
  /** of several; default: the first */
  repo?: string;
  mode?: Mode;
  /** absolute; where it lies, with everybody's archives. Default: one that Croft makes */
  home?: string;
}

/**
 * Problem is the body of an answer to a request that failed: a problem by RFC 9457 that has
 * all that a croft.Error has.
 */
export interface Problem {
  /** a page about the code */
  type: string;
  /** the code in words */
  title: string;
  /** of HTTP */
  status: number;
  /** the message */
  detail: string;
  code: Code;
  /** what was attempted: "create", "remove" */
  op: string;
  /** its name, if there is one */
  workspace?: string;
  /** one line, lower case, no period */
  message: string;
  /** git's stderr, a path, a list of files */
  details?: string;
  /** a command that the reader can run next */
  hint?: string;
  /** parts of the message for programs; docs/errors.md says which a code has. */
  fields?: Record<string, string>;
}

/**
 * Progress says how far a long act has come. It is told of acts that take more than a second,
 * at most twice a second, and is recorded in no list. CreateAll, Remove, Discard, Clean, Reap
 * and GC tell it.
 */
export interface Progress {
  /** as in the history; the act of GC is not listed there */
  operation: ID;
  /** of the operation, or "gc" */
  kind: string;
  /** how many units are done */
  done: number;
  /** how many there are; absent: not known */
  total?: number;
  /** what is counted, in the plural */
  unit: string;
  /** the act has ended, whatever came of it; one whose process died does not say so */
  over?: boolean;
}

/**
 * Prompt is what an agent may be told about its checkout. Nothing in it says which agent it
 * is.
 */
export interface Prompt {
  branch: string;
  /**
   * the newest branch of every other agent, by its label, be it of this round, of an earlier
   * one or of a later one.
   */
  others: Record<string, string>;
  /**
   * what else is still there of the session, by label. text shows both without saying what was
   * the agent's own.
   */
  earlier?: Record<string, string>;
  /** the agent's checkouts of the session's other repositories. */
  elsewhere?: PromptCheckout[];
  scratch?: string;
  archive?: string;
  /**
   * heldBack names the files that were left in earlier rounds and not committed, by label and
   * round.
   */
  heldBack?: Record<string, string[]>;
  /** a section for a system prompt */
  text: string;
  /** the same for an agent that is started again */
  restart: string;
}

/** PromptCheckout is what an agent may be told about its checkout of another repository. */
export interface PromptCheckout {
  path: string;
  branch: string;
  others: Record<string, string>;
  earlier?: Record<string, string>;
}

/** Provision is what was done to make a workspace usable. */
export interface Provision {
  state: ProvisionState;
  /** a few words about state, unless it is ready */
  why?: string;
  paths?: ProvisionedPath[];
  steps?: ProvisionedStep[];
  /** the commands and variables that nobody has approved. hash is theirs: Approve takes it. */
  unapproved?: string[];
  /** theirs: Approve takes it */
  hash?: string;
  /**
   * how many files the call brought in or renewed, and ran how many commands it ran, in the
   * answer of Provision.
   */
  brought?: number;
  /**
   * brought is how many files the call brought in or renewed, and ran how many commands it
   * ran, in the answer of Provision
   */
  ran?: number;
  /**
   * the files that were brought in and differ by now, in the answers of Provision and
   * PlanProvision. driftLeft is how many more there are than it names.
   */
  drift?: Drift[];
  /** how many more there are than it names */
  driftLeft?: number;
}

/** ProvisionHow says how a path of the project comes into a workspace. */
export type ProvisionHow =
  | "copy"
  | "clone"
  | "link"
  | "install"
  | "skip"
  | "checkout"
  | (string & {}); // a newer daemon may have more words

/** ProvisionItem is a part of a file that asks for something. */
export interface ProvisionItem {
  /** the file, and the line: croft.toml:12 */
  source: string;
  /** such as path node_modules, or step deps */
  what: string;
  /** what it does here */
  does: string;
  /** why that is not what it asks for */
  why?: string;
}

/** ProvisionMode says what Provision does. */
export type ProvisionMode =
  | "again"
  | "refresh"
  | "commands";

/** ProvisionPlan says what would be done to make a workspace usable, and what asks for it. */
export interface ProvisionPlan {
  /** its name; empty for one that would be made now */
  workspace?: string;
  /** whose files were read */
  commit: string;
  /** as it would be found: steps that would run are pending */
  provision: Provision;
  /** in the order in which they are done */
  items: ProvisionItem[];
  /** what has no effect, and why */
  remarks?: string[];
}

/** ProvisionRequest sets a workspace up. */
export interface ProvisionRequest {
  key?: string;
  repo?: string;
  /** only these; default: all */
  steps?: string[];
  mode?: ProvisionMode;
}

/**
 * ProvisionState says how far a workspace was set up: whether the files, dependencies and
 * services that its configuration asks for are there.
 */
export type ProvisionState =
  | "ready"
  | "pending"
  | "unapproved"
  | "failed"
  | (string & {}); // a newer daemon may have more words

/**
 * ProvisionedPath is what became of a path that the configuration, or .worktreeinclude, brings
 * in.
 */
export interface ProvisionedPath {
  /** as it was configured; .worktreeinclude stands for all that this file selects */
  path: string;
  /** what was asked for */
  wanted: ProvisionHow;
  /** what was done */
  how: ProvisionHow;
  /** why that is not what was asked for */
  why?: string;
  /** files and links that came in */
  files?: number;
  /** their size */
  bytes?: number;
  /** how many of files had been copied before, and came in by a rename; see Pool. */
  fromPool?: number;
  skipped?: Skipped[];
  /** how many more were skipped than skipped names */
  left?: number;
}

/** ProvisionedStep is what became of a command that sets a workspace up, or of a probe. */
export interface ProvisionedStep {
  /** of a probe: probe-1 and so on */
  name: string;
  run: string;
  state: StepState;
  /** why it failed */
  why?: string;
  /** the end of what it printed, if it failed */
  tail?: string;
  /** the file with all of it */
  log?: string;
  /** the digest of its key files when it succeeded */
  key?: string;
  /** when it ended */
  at?: string;
  took?: string;
}

/** PullRequest is the pull request of a workspace, as its host last told of it. */
export interface PullRequest {
  number: number;
  url: string;
  state: PullRequestState;
  /** the branch that it goes to */
  base: string;
  /** the commit that it is about; of a merged one, that which was merged */
  head?: string;
  /** the commit of the base by which it was merged, if the host names one. */
  mergeCommit?: string;
  /**
   * how it was seen that the base has the whole content of head: ancestor, merge, patches or
   * squash. Without one a merged pull request does not count as integrated.
   */
  proof?: string;
  /** when the host told */
  at: string;
}

/** PullRequestHead is a pull request whose commits are in the repository. */
export interface PullRequestHead {
  number: number;
  commit: string;
  /** the branch that it goes to; empty: no tool of its host is installed that says it */
  base?: string;
  /** its author's words: show them as text */
  title?: string;
  url?: string;
}

/** PullRequestMode says whether a push opens a pull request. */
export type PullRequestMode =
  | "open";

/** PullRequestState says what became of a pull request. */
export type PullRequestState =
  | "open"
  | "merged"
  | "closed"
  | "advanced"
  | (string & {}); // a newer daemon may have more words

/** Push is what was last pushed of a workspace. */
export interface Push {
  /** the name of the remote */
  remote: string;
  /** its address, without a password */
  url: string;
  /** there, without refs/heads/ */
  branch: string;
  /** empty: a push was begun and nobody knows yet how it ended */
  commit?: string;
  at: string;
}

/** PushOutcome says what a push did at the remote. */
export type PushOutcome =
  | "created"
  | "up-to-date"
  | "fast-forward"
  | "rewritten"
  | "recreated"
  | "merged"
  | (string & {}); // a newer daemon may have more words

/** PushRequest names the workspace whose work is pushed. */
export interface PushRequest {
  repo?: string;
  /** default: that of the last push, else origin, else the only one */
  remote?: string;
  /** of the commit of uncommitted work; default: by the configuration's template */
  message?: string;
  pullRequest?: PullRequestMode;
  /** of the pull request; default: from the commits, or as it is there */
  title?: string;
  /** likewise */
  body?: string;
  /** with open */
  queue?: QueueMode;
}

/** Pushed answers for a push, or for a look at one. */
export interface Pushed {
  /** the ID of its project */
  repoId?: ID;
  /** the ID of the workspace */
  workspace: ID;
  /** the name of the workspace */
  workspaceName: string;
  /** absent if nothing was to be pushed */
  outcome?: PushOutcome;
  push?: Push;
  pullRequest?: PullRequest;
  /**
   * the page of the host where a person opens the pull request, if no tool of the host is
   * installed.
   */
  compare?: string;
  remarks?: string[];
  /** files that were not committed, so they were not pushed */
  heldBack?: string[];
}

/** Question is what an agent asked and waits for. Its text is the agent's: show it as text. */
export interface Question {
  text: string;
  since: string;
}

/** QueueAction is a change of merges that wait in a lane. */
export type QueueAction =
  | "hold"
  | "release"
  | "cancel"
  | "first";

/** QueueMode says whether a pull request is handed to the merge queue of its host. */
export type QueueMode =
  | "join";

/** QueueRequest changes merges that wait in a lane. */
export interface QueueRequest {
  /** the same call changes no merge that was submitted since */
  key?: string;
  repo?: string;
  action: QueueAction;
  /** IDs or names of workspaces; default: all that wait */
  merges?: string[];
  target?: string;
  /** of hold: why, one line of at most 200 bytes; holding again replaces it */
  reason?: string;
  /** answers with the merges that would be changed, as they are */
  dryRun?: DryRun;
  /** fails with REVISION_CHANGED if the one merge that is named is at another revision */
  ifRevision?: number;
}

/** QueueResult lists the merges that a call drove or changed. */
export interface QueueResult {
  merges: Merge[];
}

/**
 * ReapRequest asks for the removal of orphans: workspaces whose lease expired and whose owner
 * is provably gone, or whose agent Croft ran and lost.
 */
export interface ReapRequest {
  /** the same call removes nothing that was orphaned since */
  key?: string;
  repo?: string;
  /**
   * olderThan, if positive, also takes idle workspaces of that age that nobody leased and
   * whose commits are in their target.
   */
  olderThan?: string;
  /**
   * mode force takes those with uncommitted work, or with commits that are nowhere else, too.
   * One whose directory is not found stays.
   */
  mode?: RemoveMode;
  /** dryRun lists without removing. */
  dryRun?: DryRun;
  agreed?: Agreed;
}

/** Reason says why two pieces of work collide, if not in files. */
export type Reason =
  | "unrelated"
  | "unmergeable"
  | (string & {}); // a newer daemon may have more words

/** RecordRunRequest tells of a run: of its process, that it goes on, or of its end. */
export interface RecordRunRequest {
  repo?: string;
  /** the first process of the agent, of which a PID is enough. It takes the lease. */
  process?: Owner;
  /** the process that waits for the agent from now on. */
  supervisor?: Owner;
  /** end ends the run, with status unless it is lost. */
  end?: RunEnd;
  /** end ends the run, with status unless it is lost */
  status?: number;
  /**
   * what became of the work of a run that has ended, and why, with failed, why it could not be
   * finished.
   */
  work?: RunWork;
  /**
   * work says what became of the work of a run that has ended, and why, with failed, why it
   * could not be finished
   */
  why?: string;
}

/** RefreshPushRequest names the workspace whose pull request is asked for. */
export interface RefreshPushRequest {
  repo?: string;
}

/** ReleaseRequest names a lease to end. */
export interface ReleaseRequest {
}

/** Released names a lease that has ended. */
export interface Released {
  lease: ID;
}

/** RemoveMode says what a removal does about what protects a workspace. */
export type RemoveMode =
  | "force";

/** RemoveRequest names workspaces to move to the trash. */
export interface RemoveRequest {
  /** the same call after a crash removes nothing that was made since */
  key?: string;
  repo?: string;
  /** names, IDs or paths */
  workspaces?: string[];
  /** instead of workspaces */
  all?: Scope;
  mode?: RemoveMode;
  branch?: BranchMode;
  agreed?: Agreed;
  /** lists without removing */
  dryRun?: DryRun;
  /** fails with REVISION_CHANGED if the one workspace that is named is at another revision */
  ifRevision?: number;
}

/** RemoveResult answers for every name that was asked for. */
export interface RemoveResult {
  removed: Removed[];
  kept?: Kept[];
  /** already gone, or never there */
  unknown?: string[];
}

/** Removed is one workspace that was removed. */
export interface Removed {
  /** its name for ever */
  id?: ID;
  name: string;
  /** under this id it lies in the trash; absent if there was nothing to keep */
  trash: ID;
  /** the branch that was deleted */
  branch?: string;
  /** sentences about what was left undone, such as commands that failed. */
  notes?: string[];
}

/** RenewRequest names a lease to prolong. */
export interface RenewRequest {
}

/** Repo is the project that workspaces are made from. */
export interface Repo {
  /** its name for ever */
  id: ID;
  /** the main checkout, or the bare repository */
  path: string;
  /** the last part of path, without .git */
  name: string;
  /** git's common directory; absent for a plain directory */
  gitDir?: string;
  /** the branch that is checked out; empty when HEAD is detached */
  branch: string;
  /** the commit that is checked out; absent in an empty repository */
  head?: string;
  isBare: boolean;
  /**
   * it is not at its path, or cannot be read there, and what is asked for by its id fails. It
   * was moved, deleted, or its drive is not mounted; problem says what is known.
   */
  isMissing?: boolean;
  /** It was moved, deleted, or its drive is not mounted; problem says what is known */
  problem?: string;
  gitVersion?: string;
}

/** List is one page of a list. */
export interface RepoList {
  items: Repo[];
  /**
   * for Page.After, to ask for the page that follows; empty: there is none. It is opaque. If
   * the item that it stands for has left a list whose order is not that of time, the request
   * for the page fails with CURSOR_EXPIRED.
   */
  next?: string;
  /**
   * the place in the stream of events that the list reflects: it has what the events up to
   * there changed, and may have what later ones did. Of several pages the cursor of the first
   * is the one to follow from. It is empty if no events tell of the items.
   */
  cursor?: Cursor;
  /**
   * the items, those included that a filter left out, that were not or not wholly looked at in
   * the time that the request gave: their conditions may be others.
   */
  unseen?: ID[];
}

/** ReportRequest tells what the agent of a workspace does. */
export interface ReportRequest {
  repo?: string;
  /** required; not unknown */
  state: AgentState;
  /** with waiting; default: answer */
  waitingFor?: AgentNeed;
  /** at most MaxNote bytes */
  note?: string;
  /** default: "report" */
  source?: string;
  /**
   * the agent's own name for its session, of at most 128 bytes. News of a session that came
   * before the present one are dropped, unless the present one has ended.
   */
  agentSession?: string;
  /** whether the session begins with the report, or leaves the workspace with it. */
  turn?: SessionTurn;
  /**
   * the agent's: once it has ended, so has the agent, whatever it said last. Only PID is
   * required, if it runs where the Service does.
   */
  process?: Owner;
  /**
   * when it was so, if the report comes late; default: now. News from before the last ones are
   * dropped.
   */
  at?: string;
}

/**
 * Resolution lists the conflicts that are left after Resolve has brought the target into a
 * workspace.
 */
export interface Resolution {
  /** in which the conflicts are */
  workspace: Workspace;
  /** a branch */
  target: string;
  /** of the target */
  commit: string;
  /** empty: it went in cleanly */
  conflicts?: ConflictedPath[];
  /** files that were not committed before; see Merge */
  heldBack?: string[];
}

/** RestoreMode says whether a restoration needs the directory in the trash. */
export type RestoreMode =
  | "commits";

/** RestoreRequest names a removed workspace or a snapshot to restore. */
export interface RestoreRequest {
  /** the same call after a crash returns the same workspace */
  key?: string;
  repo?: string;
  /** mode commits does without a directory that cannot be found. */
  mode?: RestoreMode;
}

/**
 * Retention says how many branches of ended rounds an agent has in a session, beside the one
 * that it works on: "one", "all", or a number. A branch that goes is archived; its workspace
 * can be restored from the trash.
 */
export type Retention = string;

/** RevertPlan lists the conflicts that a revert would have, and counts the later merges. */
export interface RevertPlan {
  merge: Merge;
  /** the branch that it would be reverted on */
  branch: string;
  /** the commit that the branch is at */
  target: string;
  /** how many merges came after it */
  later: number;
  /**
   * the workspaces whose merges came after it, the first first, each once. Of at most 50
   * merges they are named.
   */
  laterNames?: string[];
  conflicts?: ConflictedPath[];
}

/** RevertRequest names a merge to revert. */
export interface RevertRequest {
  /** the same call after a crash returns the same revert */
  key?: string;
  repo?: string;
  merge?: ID;
  /** instead of merge: a workspace's name, a merge's ID or its commit */
  ref?: string;
  /** a commit: fails with TARGET_MOVED if the branch is not at it */
  target?: string;
  /** default: like git's */
  message?: string;
}

/**
 * Review is the work of a workspace at one moment, uncommitted work included, measured from
 * where it left its target. It is frozen: that the agent goes on working, or that the target
 * moves, does not change it. It is kept as long as the trash.
 */
export interface Review {
  /** empty in the answer of Diff, which keeps nothing, unless it is of a review */
  id?: ID;
  /** the ID of its project */
  repoId?: ID;
  /** the ID of the workspace */
  workspace: ID;
  /** the name of the workspace */
  workspaceName: string;
  /** in the answer of Diff: the merge whose work it is */
  merge?: ID;
  /**
   * in the answer of Diff: what is left of a workspace that was removed; only of a directory,
   * uncommitted work is shown
   */
  left?: TrashLeft;
  /** a branch; empty: the workspace has none */
  target: string;
  /** the commit that the target was at */
  targetCommit: string;
  /** the commit that the work is measured from */
  base: string;
  /** a commit of the work; in the answer of Diff only if all of it is committed */
  head?: string;
  /** by their paths; of a page, those on it */
  files: ReviewFile[];
  /** of all pages */
  total: Changes;
  /** in the answer of Diff: for Page.After; empty: there is no further page */
  next?: string;
  /**
   * files that are left out, because they look like secrets, are large, are repositories, or
   * git was told not to look at them
   */
  heldBack?: string[];
  /** when it was made */
  createdAt: string;
}

/**
 * ReviewFile is one file in which the work differs from its base. A path is as git has it,
 * with slashes. One that is not UTF-8, or that begins with a double quote, is written as git
 * quotes it: in double quotes, with octal numbers for bytes. So every path survives JSON.
 */
export interface ReviewFile {
  path: string;
  /** of a file that was renamed */
  oldPath?: string;
  status: FileStatus;
  /** such as "100644"; empty where there was nothing */
  oldMode?: string;
  newMode?: string;
  /** the blob's name, or the commit of a submodule */
  oldObject?: string;
  newObject?: string;
  isBinary?: boolean;
  /** the bytes of a file that is too large for its lines to be compared; isBinary then, too */
  notShown?: number;
  isSubmodule?: boolean;
  /** lines */
  added: number;
  deleted: number;
  /** none where the file changes only as a whole */
  hunks?: Hunk[];
  /** hunks of it are without their lines, or left out: they do not fit on a page */
  cut?: boolean;
}

/** ReviewRequest names a workspace whose work is to be reviewed. */
export interface ReviewRequest {
  key?: string;
  repo?: string;
  target?: string;
  /** hidden leaves out what was applied before and is still in the target. */
  applied?: Applied;
  /** how much of each file the answer has. Diff shows the rest. */
  detail?: Detail;
}

/** Role is a named configuration that is copied into workspaces. */
export interface Role {
  name: string;
  /** where its files lie */
  dir: string;
  /** their names; none: the role is not there */
  files: string[];
  /**
   * the snapshot of the workspace from before its changed role files were replaced, if any
   * were.
   */
  snapshot?: ID;
}

/** RoleFiles says what is done with a role's configuration files. */
export type RoleFiles =
  | "skip";

/** RoleMode says what copying a role does about files that were changed in the workspace. */
export type RoleMode =
  | "replace";

/** RoleRequest names a role, and for copying the workspace that gets it. */
export interface RoleRequest {
  /** for copying */
  key?: string;
  repo?: string;
  /** default for copying: the workspace's own */
  role?: string;
  /** a name, an ID or a path */
  workspace?: string;
  /** for copying */
  mode?: RoleMode;
  /** fails with REVISION_CHANGED if the workspace is at another revision */
  ifRevision?: number;
}

/** Round is one turn of agents, each with a fresh checkout and branch. */
export interface Round {
  /** its name for ever */
  id: ID;
  /** the ID of its project */
  repoId?: ID;
  session: ID;
  /** from 1 */
  number: number;
  state: RoundState;
  /** when it began */
  startedAt: string;
  /** when it ended; absent before */
  endedAt?: string;
  /**
   * one entry for each agent and repository, in the order of the request: all repositories of
   * the first agent, then the next one's.
   */
  workspaces?: Workspace[];
  /**
   * heldBack names what agents left when the round ended and Croft did not commit: what looks
   * like a secret, repositories in the checkout, and edits of files that git was told not to
   * look at. What is large is committed.
   */
  heldBack?: HeldBack[];
  /**
   * absent names the checkouts that were not found when the round was ended by force. What is
   * committed or staged is kept; of an isolated one, as of the last time that Croft looked.
   */
  absent?: AbsentCheckout[];
  /**
   * failed names the workspaces that could not be put away when the round ended, with the
   * reason. They are as they were.
   */
  failed?: Kept[];
}

/** RoundRequest asks for a round. */
export interface RoundRequest {
  /** of this session */
  key?: string;
  /** of a round that was started before: that one. Default: the next */
  number?: number;
  /** required; names that only the caller sees */
  agents: string[];
  /** directories in the projects; default: the session's own */
  repos?: string[];
  /** any commit; default: what is checked out */
  base?: string;
  /** default: auto */
  mode?: Mode;
  carry?: Carry;
  /**
   * directories of the caller's choice, by agent, absolute. Default: one that Croft makes,
   * whose name says nothing.
   */
  homes?: Record<string, string>;
  /** explicit names of branches, by agent. Default: random ones. */
  branches?: Record<string, string>;
  /**
   * the names under which the others see an agent. In a session a label belongs to one agent,
   * which may have it in several rounds; then an agent can find out which it has had. Default:
   * new ones in every round.
   */
  labels?: Record<string, string>;
}

/** RoundState says how far a round has come. */
export type RoundState =
  | "open"
  | "ended"
  | (string & {}); // a newer daemon may have more words

/** RoundSummary is a round in the list of a session. */
export interface RoundSummary {
  /** its name for ever */
  id: ID;
  number: number;
  state: RoundState;
}

/**
 * Run is one run of an agent that Croft started in a workspace: a command, the process that it
 * became, and how that ended. A workspace has one at a time.
 */
export interface Run {
  /** its name for ever */
  id: ID;
  /** the ID of the workspace */
  workspace: ID;
  /** the program and its arguments, cut where they are long */
  command: string[];
  state: RunState;
  /**
   * how and status say how it ended, and Ending in words. A status of 128 and more may stand
   * for a signal: the one that ended it, or by which its supervisor was asked to end it.
   */
  how?: RunEnd;
  /** how and status say how it ended, and Ending in words */
  status?: number;
  /** the first of its processes; it leads their session */
  process?: Owner;
  /** the process of Croft that waits for it */
  supervisor?: Owner;
  /** by which the workspace is in use meanwhile */
  lease?: ID;
  /** finish and policy say what becomes of the work at the end. */
  finish?: RunFinish;
  /** finish and policy say what becomes of the work at the end */
  policy?: MergePolicy;
  /** when it began */
  startedAt: string;
  /** when it ended; absent before */
  endedAt?: string;
  /** when somebody asked for its end */
  stoppedAt?: string;
  /**
   * when its work was finished, or that had failed; absent if that is still to be done, or is
   * not to be done.
   */
  finishedAt?: string;
  /** why its work could not be finished. */
  unfinished?: string;
  /**
   * the changes outside of the workspace that were seen while it ran, at most MaxIntrusions of
   * each kind. They say what changed, and not who did it: no process is watched.
   */
  intrusions?: Intrusion[];
  /** how many others were seen. */
  moreIntrusions?: number;
  /** the directory on the host with its output and its status. */
  dir?: string;
}

/** RunEnd says how a run ended. */
export type RunEnd =
  | "done"
  | "failed"
  | "killed"
  | "lost"
  | (string & {}); // a newer daemon may have more words

/** RunFinish says whether the work is finished when a run ends. */
export type RunFinish =
  | "never"
  | (string & {}); // a newer daemon may have more words

/**
 * RunLog is a part of what an agent printed. Of a long output the beginning and the end are
 * kept, so that offset may be after the one that was asked for.
 */
export interface RunLog {
  run: Run;
  /** as it was printed: the output of a program is not to be trusted */
  data?: string;
  /** where data begins */
  offset: number;
  /** where the next part begins */
  next: number;
  /** of all so far */
  size: number;
}

/** RunState says how far a run has come. */
export type RunState =
  | "starting"
  | "running"
  | "ended"
  | (string & {}); // a newer daemon may have more words

/** RunWork says what became of the work of a run. */
export type RunWork =
  | "finished"
  | "failed";

/** SaveRequest names the workspace whose uncommitted work is committed. */
export interface SaveRequest {
  key?: string;
  repo?: string;
  /** of the commit; default: by the configuration's template */
  message?: string;
  /** files and directories of the workspace, relative, with slashes; default: all */
  paths?: string[];
  /** fails with REVISION_CHANGED if the workspace is at another revision */
  ifRevision?: number;
}

/** Saved says what was committed of a workspace. */
export interface Saved {
  /** the ID of its project */
  repoId?: ID;
  /** the ID of the workspace */
  workspace: ID;
  /** the name of the workspace */
  workspaceName: string;
  /** the branch that has the commit */
  branch?: string;
  /** empty: there was nothing to commit */
  commit?: string;
  /** files that the commit changes */
  files: number;
  /**
   * files that were not committed, because they look like secrets, are large, are
   * repositories, or were hidden from git
   */
  heldBack?: string[];
}

/** Scope says how far a request reaches that names nothing. */
export type Scope =
  | "all";

/** Session groups the rounds of one undertaking. */
export interface Session {
  /** its name for ever */
  id: ID;
  name?: string;
  /** the ID of its project */
  repoId?: ID;
  /** counts its changes, for IfRevision */
  revision?: number;
  /** the project that it was started in, or its own empty one */
  repo: string;
  /** how branches and scratch directories are called */
  layout: string;
  /** how many branches of ended rounds an agent keeps */
  retention: Retention;
  state: SessionState;
  /** when it began */
  startedAt: string;
  /** when it ended; absent before */
  endedAt?: string;
  agents?: Agent[];
  /** what callers record with it */
  meta?: Record<string, string>;
  rounds?: RoundSummary[];
}

/** List is one page of a list. */
export interface SessionList {
  items: Session[];
  /**
   * for Page.After, to ask for the page that follows; empty: there is none. It is opaque. If
   * the item that it stands for has left a list whose order is not that of time, the request
   * for the page fails with CURSOR_EXPIRED.
   */
  next?: string;
  /**
   * the place in the stream of events that the list reflects: it has what the events up to
   * there changed, and may have what later ones did. Of several pages the cursor of the first
   * is the one to follow from. It is empty if no events tell of the items.
   */
  cursor?: Cursor;
  /**
   * the items, those included that a filter left out, that were not or not wholly looked at in
   * the time that the request gave: their conditions may be others.
   */
  unseen?: ID[];
}

/**
 * SessionRequest asks for a session. The zero value is a request for a new one in the project
 * of the caller's directory.
 */
export interface SessionRequest {
  /** the same call after a crash returns the same session */
  key?: string;
  repo?: string;
  context?: Context;
  name?: string;
  /** default: rounds */
  layout?: string;
  /** default: one */
  retention?: Retention;
  /** recorded with it; see CreateRequest */
  meta?: Record<string, string>;
}

/** SessionState says how far a session has come. */
export type SessionState =
  | "open"
  | "ended"
  | (string & {}); // a newer daemon may have more words

/** SessionTurn says where in an agent's session a report is. */
export type SessionTurn =
  | "begins"
  | "leaves";

/** Side is one of the commits that work is compared with or consists of. */
export type Side =
  | "base"
  | "target";

/** SkipReason says why a file of the project was not brought into a workspace. */
export type SkipReason =
  | "exists"
  | "blocked"
  | "repository"
  | "link"
  | "special"
  | "too-large"
  | "too-many"
  | "no-room"
  | "changing"
  | "unreadable"
  | (string & {}); // a newer daemon may have more words

/** Skipped is a file of the project that was not brought into a workspace. */
export interface Skipped {
  path: string;
  reason: SkipReason;
}

/**
 * Snapshot is the whole state of a workspace at one moment: HEAD, index, files and whatever
 * was in progress. files that git ignores are in it where the configuration says so.
 */
export interface Snapshot {
  /** its name for ever */
  id: ID;
  /** the ID of its project */
  repoId?: ID;
  /** the ID of the workspace */
  workspace: ID;
  /** the name of the workspace */
  workspaceName: string;
  /** it hangs on a ref under refs/croft/snapshot/ */
  commit: string;
  /** files that are not as the commit has them: staged, modified, deleted or untracked */
  files: number;
  /** the sizes of the contents that are stored of them */
  bytes: number;
  /** when it was made */
  createdAt: string;
  /**
   * what it was taken for, reason the words of the request, and actor who took it. They are
   * absent if an earlier version of Croft took it.
   */
  cause?: SnapshotCause;
  /** cause is what it was taken for, reason the words of the request, and actor who took it */
  reason?: string;
  /** cause is what it was taken for, reason the words of the request, and actor who took it */
  actor?: string;
}

/** SnapshotCause says what a snapshot was taken for. */
export type SnapshotCause =
  | "request"
  | "restore"
  | "resolve"
  | "role"
  | (string & {}); // a newer daemon may have more words

/** List is one page of a list. */
export interface SnapshotList {
  items: Snapshot[];
  /**
   * for Page.After, to ask for the page that follows; empty: there is none. It is opaque. If
   * the item that it stands for has left a list whose order is not that of time, the request
   * for the page fails with CURSOR_EXPIRED.
   */
  next?: string;
  /**
   * the place in the stream of events that the list reflects: it has what the events up to
   * there changed, and may have what later ones did. Of several pages the cursor of the first
   * is the one to follow from. It is empty if no events tell of the items.
   */
  cursor?: Cursor;
  /**
   * the items, those included that a filter left out, that were not or not wholly looked at in
   * the time that the request gave: their conditions may be others.
   */
  unseen?: ID[];
}

/** SnapshotRequest names the workspace to save. */
export interface SnapshotRequest {
  key?: string;
  repo?: string;
  /** why, one line of at most 200 bytes */
  reason?: string;
  /** fails with REVISION_CHANGED if the workspace is at another revision */
  ifRevision?: number;
}

/** Spare is a checkout in stock. */
export interface Spare {
  commit: string;
  files: number;
  bytes: number;
}

/** SpareCopy is a copy in stock of a directory of the project. */
export interface SpareCopy {
  /** relative to the project, with slashes */
  path: string;
  /** with its directories */
  files: number;
  bytes: number;
}

/** State says how far a workspace has come. */
export type State =
  | "creating"
  | "ready"
  | "stopped"
  | "trashed"
  | "planned"
  | "broken"
  | (string & {}); // a newer daemon may have more words

/** Status says what a workspace holds beside its commits. */
export interface Status {
  /** the ID of the workspace */
  workspace: ID;
  /** the name of the workspace */
  workspaceName?: string;
  /** the commit that is checked out */
  head: string;
  /** files whose changes are in the index */
  staged: number;
  /** files that differ from the index */
  modified: number;
  /** files that git does not know */
  untracked: number;
  /** files with conflicts that are not resolved */
  conflicted: number;
  /** commits that the target does not have */
  ahead: number;
  /** commits of the target that it does not have */
  behind: number;
  /** the files that are counted */
  paths?: string[];
  /**
   * stamp stands for the head and the uncommitted files as they are. With another stamp, the
   * workspace has other work. It is for Agreed, and absent in a workspace that is no checkout.
   */
  stamp?: string;
}

/** StepState says what became of a command that sets a workspace up. */
export type StepState =
  | "pending"
  | "unapproved"
  | "running"
  | "done"
  | "failed"
  | (string & {}); // a newer daemon may have more words

/** StopRunRequest ends the agent that runs in a workspace. */
export interface StopRunRequest {
  repo?: string;
  /** from the request to end until its processes are killed; default: 10 seconds */
  grace?: string;
}

/** Strategy says what commits a merge makes. */
export type Strategy =
  | "no-ff"
  | "squash"
  | (string & {}); // a newer daemon may have more words

/**
 * SubmitMergesRequest names workspaces whose work is to be merged. The words beside them hold
 * for each, as in MergeRequest.
 */
export interface SubmitMergesRequest {
  /** the same call after a crash submits each workspace once */
  key?: string;
  repo?: string;
  /** required; they land in this order, among those of one priority */
  workspaces: string[];
  /** default: the workspace's */
  target?: string;
  /** default: the target's */
  strategy?: Strategy;
  message?: string;
  priority?: number;
  after?: AfterMerge;
}

/**
 * SubmitResult has a merge for each workspace that was named, in the order of the request and
 * once. That of a workspace which could not be submitted is not in the queue: it has ended, is
 * pending, and has the reason and no ID.
 */
export interface SubmitResult {
  merges: Merge[];
}

/** TrashItem is a removed workspace that can be restored. */
export interface TrashItem {
  /** its name for ever */
  id: ID;
  name: string;
  /** the ID of its project */
  repoId?: ID;
  branch?: string;
  /** where it lay, and would lie again */
  path: string;
  /** the sizes of its files on disk */
  bytes: number;
  /** its files and directories on disk */
  inodes: number;
  /** what is left of it */
  left: TrashLeft;
  /** why it was removed: merged, discarded, reaped, undone, or removed by anybody else */
  as?: Condition;
  /** when it was removed */
  removedAt: string;
  /** of what is left */
  expiresAt: string;
  /** directories that can be made again, such as node_modules, and that went before the rest. */
  stripped?: string[];
  /** when the rest of the item is going to be deleted, once that was announced. */
  purgeAt?: string;
  /** why the directory could not be deleted when its time had come. */
  stays?: string;
}

/** List is one page of a list. */
export interface TrashItemList {
  items: TrashItem[];
  /**
   * for Page.After, to ask for the page that follows; empty: there is none. It is opaque. If
   * the item that it stands for has left a list whose order is not that of time, the request
   * for the page fails with CURSOR_EXPIRED.
   */
  next?: string;
  /**
   * the place in the stream of events that the list reflects: it has what the events up to
   * there changed, and may have what later ones did. Of several pages the cursor of the first
   * is the one to follow from. It is empty if no events tell of the items.
   */
  cursor?: Cursor;
  /**
   * the items, those included that a filter left out, that were not or not wholly looked at in
   * the time that the request gave: their conditions may be others.
   */
  unseen?: ID[];
}

/** TrashLeft says what is left of a removed workspace. */
export type TrashLeft =
  | "directory"
  | "snapshot"
  | "commits"
  | "away"
  | (string & {}); // a newer daemon may have more words

/** TrashReason says why an item is deleted from the trash. */
export type TrashReason =
  | "expired"
  | "budget"
  | (string & {}); // a newer daemon may have more words

/** TryState says how far a check, or an attempt, has come. */
export type TryState =
  | "running"
  | "passed"
  | "failed"
  | "stopped"
  | (string & {}); // a newer daemon may have more words

/** Unadopted is a worktree that was not adopted. */
export interface Unadopted {
  path: string;
  reason: Error | null;
}

/** Uncommitted counts the work that no commit has, as a commit of all of it would have it. */
export interface Uncommitted {
  files: number;
  /** lines */
  added: number;
  deleted: number;
  /** files that the last commit lacks */
  newFiles: number;
  /** files that only the last commit has */
  deletedFiles: number;
  /** files that are not counted: see Review */
  heldBack?: string[];
}

/** UndoPlan lists the steps that an undo would take. */
export interface UndoPlan {
  operation: Operation;
  /** one line each */
  steps: string[];
  /**
   * why a step would be refused as things stand, such as that a workspace holds uncommitted
   * work. Its hint says how the undo can be carried out.
   */
  refused?: Error;
  /**
   * later lists acts of other actors that came after the operation and are not undone with it,
   * the last first.
   */
  later?: Operation[];
  /**
   * stamps stand for the work of the workspaces that the undo would move or put back, by their
   * IDs; see Status.
   */
  stamps?: Record<string, string>;
}

/** UndoRequest names an operation to undo. */
export interface UndoRequest {
  /** the same call after a crash undoes the same act, and no other */
  key?: string;
  repo?: string;
  /** default: the last of this actor that is not undone */
  operation?: ID;
  /** mode force lets an undo move uncommitted work to the trash. */
  mode?: RemoveMode;
  /**
   * those of the plan that a person was shown. If one of the workspaces has another by now,
   * Undo fails with WORK_CHANGED, and nothing is undone.
   */
  stamps?: Record<string, string>;
}

/**
 * UninstallRequest asks for the removal of all that is Croft's own from a repository, or from
 * the machine.
 */
export interface UninstallRequest {
  /**
   * the same call leaves a repository alone that Croft was used in again. With all it goes
   * with the state, and then nothing is known that could be removed.
   */
  key?: string;
  repo?: string;
  /**
   * all removes it from every repository that is known, and then the state, with its second
   * copy, if no repository was kept.
   */
  all?: Scope;
  dryRun?: DryRun;
  /**
   * for good says of repo, at whose path nothing is, that it does not come back. What is
   * remembered of it is forgotten; of its workspaces and its trash nothing is deleted.
   */
  gone?: GoneMode;
  /**
   * shown, with all: only these repositories, by their paths. Others that are known by now are
   * kept.
   */
  shown?: string[];
}

/** UninstallResult answers for every repository that was asked for, and for the state. */
export interface UninstallResult {
  repos: UninstalledRepo[];
  kept: KeptRepo[];
  /**
   * what was deleted of the state and its second copy. While a repository is kept they are
   * needed, and none is.
   */
  files: string[];
  /**
   * what stays in the directories of the state and of its second copy, and belongs to none of
   * repos.
   */
  left: Left[];
}

/** UninstalledRepo says what was removed from a repository, or would be, and what stays. */
export interface UninstalledRepo {
  path: string;
  /** deleted, below refs/croft/ */
  refs: string[];
  /** deleted or mended, in the git directory and in Croft's own */
  files: string[];
  /** made, so that nothing is lost */
  branches: KeptBranch[];
  /** the paths of worktrees that stay, as plain git has them */
  workspaces: string[];
  left: Left[];
  /**
   * those below refs/croft/ that this state did not make: another state's, or the user's. They
   * stay.
   */
  otherRefs?: string[];
}

/** UpdateRequest changes what callers record with a workspace. */
export interface UpdateRequest {
  key?: string;
  repo?: string;
  /** the entries to set. An empty value deletes the entry; others stay. */
  meta?: Record<string, string>;
  /** what becomes of the ports of the workspace. They are moved in a request without meta. */
  ports?: PortsMode;
  /** fails with REVISION_CHANGED if the workspace is at another revision */
  ifRevision?: number;
}

/** Work is what a look at a workspace saw. */
export interface Work {
  /** what was looked at in the time that there was. Fields of what is not in it say nothing. */
  seen: Aspect[];
  /** commits: those that the target lacks */
  ahead: number;
  /** commits: those of the target that it lacks */
  behind: number;
  /** commits: lines since it left the target; with files, uncommitted and new files included */
  added: number;
  /** commits: likewise */
  deleted: number;
  /** commits: likewise the files; one that was renamed is one */
  changed: number;
  /** files: paths with uncommitted changes */
  uncommitted: number;
  /** files: those of uncommitted that Finish, SubmitMerge and Save do not commit */
  heldBack?: number;
  /** files: those of them with conflicts */
  unmerged: number;
  /** files: the last write or commit that was noticed */
  idleSince?: string;
  /** processes: their names */
  inside?: string[];
}

/** Workspace is the isolated directory and the branch of one agent. */
export interface Workspace {
  /** its name for ever */
  id?: ID;
  /** unique among the live workspaces of a repository */
  name: string;
  /** the worker, over all its rounds */
  agent?: string;
  /** the configuration that was copied in */
  role?: string;
  /** the undertaking that it was made for */
  session?: string;
  /** its number in the session */
  round?: number;
  /** its round has ended, or the session */
  isRoundOver?: boolean;
  /** the anonymous name that others see */
  label?: string;
  mode: Mode;
  state: State;
  /** what it is like now; absent in events, which carry the record */
  status?: Condition;
  /** a few words about status */
  why?: string;
  /** absolute */
  path: string;
  /** the last part of the path where the layout makes one from the name */
  slug?: string;
  /** the rule for its path and branch */
  layout?: string;
  /** without refs/heads/; empty when HEAD is detached */
  branch?: string;
  /** the commit that is checked out now */
  head?: string;
  /** the commit that it started from */
  base?: string;
  /** what that commit was called then */
  baseRef?: string;
  /** the branch that its work goes back to */
  target?: string;
  /** the machine */
  host: string;
  /** the project's directory */
  repo: string;
  /** the ID of its project */
  repoId?: ID;
  /** counts the changes of its record, for IfRevision */
  revision?: number;
  /** somebody else made its worktree */
  isAdopted?: boolean;
  /** by a person, with `croft lock` or `git worktree lock` */
  isLocked: boolean;
  lockReason?: string;
  /** when it was made */
  createdAt: string;
  /** null until its work was submitted */
  mergeStatus: MergeStatus | null;
  /** the commit that its target became by the merge; null before */
  mergeCommitSha: string | null;
  /** its directory for notes, which git ignores; absent if it has none */
  scratch?: string;
  /**
   * why its work stays pending, if that was tried and nothing was committed since: the code of
   * the merge, or IN_PROGRESS while its conflicts are being resolved. mergeMessage is the same
   * in words. What has been put right meanwhile, and a merged workspace with commits since,
   * has a message and no reason.
   */
  mergeReason?: Code;
  /** the same in words */
  mergeMessage?: string;
  /**
   * when it went to the trash, and keptUntil how long it can be restored at least; absent once
   * it cannot be any more.
   */
  removedAt?: string;
  /**
   * removedAt is when it went to the trash, and keptUntil how long it can be restored at
   * least; absent once it cannot be any more
   */
  keptUntil?: string;
  /**
   * what is wrong with a broken workspace, and movedFrom where the record has one that was
   * moved; path is where it is now. faultReason is what kept the last attempt to put its files
   * back from its end.
   */
  fault?: Fault;
  /** what kept the last attempt to put its files back from its end */
  faultReason?: string;
  /**
   * fault says what is wrong with a broken workspace, and movedFrom where the record has one
   * that was moved; path is where it is now
   */
  movedFrom?: string;
  /**
   * collides names the target, if its commits collide with that as they are now, and the
   * workspaces with which it collided in the last forecast, as far as neither side has new
   * commits since. It is in listings only. A look finds out about the target; Radar.Conflicts
   * makes a new forecast of all.
   */
  collides?: string[];
  /** whether collides names all that its commits collide with. It is in listings only. */
  forecast?: ForecastState;
  /** what callers record with it; Croft does not look at it. */
  meta?: Record<string, string>;
  /** the live lease, if a process holds one. */
  lease?: Lease;
  /** what a process that works here should have in its environment. */
  env?: Record<string, string>;
  /** what it waits for; absent if that is nothing, or goes on by itself. */
  next?: Next;
  /**
   * what a look at it saw; absent if the request gave no time for that. In events it is what
   * the last act saw of its files.
   */
  work?: Work;
  /** how its last agent ended, if that was said. */
  finished?: Finished;
  /** what its agent does, if that was told, and question what it asks a person. */
  activity?: Activity;
  /** the last run of an agent that Croft started in it. */
  run?: Run;
  /** the last line that its agent printed, if Croft started it. ports are its own. */
  lastLine?: string;
  question?: Question;
  /** its own */
  ports?: Port[];
  /** what was done to make it usable; absent if its configuration asks for nothing. */
  provision?: Provision;
  /**
   * unknown names the fields that only Croft's record has, if this process cannot read it:
   * that they are absent, empty or false here says nothing.
   */
  unknown?: string[];
  /** what was last pushed of it, and pullRequest the pull request of its branch. */
  push?: Push;
  /** push is what was last pushed of it, and pullRequest the pull request of its branch */
  pullRequest?: PullRequest;
  /** how its files came into its directory, and madeWhy why git had to write them. */
  madeBy?: MadeBy;
  /** madeBy says how its files came into its directory, and madeWhy why git had to write them */
  madeWhy?: string;
  /**
   * who made or adopted it, and actorWorkspace the workspace of the agent that did. Both are
   * absent for one that an earlier version made.
   */
  actor?: string;
  /** actor is who made or adopted it, and actorWorkspace the workspace of the agent that did */
  actorWorkspace?: ID;
  /**
   * remarks made at creation and removal, such as files that git itself shows as modified in a
   * fresh checkout, or at a restoration.
   */
  notes?: string[];
}

/** List is one page of a list. */
export interface WorkspaceList {
  items: Workspace[];
  /**
   * for Page.After, to ask for the page that follows; empty: there is none. It is opaque. If
   * the item that it stands for has left a list whose order is not that of time, the request
   * for the page fails with CURSOR_EXPIRED.
   */
  next?: string;
  /**
   * the place in the stream of events that the list reflects: it has what the events up to
   * there changed, and may have what later ones did. Of several pages the cursor of the first
   * is the one to follow from. It is empty if no events tell of the items.
   */
  cursor?: Cursor;
  /**
   * the items, those included that a filter left out, that were not or not wholly looked at in
   * the time that the request gave: their conditions may be others.
   */
  unseen?: ID[];
}

/** Worktree is a worktree as git has it registered, Croft's or not. */
export interface Worktree {
  path: string;
  branch: string;
  head: string;
  isMain: boolean;
  isLocked: boolean;
  lockReason?: string;
  /** absent: not Croft's */
  workspace?: ID;
}

/** List is one page of a list. */
export interface WorktreeList {
  items: Worktree[];
  /**
   * for Page.After, to ask for the page that follows; empty: there is none. It is opaque. If
   * the item that it stands for has left a list whose order is not that of time, the request
   * for the page fails with CURSOR_EXPIRED.
   */
  next?: string;
  /**
   * the place in the stream of events that the list reflects: it has what the events up to
   * there changed, and may have what later ones did. Of several pages the cursor of the first
   * is the one to follow from. It is empty if no events tell of the items.
   */
  cursor?: Cursor;
  /**
   * the items, those included that a filter left out, that were not or not wholly looked at in
   * the time that the request gave: their conditions may be others.
   */
  unseen?: ID[];
}

/** What countActive takes. */
export interface CountActiveQuery {
  repo?: string;
}

/** What getBranch takes. */
export interface GetBranchQuery {
  repo?: string;
}

/** What checks takes. */
export interface ChecksQuery {
  repo?: string;
  /** a branch; default: that of the workspace, or of one that would be made */
  target?: string;
  /**
   * workspace, with setup, means the commands of this workspace, which began at another commit
   * than the tip of its target. It is a name, an ID or a path.
   */
  workspace?: string;
  of?: CommandSet;
}

/** What commits takes. */
export interface CommitsQuery {
  repo?: string;
  /** a name, an ID or a path; default: where repo lies */
  workspace?: string;
  /** default: the workspace's own */
  target?: string;
  /**
   * how many items are wanted at most. Without one an implementation answers with as many as
   * it likes.
   */
  limit?: number;
  /** Next of the page before. */
  after?: string;
}

/** What conflicts takes. */
export interface ConflictsQuery {
  repo?: string;
}

/** What diff takes. */
export interface DiffQuery {
  /** not looked at for a merge */
  repo?: string;
  /** a name, an ID or a path; default: where repo lies */
  workspace?: string;
  review?: ID;
  /**
   * merge shows what a merge has brought to its target or, if it has not landed, what it would
   * bring.
   */
  merge?: ID;
  /** of a workspace; default: its own */
  target?: string;
  /** files, or directories with all below; default: all */
  paths?: string[];
  detail?: Detail;
  /**
   * how many items are wanted at most. Without one an implementation answers with as many as
   * it likes.
   */
  limit?: number;
  /** Next of the page before. */
  after?: string;
}

/** What file takes. */
export interface FileQuery {
  repo?: string;
  /** the ID of the workspace */
  workspace?: string;
  review?: ID;
  merge?: ID;
  target?: string;
  /** as in ReviewFile; a renamed file has its OldPath on the other sides */
  path: string;
  side?: Side;
  /**
   * that of a part before. If the file is another one by now, the request fails with
   * WORK_CHANGED.
   */
  object?: string;
  /** in bytes */
  offset?: number;
  /** bytes; default and most: 1 MiB */
  limit?: number;
}

/** What gitConfig takes. */
export interface GitConfigQuery {
  repo?: string;
}

/** What merges takes. */
export interface MergesQuery {
  repo?: string;
  /** all: of all projects; repo is not looked at */
  repos?: Scope;
  /** default: every lane */
  target?: string;
  /** all: also merges that have ended */
  scope?: Scope;
  /**
   * how many items are wanted at most. Without one an implementation answers with as many as
   * it likes.
   */
  limit?: number;
  /** Next of the page before. */
  after?: string;
}

/** What getMerge takes. */
export interface GetMergeQuery {
  repo?: string;
}

/** What checkLog takes. */
export interface CheckLogQuery {
  /**
   * one of merge.Checks or of an attempt. Default: the one that runs, else one that failed,
   * else the last one.
   */
  check?: ID;
  /** in bytes */
  offset?: number;
  /** bytes; default and most: 1 MiB */
  limit?: number;
  /**
   * if it is there, the answer is the output as text, as it is printed, until the check has
   * ended
   */
  follow?: string;
}

/** What history takes. */
export interface HistoryQuery {
  repo?: string;
  /**
   * how many items are wanted at most. Without one an implementation answers with as many as
   * it likes.
   */
  limit?: number;
  /** Next of the page before. */
  after?: string;
}

/** What getOperation takes. */
export interface GetOperationQuery {
  repo?: string;
}

/** What lanes takes. */
export interface LanesQuery {
  repo?: string;
  /** default: every lane */
  target?: string;
  /**
   * how many items are wanted at most. Without one an implementation answers with as many as
   * it likes.
   */
  limit?: number;
  /** Next of the page before. */
  after?: string;
}

/** What repos takes. */
export interface ReposQuery {
  /**
   * how many items are wanted at most. Without one an implementation answers with as many as
   * it likes.
   */
  limit?: number;
  /** Next of the page before. */
  after?: string;
}

/** What planRevert takes. */
export interface PlanRevertQuery {
  repo?: string;
  merge?: ID;
  /** instead of merge: a workspace's name, a merge's ID or its commit */
  ref?: string;
  /** a commit: fails with TARGET_MOVED if the branch is not at it */
  target?: string;
  /** default: like git's */
  message?: string;
}

/** What getReview takes. */
export interface GetReviewQuery {
  repo?: string;
}

/** What role takes. */
export interface RoleQuery {
  repo?: string;
  /** default for copying: the workspace's own */
  role?: string;
  /** a name, an ID or a path */
  workspace?: string;
  /** for copying */
  mode?: RoleMode;
}

/** What getRound takes. */
export interface GetRoundQuery {
  repo?: string;
}

/** What sessions takes. */
export interface SessionsQuery {
  repo?: string;
  /** all: of all projects; repo is not looked at */
  repos?: Scope;
  /** those wanted. Default: the open ones. */
  states?: SessionState[];
  /** only those with all of these entries */
  meta?: Record<string, string>;
  /**
   * how many items are wanted at most. Without one an implementation answers with as many as
   * it likes.
   */
  limit?: number;
  /** Next of the page before. */
  after?: string;
}

/** What getSession takes. */
export interface GetSessionQuery {
  repo?: string;
}

/** What snapshots takes. */
export interface SnapshotsQuery {
  repo?: string;
  /**
   * how many items are wanted at most. Without one an implementation answers with as many as
   * it likes.
   */
  limit?: number;
  /** Next of the page before. */
  after?: string;
}

/** What getSnapshot takes. */
export interface GetSnapshotQuery {
  repo?: string;
}

/** What trash takes. */
export interface TrashQuery {
  repo?: string;
  /**
   * how many items are wanted at most. Without one an implementation answers with as many as
   * it likes.
   */
  limit?: number;
  /** Next of the page before. */
  after?: string;
}

/** What planUndo takes. */
export interface PlanUndoQuery {
  repo?: string;
  /** default: the last of this actor that is not undone */
  operation?: ID;
  /** mode force lets an undo move uncommitted work to the trash. */
  mode?: RemoveMode;
  /**
   * those of the plan that a person was shown. If one of the workspaces has another by now,
   * Undo fails with WORK_CHANGED, and nothing is undone.
   */
  stamps?: Record<string, string>;
}

/** What pool takes. */
export interface PoolQuery {
  repo?: string;
}

/** What workspaces takes. */
export interface WorkspacesQuery {
  repo?: string;
  /** all: of all projects; repo is not looked at */
  repos?: Scope;
  session?: string;
  role?: string;
  agent?: string;
  branch?: string;
  target?: string;
  /** all of these entries */
  meta?: Record<string, string>;
  /** default: all but trashed */
  states?: State[];
  /** what became of the work. If states are not given, those that are gone are meant too. */
  mergeStatuses?: MergeStatus[];
  /**
   * what the workspaces are like. Those that are gone are meant too if one of the conditions
   * is theirs.
   */
  conditions?: Condition[];
  /** whom their agents ask; default: anybody, or nobody. */
  asks?: Asks;
  /** who made them; default: anybody. */
  maker?: Maker;
  /**
   * the time for looking at commits, files and processes, those that were active last first.
   * Without it a condition is decided by the record and the refs alone, and all workspaces
   * that could have been looked at are unseen.
   */
  look?: string;
  /**
   * how many items are wanted at most. Without one an implementation answers with as many as
   * it likes.
   */
  limit?: number;
  /** Next of the page before. */
  after?: string;
}

/** What getWorkspace takes. */
export interface GetWorkspaceQuery {
  repo?: string;
  /** all also finds one that is gone, the last of that name, as long as Croft remembers it. */
  scope?: Scope;
  /** as in WorkspacesRequest */
  look?: string;
}

/** What mounts takes. */
export interface MountsQuery {
  repo?: string;
  /** absolute; default: containers.workdir */
  workdir?: string;
  /** default: a container */
  place?: MountPlace;
}

/** What runLog takes. */
export interface RunLogQuery {
  repo?: string;
  /** in bytes; negative: from the end */
  offset?: number;
  /** bytes; default and most: 1 MiB */
  limit?: number;
}

/** What prompt takes. */
export interface PromptQuery {
  repo?: string;
  /** all also finds one that is gone, the last of that name, as long as Croft remembers it. */
  scope?: Scope;
  /** as in WorkspacesRequest */
  look?: string;
}

/** What worktrees takes. */
export interface WorktreesQuery {
  repo?: string;
  /**
   * how many items are wanted at most. Without one an implementation answers with as many as
   * it likes.
   */
  limit?: number;
  /** Next of the page before. */
  after?: string;
}

/** One method for each operation of the API. */
export abstract class Calls {
  protected abstract send<T>(call: Call): Promise<T>;

  private async *pages<T>(path: string, fields: object, options?: CallOptions): AsyncGenerator<T> {
    for (let after = ""; ; ) {
      const page: { items: T[]; next?: string } = await this.send({ method: "GET", path, fields: after ? { ...fields, after } : fields, keyed: false, options });
      yield* page.items;
      if (!page.next) return;
      after = page.next;
    }
  }

  /** Counts the live workspaces, those being made included. */
  countActive(request: CountActiveQuery = {}, options?: CallOptions): Promise<Count> {
    return this.send({ method: "GET", path: "/v1/active", fields: request, keyed: false, options });
  }

  /** Describes a local branch. A branch that does not exist is an answer, not an error. */
  getBranch(branch: string, request: GetBranchQuery = {}, options?: CallOptions): Promise<Branch> {
    return this.send({ method: "GET", path: `/v1/branches/${segment(branch)}`, fields: request, keyed: false, options });
  }

  /** Shows the checks that a target's tip asks for. */
  checks(request: ChecksQuery = {}, options?: CallOptions): Promise<CheckPlan> {
    return this.send({ method: "GET", path: "/v1/checks", fields: request, keyed: false, options });
  }

  /**
   * Allows these commands to run in this repository, in this order, whatever commit asks for
   * them. A command runs what it finds in the merged files: a user who approves "make test"
   * approves whatever a candidate puts behind it. It fails with CHECKS_UNTRUSTED if the target
   * asks for other ones by now, and where it is asked for from inside a workspace: that is
   * where agents are. With withdraw they may not run any more: a merge that comes to them is
   * refused with CHECKS_UNTRUSTED, unless CROFT_TRUST names them; one that is being checked
   * goes on. That is no failure if they were not approved.
   */
  approve(request: ApproveRequest, options?: CallOptions): Promise<CheckPlan> {
    return this.send({ method: "POST", path: "/v1/checks/approve", fields: request, keyed: true, options });
  }

  /**
   * Lists the commits of a workspace, the newest first, and counts its uncommitted work. What
   * the workspace began with is taken from Croft's record, not from the repository. Without a
   * Limit a page has 100 commits, and at most 500. A commit that came after the page before is
   * not on the next one; if the last commit of the page before is not one of the workspace any
   * more, because the branch was rewritten, the request fails with CURSOR_EXPIRED.
   */
  commits(request: CommitsQuery = {}, options?: CallOptions): Promise<Commits> {
    return this.send({ method: "GET", path: "/v1/commits", fields: request, keyed: false, options });
  }

  /** The items of all pages of commits, asked for one page after the other. */
  iterateCommits(request: CommitsQuery = {}, options?: CallOptions): AsyncGenerator<Commit> {
    return this.pages("/v1/commits", request, options);
  }

  /**
   * Forecasts which workspaces will collide with each other and with their target, with all
   * the work that is in them now, committed or not. It compares the workspaces that have the
   * same target. Nothing is changed by it, and nothing is left in the repository. Workspaces
   * that changed since the last forecast are compared again; for the others the last result is
   * used.
   */
  conflicts(request: ConflictsQuery = {}, options?: CallOptions): Promise<Forecast> {
    return this.send({ method: "GET", path: "/v1/conflicts", fields: request, keyed: false, options });
  }

  /** Describes the daemon. */
  daemon(options?: CallOptions): Promise<About> {
    return this.send({ method: "GET", path: "/v1/daemon", fields: {}, keyed: false, options });
  }

  /**
   * Shows the work of a workspace, of a review or of a merge, and keeps nothing. With a Limit
   * it answers with a page: at most that many files, and fewer if their lines are more than 1
   * MiB. All pages are of one state: if the work, or the commit that it is measured from, has
   * changed since the page before, the request fails with CURSOR_EXPIRED. A review does not
   * change. Files in conflict are shown as they are.
   */
  diff(request: DiffQuery = {}, options?: CallOptions): Promise<Review> {
    return this.send({ method: "GET", path: "/v1/diff", fields: request, keyed: false, options });
  }

  /**
   * Returns a part of a file as it is on one side of work, uncommitted work included. Links
   * are not followed, but for one that an agent puts in the place of a directory while that is
   * read (docs/security.md). Only files that a commit of the work would have are read: others
   * are FILE_NOT_FOUND, and those that are held back FILE_HELD_BACK.
   */
  file(request: FileQuery, options?: CallOptions): Promise<FileContent> {
    return this.send({ method: "GET", path: "/v1/file", fields: request, keyed: false, options });
  }

  /**
   * Returns the differences between the repository's git configuration and the settings that
   * Croft uses.
   */
  gitConfig(request: GitConfigQuery = {}, options?: CallOptions): Promise<GitConfig> {
    return this.send({ method: "GET", path: "/v1/git-config", fields: request, keyed: false, options });
  }

  /**
   * Makes Croft use the repository's git configuration as it is now. It fails with
   * CONFIG_CHANGED if the configuration differs from the one that was hashed, and from inside
   * of a workspace.
   */
  acceptGitConfig(request: AcceptGitConfigRequest, options?: CallOptions): Promise<GitConfig> {
    return this.send({ method: "POST", path: "/v1/git-config/accept", fields: request, keyed: true, options });
  }

  /** Ends a lease, also again. An ID that no lease can have is LEASE_LOST. */
  release(lease: ID, options?: CallOptions): Promise<Released> {
    return this.send({ method: "POST", path: `/v1/leases/${segment(lease)}/release`, fields: {}, keyed: false, options });
  }

  /** Prolongs a lease. One that was reaped or taken over is LEASE_LOST. */
  renew(lease: ID, options?: CallOptions): Promise<Lease> {
    return this.send({ method: "POST", path: `/v1/leases/${segment(lease)}/renew`, fields: {}, keyed: false, options });
  }

  /**
   * Lists the merges that wait, in the order of their lanes, then the pending ones that
   * DriveLanes tries again; with all, also the merges that have ended, the last first.
   */
  merges(request: MergesQuery = {}, options?: CallOptions): Promise<MergeList> {
    return this.send({ method: "GET", path: "/v1/merges", fields: request, keyed: false, options });
  }

  /** The items of all pages of merges, asked for one page after the other. */
  iterateMerges(request: MergesQuery = {}, options?: CallOptions): AsyncGenerator<Merge> {
    return this.pages("/v1/merges", request, options);
  }

  /**
   * Is SubmitMerge for several workspaces. It looks at them side by side and records their
   * merges together, so that they land as one batch where their targets allow it. It fails
   * with WORKTREE_NOT_FOUND, and commits nothing, if one of them does not exist; any other
   * failure is that of one workspace, and in its merge.
   */
  submitMerges(request: SubmitMergesRequest, options?: CallOptions): Promise<SubmitResult> {
    return this.send({ method: "POST", path: "/v1/merges", fields: request, keyed: true, options });
  }

  /** Finds a merge by its ID, or fails with MERGE_NOT_FOUND. */
  getMerge(merge: string, request: GetMergeQuery = {}, options?: CallOptions): Promise<Merge> {
    return this.send({ method: "GET", path: `/v1/merges/${segment(merge)}`, fields: request, keyed: false, options });
  }

  /**
   * Returns a part of the output of a check, for callers that do not share a disk with the
   * Service. A merge without such a check, and one whose output is not kept any more, is
   * CHECK_NOT_FOUND.
   */
  checkLog(merge: ID, request: CheckLogQuery = {}, options?: CallOptions): Promise<CheckLog> {
    return this.send({ method: "GET", path: `/v1/merges/${segment(merge)}/log`, fields: request, keyed: false, options });
  }

  /** Lists operations, the last first. */
  history(request: HistoryQuery = {}, options?: CallOptions): Promise<OperationList> {
    return this.send({ method: "GET", path: "/v1/operations", fields: request, keyed: false, options });
  }

  /** The items of all pages of history, asked for one page after the other. */
  iterateHistory(request: HistoryQuery = {}, options?: CallOptions): AsyncGenerator<Operation> {
    return this.pages("/v1/operations", request, options);
  }

  /** Finds an operation by its ID, or fails with OPERATION_NOT_FOUND. */
  getOperation(operation: string, request: GetOperationQuery = {}, options?: CallOptions): Promise<Operation> {
    return this.send({ method: "GET", path: `/v1/operations/${segment(operation)}`, fields: request, keyed: false, options });
  }

  /**
   * Fetches the commits of a pull request into the repository, and says where it begins and
   * where it goes to, for a workspace that is made of it. No ref is written.
   */
  fetchPullRequest(number: number, request: FetchPullRequestRequest = {}, options?: CallOptions): Promise<PullRequestHead> {
    return this.send({ method: "POST", path: `/v1/pull-requests/${segment(number)}/fetch`, fields: request, keyed: false, options });
  }

  /**
   * Lists the targets that lanes have moved, and says which of them moved outside of their
   * lane since.
   */
  lanes(request: LanesQuery = {}, options?: CallOptions): Promise<LaneList> {
    return this.send({ method: "GET", path: "/v1/queues", fields: request, keyed: false, options });
  }

  /** The items of all pages of lanes, asked for one page after the other. */
  iterateLanes(request: LanesQuery = {}, options?: CallOptions): AsyncGenerator<Lane> {
    return this.pages("/v1/queues", request, options);
  }

  /**
   * Says that a target may be where it is, although it moved outside of its lane, and returns
   * the lane as it was accepted. It fails with TARGET_MOVED from inside a workspace: that is
   * where agents are.
   */
  acceptTarget(request: AcceptRequest, options?: CallOptions): Promise<Lane> {
    return this.send({ method: "POST", path: "/v1/queues/accept", fields: request, keyed: true, options });
  }

  /** Holds, releases or cancels merges that wait. */
  changeQueue(request: QueueRequest, options?: CallOptions): Promise<QueueResult> {
    return this.send({ method: "POST", path: "/v1/queues/change", fields: request, keyed: true, options });
  }

  /**
   * Drives the lanes of a repository until they are empty, and tries again the merges that
   * stayed pending because of the user's checkout, because the target had moved, or because
   * its checks had not been approved, which they are now. stopped makes the caller the driver
   * of these lanes: it keeps their locks, so that a call that waits for a merge only waits,
   * and its end stops no check. A second driver waits, in this process or another one, and
   * goes on when the first has ended. A lane that fails for a reason of the machine, such as a
   * full disk, is tried again after a while. The end of the context ends the call without an
   * error, and with no merges in the answer: the events tell of them.
   */
  driveLanes(request: DriveRequest = {}, options?: CallOptions): Promise<QueueResult> {
    return this.send({ method: "POST", path: "/v1/queues/run", fields: request, keyed: false, options });
  }

  /**
   * Lists the projects that this Service knows, also those that are not at their paths any
   * more, in the order in which they were first seen. A project is known once a call has named
   * it, until Upkeep.Uninstall forgets it.
   */
  repos(request: ReposQuery = {}, options?: CallOptions): Promise<RepoList> {
    return this.send({ method: "GET", path: "/v1/repos", fields: request, keyed: false, options });
  }

  /** The items of all pages of repos, asked for one page after the other. */
  iterateRepos(request: ReposQuery = {}, options?: CallOptions): AsyncGenerator<Repo> {
    return this.pages("/v1/repos", request, options);
  }

  /** Describes a project. A directory that is in no git repository is NOT_A_REPO. */
  getRepo(repo: string, options?: CallOptions): Promise<Repo> {
    return this.send({ method: "GET", path: `/v1/repos/${segment(repo)}`, fields: {}, keyed: false, options });
  }

  /**
   * Describes a project, as Repo does, in which workspaces can be made. It fails with
   * NOT_A_REPO if there is no repository or no commit in it.
   */
  checkRepo(repo: string, options?: CallOptions): Promise<Repo> {
    return this.send({ method: "GET", path: `/v1/repos/${segment(repo)}/check`, fields: {}, keyed: false, options });
  }

  /**
   * Returns the conflicts that a revert would have and how many merges came after the merge.
   * It changes nothing.
   */
  planRevert(request: PlanRevertQuery = {}, options?: CallOptions): Promise<RevertPlan> {
    return this.send({ method: "GET", path: "/v1/reverts", fields: request, keyed: false, options });
  }

  /**
   * Submits the revert of a merge: a new commit on the target undoes it, through the same lane
   * and checks. It returns at once; WaitMerge waits.
   */
  submitRevert(request: RevertRequest = {}, options?: WaitOptions): Promise<Merge> {
    return this.send({ method: "POST", path: "/v1/reverts", fields: request, keyed: true, options });
  }

  /**
   * Makes a workspace of the name revert-NAME, in which the merge of NAME is taken back and
   * whose target was brought in: what is in conflict is left there to be resolved. Merging
   * that workspace takes the merge back. It fails with INVALID_REQUEST if the revert has no
   * conflict, and with IN_PROGRESS if it is being resolved.
   */
  resolveRevert(request: RevertRequest = {}, options?: CallOptions): Promise<Resolution> {
    return this.send({ method: "POST", path: "/v1/reverts/resolve", fields: request, keyed: true, options });
  }

  /**
   * Finds a review by its ID, without the lines of its hunks, or fails with REVIEW_NOT_FOUND.
   * Diff has the lines.
   */
  getReview(review: string, request: GetReviewQuery = {}, options?: CallOptions): Promise<Review> {
    return this.send({ method: "GET", path: `/v1/reviews/${segment(review)}`, fields: request, keyed: false, options });
  }

  /**
   * Submits the chosen part of a review to its target as one commit, through the lane and its
   * checks. It returns at once; WaitMerge waits. If the target changed one of the chosen files
   * since the review the result is pending with the reason BASE_MOVED; if it changed others
   * only, the message says so. It fails with REVIEW_NOT_FOUND if the review is not kept any
   * more, and with INVALID_REQUEST if nothing is chosen or the choice cannot be.
   */
  submitApply(review: ID, request: ApplyRequest = {}, options?: WaitOptions): Promise<Merge> {
    return this.send({ method: "POST", path: `/v1/reviews/${segment(review)}/apply`, fields: request, keyed: true, options });
  }

  /** Looks a role up; a role without files is ROLE_NOT_FOUND. */
  role(request: RoleQuery = {}, options?: CallOptions): Promise<Role> {
    return this.send({ method: "GET", path: "/v1/role", fields: request, keyed: false, options });
  }

  /**
   * Copies a role's files into a workspace, also over an earlier copy. They do not show as
   * changes of the agent's.
   */
  copyRole(request: RoleRequest = {}, options?: CallOptions): Promise<Role> {
    return this.send({ method: "POST", path: "/v1/role", fields: request, keyed: true, options });
  }

  /** Finds a round by its ID, or fails with ROUND_NOT_FOUND. */
  getRound(round: string, request: GetRoundQuery = {}, options?: CallOptions): Promise<Round> {
    return this.send({ method: "GET", path: `/v1/rounds/${segment(round)}`, fields: request, keyed: false, options });
  }

  /**
   * Commits what agents left uncommitted, archives their scratch in the homes of all, and
   * moves the checkouts to the trash. Their branches stay, and earlier ones of these agents go
   * as the retention says. An agent for which that fails is named in the result, and does not
   * keep the others from ending; calling again tries it again. So is one whose checkout is not
   * found.
   */
  endRound(round: ID, request: EndRoundRequest = {}, options?: CallOptions): Promise<Round> {
    return this.send({ method: "POST", path: `/v1/rounds/${segment(round)}/end`, fields: request, keyed: true, options });
  }

  /** Lists sessions, oldest first. */
  sessions(request: SessionsQuery = {}, options?: CallOptions): Promise<SessionList> {
    return this.send({ method: "GET", path: "/v1/sessions", fields: request, keyed: false, options });
  }

  /** The items of all pages of sessions, asked for one page after the other. */
  iterateSessions(request: SessionsQuery = {}, options?: CallOptions): AsyncGenerator<Session> {
    return this.pages("/v1/sessions", request, options);
  }

  /** Begins a session. */
  startSession(request: SessionRequest = {}, options?: CallOptions): Promise<Session> {
    return this.send({ method: "POST", path: "/v1/sessions", fields: request, keyed: true, options });
  }

  /**
   * Finds a session by its ID or, among the open ones, its name; or fails with
   * SESSION_NOT_FOUND.
   */
  getSession(session: string, request: GetSessionQuery = {}, options?: CallOptions): Promise<Session> {
    return this.send({ method: "GET", path: `/v1/sessions/${segment(session)}`, fields: request, keyed: false, options });
  }

  /**
   * Ends what is open and deletes the session's branches. Their workspaces can be restored
   * while they are in the trash.
   */
  endSession(session: string, request: EndSessionRequest = {}, options?: CallOptions): Promise<Session> {
    return this.send({ method: "POST", path: `/v1/sessions/${segment(session)}/end`, fields: request, keyed: true, options });
  }

  /**
   * Makes the workspace in which the result of a session is reviewed. It starts from the
   * winner's last commit and has a target; the workspaces of rounds have none, so only changes
   * from this one are merged into the project. The session stays open.
   */
  present(session: string, request: PresentRequest, options?: CallOptions): Promise<Workspace> {
    return this.send({ method: "POST", path: `/v1/sessions/${segment(session)}/present`, fields: request, keyed: true, options });
  }

  /**
   * Makes the checkouts of a round in all its repositories, all or none. Each has a label that
   * no agent had before in the session, unless the request gives it one. An agent whose
   * earlier round is still open fails with ROUND_BUSY; others may start while it is.
   */
  startRound(session: string, request: RoundRequest, options?: CallOptions): Promise<Round> {
    return this.send({ method: "POST", path: `/v1/sessions/${segment(session)}/rounds`, fields: request, keyed: true, options });
  }

  /** Lists the snapshots of a repository, oldest first. */
  snapshots(request: SnapshotsQuery = {}, options?: CallOptions): Promise<SnapshotList> {
    return this.send({ method: "GET", path: "/v1/snapshots", fields: request, keyed: false, options });
  }

  /** The items of all pages of snapshots, asked for one page after the other. */
  iterateSnapshots(request: SnapshotsQuery = {}, options?: CallOptions): AsyncGenerator<Snapshot> {
    return this.pages("/v1/snapshots", request, options);
  }

  /** Finds a snapshot by its ID, or fails with SNAPSHOT_NOT_FOUND. */
  getSnapshot(snapshot: string, request: GetSnapshotQuery = {}, options?: CallOptions): Promise<Snapshot> {
    return this.send({ method: "GET", path: `/v1/snapshots/${segment(snapshot)}`, fields: request, keyed: false, options });
  }

  /** Lists the removed workspaces that can be restored, the most recently removed first. */
  trash(request: TrashQuery = {}, options?: CallOptions): Promise<TrashItemList> {
    return this.send({ method: "GET", path: "/v1/trash", fields: request, keyed: false, options });
  }

  /** The items of all pages of trash, asked for one page after the other. */
  iterateTrash(request: TrashQuery = {}, options?: CallOptions): AsyncGenerator<TrashItem> {
    return this.pages("/v1/trash", request, options);
  }

  /**
   * Brings a removed workspace back: branch, registration, files, index and whatever was in
   * progress, at the identical path. It fails with WORKTREE_EXISTS, BRANCH_EXISTS or
   * BRANCH_IN_USE if something else is there now, and then the workspace is still in the
   * trash. Of several removed workspaces of one name it takes the last. One that is not in the
   * trash is WORKTREE_NOT_FOUND. Parts that were deleted from the trash before, such as
   * directories that can be made again, are named in the workspace's Notes. Given a snapshot's
   * ID, it brings the workspace back to that state, in place; ignored files stay. Its present
   * state is saved as another snapshot first. A process or a lease inside keeps it as it is,
   * with WORKSPACE_BUSY, and so does a lock.
   */
  restore(trash: string, request: RestoreRequest = {}, options?: CallOptions): Promise<Workspace> {
    return this.send({ method: "POST", path: `/v1/trash/${segment(trash)}/restore`, fields: request, keyed: true, options });
  }

  /** Returns the steps that Undo would take, and changes nothing. */
  planUndo(request: PlanUndoQuery = {}, options?: CallOptions): Promise<UndoPlan> {
    return this.send({ method: "GET", path: "/v1/undo", fields: request, keyed: false, options });
  }

  /**
   * Undoes an operation: a workspace that it made goes to the trash, one that it removed is
   * restored. The undo is an operation itself and can be undone. If the request names no
   * operation, Undo undoes the last act of the same actor, and the one before it when it is
   * called again. A caller whose working directory lies in a workspace acts as that workspace,
   * and undoes an act of another actor only by its name. A merge of which the target has
   * nothing any more counts as undone. Undo fails with INVALID_REQUEST if there is nothing to
   * undo, and like Restore and Remove otherwise.
   */
  undo(request: UndoRequest = {}, options?: CallOptions): Promise<Operation> {
    return this.send({ method: "POST", path: "/v1/undo", fields: request, keyed: true, options });
  }

  /**
   * Removes what is provably finished: clean, idle, and integrated in its target. With all it
   * removes every workspace, with uncommitted work too, the recorded branches that are left,
   * and the emptied base directory. A lock or a process inside keeps a workspace even then.
   */
  clean(request: CleanRequest = {}, options?: CallOptions): Promise<CleanResult> {
    return this.send({ method: "POST", path: "/v1/upkeep/clean", fields: request, keyed: true, options });
  }

  /**
   * Compares records, refs, registrations and disk. It deletes nothing that it does not know,
   * and makes records of what it finds in a repository only if that is asked for.
   */
  doctor(request: DoctorRequest = {}, options?: CallOptions): Promise<DoctorResult> {
    return this.send({ method: "POST", path: "/v1/upkeep/doctor", fields: request, keyed: true, options });
  }

  /**
   * Deletes recorded branches that are integrated and have no workspace any more, and trash.
   * Of that, directories that can be made again go first; what is in its target and was clean
   * goes when it is past its retention, or when the trash is over its budget. Other work is
   * announced before it goes, and when its directory goes, it can still be restored from its
   * commits and a snapshot, for a while that the configuration says. The history, events and
   * removed workspaces of which nothing is left are forgotten in the end.
   */
  gc(request: GCRequest = {}, options?: CallOptions): Promise<GCResult> {
    return this.send({ method: "POST", path: "/v1/upkeep/gc", fields: request, keyed: true, options });
  }

  /** Describes the checkouts that are kept in stock for new workspaces. */
  pool(request: PoolQuery = {}, options?: CallOptions): Promise<Pool> {
    return this.send({ method: "GET", path: "/v1/upkeep/pool", fields: request, keyed: false, options });
  }

  /**
   * Fills the pool of a project, or empties it. It returns when that is done, and with fewer
   * checkouts than are wanted where there is a reason: a limit, or a repository whose files
   * cannot be written in advance. If another process is filling the pool it returns at once.
   */
  changePool(request: ChangePoolRequest = {}, options?: CallOptions): Promise<Pool> {
    return this.send({ method: "POST", path: "/v1/upkeep/pool", fields: request, keyed: false, options });
  }

  /**
   * Removes orphans and answers for each workspace that it looked at and kept. A lock, a live
   * or invisible owner or a process inside keeps a workspace always.
   */
  reap(request: ReapRequest = {}, options?: CallOptions): Promise<CleanResult> {
    return this.send({ method: "POST", path: "/v1/upkeep/reap", fields: request, keyed: true, options });
  }

  /**
   * Removes all that is Croft's own from a repository: refs, files in its git directory, its
   * settings and excludes there, and what Croft remembers of it. Branches, worktrees, and
   * whatever else is work stay and are named; commits and snapshots that only Croft kept
   * become branches below croft-kept/. It is refused, with nothing done, while merges wait or
   * isolated workspaces live, whose git directories are Croft's. With all it does so for every
   * repository that is known. Those that it is refused for, and those that are not there now,
   * are kept with the reason. If none is, what Croft keeps for all of them goes too, and the
   * Service with it: the next one begins with an empty state.
   */
  uninstall(request: UninstallRequest = {}, options?: CallOptions): Promise<UninstallResult> {
    return this.send({ method: "POST", path: "/v1/upkeep/uninstall", fields: request, keyed: true, options });
  }

  /**
   * Lists workspaces, oldest first. It starts no git process per workspace. A listing that
   * cannot be read is an error, never an empty list.
   */
  workspaces(request: WorkspacesQuery = {}, options?: CallOptions): Promise<WorkspaceList> {
    return this.send({ method: "GET", path: "/v1/workspaces", fields: request, keyed: false, options });
  }

  /** The items of all pages of workspaces, asked for one page after the other. */
  iterateWorkspaces(request: WorkspacesQuery = {}, options?: CallOptions): AsyncGenerator<Workspace> {
    return this.pages("/v1/workspaces", request, options);
  }

  /** Makes one workspace. It is CreateAll with a single part. */
  create(request: CreateRequest = {}, options?: CallOptions): Promise<Workspace> {
    return this.send({ method: "POST", path: "/v1/workspaces", fields: request, keyed: true, options });
  }

  /**
   * Makes workspaces of worktrees that somebody else made. Nothing in them is written, and
   * their branches are never deleted. One that is a workspace already is answered as it is. A
   * worktree is left, with the reason, if it and its registration do not name each other.
   */
  adopt(request: AdoptRequest = {}, options?: CallOptions): Promise<AdoptResult> {
    return this.send({ method: "POST", path: "/v1/workspaces/adopt", fields: request, keyed: true, options });
  }

  /**
   * Makes several workspaces, all or none: when it fails, nothing of them remains and nothing
   * else was touched. If the process dies in between, the next one rolls back what was begun.
   * It fails with NOT_A_REPO, WORKTREE_EXISTS, BRANCH_EXISTS, BRANCH_BLOCKED, BRANCH_IN_USE,
   * BASE_NOT_FOUND, ROLE_NOT_FOUND, SESSION_REQUIRED, INVALID_NAME, LIMIT_REACHED, NO_SPACE,
   * NOT_WRITABLE, KEY_CONFLICT or GIT_FAILED.
   */
  createAll(request: CreateAllRequest, options?: CallOptions): Promise<CreateResult> {
    return this.send({ method: "POST", path: "/v1/workspaces/all", fields: request, keyed: true, options });
  }

  /**
   * Moves the workspaces whose work is not wanted, with their branches, to the trash, and
   * answers for each. Trash.Restore brings one back.
   */
  discard(request: DiscardRequest = {}, options?: CallOptions): Promise<DiscardResult> {
    return this.send({ method: "POST", path: "/v1/workspaces/discard", fields: request, keyed: true, options });
  }

  /**
   * Says what CreateAll would make, and makes nothing: names, branches, paths, where they
   * start and where their work goes. Names and parts of names that are drawn at random are
   * drawn again by CreateAll. It fails as CreateAll would, as far as that can be known before.
   */
  planCreate(request: CreateAllRequest, options?: CallOptions): Promise<CreateResult> {
    return this.send({ method: "POST", path: "/v1/workspaces/plan", fields: request, keyed: true, options });
  }

  /** Says what Provision would do, and writes nothing. */
  planProvision(request: PlanProvisionRequest = {}, options?: CallOptions): Promise<ProvisionPlan> {
    return this.send({ method: "POST", path: "/v1/workspaces/plan-provision", fields: request, keyed: false, options });
  }

  /**
   * Moves workspaces to the trash and answers for each. Calling it again for what is gone
   * succeeds. A workspace is kept, with the reason WORKSPACE_DIRTY, WORKSPACE_LOCKED or
   * WORKSPACE_BUSY, where the request's mode does not override that.
   */
  remove(request: RemoveRequest = {}, options?: CallOptions): Promise<RemoveResult> {
    return this.send({ method: "POST", path: "/v1/workspaces/remove", fields: request, keyed: true, options });
  }

  /**
   * Finds one live workspace, or with all one that was removed, or fails with
   * WORKTREE_NOT_FOUND.
   */
  getWorkspace(workspace: string, request: GetWorkspaceQuery = {}, options?: CallOptions): Promise<Workspace> {
    return this.send({ method: "GET", path: `/v1/workspaces/${segment(workspace)}`, fields: request, keyed: false, options });
  }

  /**
   * Changes the entries of a workspace's Meta that the request names, or gives it other ports.
   * A key or a value that cannot be recorded is INVALID_NAME. A workspace without ports that
   * is to get others is INVALID_REQUEST; LIMIT_REACHED says that none are free. If it fails,
   * the workspace has the ports that it had.
   */
  updateWorkspace(workspace: string, request: UpdateRequest = {}, options?: CallOptions): Promise<Workspace> {
    return this.send({ method: "PATCH", path: `/v1/workspaces/${segment(workspace)}`, fields: request, keyed: true, options });
  }

  /** Copies the scratch of a live workspace to the archives. */
  archiveScratch(workspace: string, request: ArchiveRequest = {}, options?: CallOptions): Promise<Archive> {
    return this.send({ method: "POST", path: `/v1/workspaces/${segment(workspace)}/archive`, fields: request, keyed: true, options });
  }

  /**
   * Says that an agent has ended. Uncommitted work is committed. The work goes to the lane if
   * the policy says so and the outcome is Succeeded, and is pending otherwise. It fails with
   * WORKSPACE_BROKEN if the workspace is not as it was left: then nothing was committed.
   */
  finish(workspace: string, request: FinishRequest = {}, options?: WaitOptions): Promise<Merge> {
    return this.send({ method: "POST", path: `/v1/workspaces/${segment(workspace)}/finish`, fields: request, keyed: true, options });
  }

  /**
   * Takes a lease. Several may be held on one workspace; an exclusive one is WORKSPACE_BUSY
   * while another is live, and while it is held so is every other. Its owner gets the same one
   * again, and so does a process with process. A workspace that is not ready is
   * WORKSPACE_BROKEN, an owner that must be seen and is not INVALID_REQUEST.
   */
  takeLease(workspace: string, request: LeaseRequest = {}, options?: CallOptions): Promise<Lease> {
    return this.send({ method: "POST", path: `/v1/workspaces/${segment(workspace)}/leases`, fields: request, keyed: true, options });
  }

  /** Protects a workspace from removal. Locking it again replaces the reason. */
  lock(workspace: string, request: LockRequest = {}, options?: CallOptions): Promise<Workspace> {
    return this.send({ method: "POST", path: `/v1/workspaces/${segment(workspace)}/lock`, fields: request, keyed: true, options });
  }

  /**
   * Commits the uncommitted work of a workspace and submits all its work to the lane. It
   * returns at once; WaitMerge waits. It fails with WORK_CHANGED if the request says which
   * work the caller has seen, and the workspace has other work by now.
   */
  submitMerge(workspace: string, request: MergeRequest = {}, options?: WaitOptions): Promise<Merge> {
    return this.send({ method: "POST", path: `/v1/workspaces/${segment(workspace)}/merge`, fields: request, keyed: true, options });
  }

  /**
   * Returns the mounts and the variables that a container needs to work in a workspace. It
   * fails with WORKSPACE_BROKEN if a part of the workspace is not a plain directory, and with
   * Unsupported if a sandbox could not be kept from what is not the workspace's: see Place.
   */
  mounts(workspace: string, request: MountsQuery = {}, options?: CallOptions): Promise<Mounts> {
    return this.send({ method: "GET", path: `/v1/workspaces/${segment(workspace)}/mounts`, fields: request, keyed: false, options });
  }

  /**
   * Returns a part of what the last agent of a workspace printed, also of one that was
   * removed. A workspace that had none, or whose output is not kept any more, is
   * RUN_NOT_FOUND.
   */
  runLog(workspace: string, request: RunLogQuery = {}, options?: CallOptions): Promise<RunLog> {
    return this.send({ method: "GET", path: `/v1/workspaces/${segment(workspace)}/output`, fields: request, keyed: false, options });
  }

  /** Describes a workspace of an open round to its agent. */
  prompt(workspace: string, request: PromptQuery = {}, options?: CallOptions): Promise<Prompt> {
    return this.send({ method: "GET", path: `/v1/workspaces/${segment(workspace)}/prompt`, fields: request, keyed: false, options });
  }

  /**
   * Brings in the files that are missing, and runs the commands by which a workspace is set
   * up, as the croft.toml of the commit says that it began with. Commands that nobody has
   * approved are not run, but named. One that fails is no error: the answer says so, and the
   * workspace stays usable. What a workspace has is never overwritten, but for copies that
   * nobody has changed, if they are to be renewed.
   */
  provision(workspace: string, request: ProvisionRequest = {}, options?: CallOptions): Promise<Provision> {
    return this.send({ method: "POST", path: `/v1/workspaces/${segment(workspace)}/provision`, fields: request, keyed: true, options });
  }

  /**
   * Commits the uncommitted work of a workspace as Save does, and puts the branch of the same
   * name at a remote to the commit that the workspace is at: no other branch, and only if that
   * branch is where Croft last pushed it, or has no commits that the workspace lacks;
   * otherwise it fails with REMOTE_ADVANCED and nothing is pushed. A branch that the workspace
   * has rewritten is rewritten there. With open it then opens a pull request for the branch,
   * or finds the open one. A second call does nothing again. The remote's address is the
   * accepted one; see GitConfigs. It fails with PUSH_REJECTED if the remote does not take the
   * commit, with REMOTE_UNREACHABLE if the remote does not answer or does not know the user,
   * and for an agent with ACCESS_DENIED, unless the user allows it.
   */
  push(workspace: string, request: PushRequest = {}, options?: CallOptions): Promise<Pushed> {
    return this.send({ method: "POST", path: `/v1/workspaces/${segment(workspace)}/push`, fields: request, keyed: false, options });
  }

  /**
   * Asks the host what became of the pull request of a workspace, and records it: whether it
   * was merged, by a merge, a squash or a rebase, whether the target there has the content of
   * what was pushed, or whether it was closed. It changes nothing there.
   */
  refreshPush(workspace: string, request: RefreshPushRequest = {}, options?: CallOptions): Promise<Pushed> {
    return this.send({ method: "POST", path: `/v1/workspaces/${segment(workspace)}/push/refresh`, fields: request, keyed: false, options });
  }

  /**
   * Records what the agent of a workspace does, and tells of it as workspace.reported. It is
   * no new revision of the workspace, and no act of the history.
   */
  reportAgent(workspace: string, request: ReportRequest, options?: CallOptions): Promise<Activity> {
    return this.send({ method: "POST", path: `/v1/workspaces/${segment(workspace)}/report`, fields: request, keyed: false, options });
  }

  /**
   * Brings the target into a workspace, so that conflicts can be resolved there and the merge
   * be submitted again.
   */
  resolve(workspace: string, request: MergeRequest = {}, options?: CallOptions): Promise<Resolution> {
    return this.send({ method: "POST", path: `/v1/workspaces/${segment(workspace)}/resolve`, fields: request, keyed: true, options });
  }

  /**
   * Freezes the work of a workspace without disturbing it. The review is on disk when
   * CreateReview returns. Repeated with its Key, it may leave out the lines of a large review.
   */
  createReview(workspace: string, request: ReviewRequest = {}, options?: CallOptions): Promise<Review> {
    return this.send({ method: "POST", path: `/v1/workspaces/${segment(workspace)}/reviews`, fields: request, keyed: true, options });
  }

  /**
   * Records that an agent is about to be started in a workspace. While another one runs there
   * it is WORKSPACE_BUSY. One whose processes are gone is recorded as lost first.
   */
  beginRun(workspace: string, request: BeginRunRequest, options?: CallOptions): Promise<Run> {
    return this.send({ method: "POST", path: `/v1/workspaces/${segment(workspace)}/runs`, fields: request, keyed: true, options });
  }

  /**
   * Records the process of a run, which takes a lease, that it goes on, which renews the
   * lease, or its end, which releases it. Each looks for changes outside of the workspace, and
   * tells of those as run.intruded. Of a run that has ended it changes nothing; one that is
   * not the last of its workspace is RUN_NOT_FOUND.
   */
  recordRun(workspace: string, run: ID, request: RecordRunRequest = {}, options?: CallOptions): Promise<Run> {
    return this.send({ method: "POST", path: `/v1/workspaces/${segment(workspace)}/runs/${segment(run)}`, fields: request, keyed: false, options });
  }

  /**
   * Commits the uncommitted work of a workspace to its branch, by the rules of Merges.Finish:
   * no program of the repository runs, no link is followed, and files that look like secrets
   * or are large stay uncommitted and are named. Without uncommitted work it succeeds, and its
   * answer has no commit. Paths choose a part of the work. Then nothing else may be staged,
   * and no merge may be in progress: both would go into the commit.
   */
  save(workspace: string, request: SaveRequest = {}, options?: CallOptions): Promise<Saved> {
    return this.send({ method: "POST", path: `/v1/workspaces/${segment(workspace)}/save`, fields: request, keyed: true, options });
  }

  /**
   * Saves the state of a workspace without disturbing it. The snapshot is on disk when
   * TakeSnapshot returns.
   */
  takeSnapshot(workspace: string, request: SnapshotRequest = {}, options?: CallOptions): Promise<Snapshot> {
    return this.send({ method: "POST", path: `/v1/workspaces/${segment(workspace)}/snapshots`, fields: request, keyed: true, options });
  }

  /**
   * Looks for uncommitted work. Role files that Croft put there do not count, nor does
   * STATE.json.
   */
  status(workspace: ID, options?: CallOptions): Promise<Status> {
    return this.send({ method: "GET", path: `/v1/workspaces/${segment(workspace)}/status`, fields: {}, keyed: false, options });
  }

  /**
   * Asks the processes of the agent to end, kills those that do not, and returns when all are
   * gone and the end is recorded. If none runs, the last one is returned as it ended; a
   * workspace that had none is RUN_NOT_FOUND.
   */
  stopRun(workspace: string, request: StopRunRequest = {}, options?: CallOptions): Promise<Run> {
    return this.send({ method: "POST", path: `/v1/workspaces/${segment(workspace)}/stop`, fields: request, keyed: false, options });
  }

  /** Removes the lock of a workspace. Unlocking it again succeeds. */
  unlock(workspace: string, request: LockRequest = {}, options?: CallOptions): Promise<Workspace> {
    return this.send({ method: "POST", path: `/v1/workspaces/${segment(workspace)}/unlock`, fields: request, keyed: true, options });
  }

  /**
   * Lists what git has registered in the repository: the main checkout, Croft's worktrees and
   * everybody else's.
   */
  worktrees(request: WorktreesQuery = {}, options?: CallOptions): Promise<WorktreeList> {
    return this.send({ method: "GET", path: "/v1/worktrees", fields: request, keyed: false, options });
  }

  /** The items of all pages of worktrees, asked for one page after the other. */
  iterateWorktrees(request: WorktreesQuery = {}, options?: CallOptions): AsyncGenerator<Worktree> {
    return this.pages("/v1/worktrees", request, options);
  }
}
