package croft

import (
	"context"
	"iter"
)

// UnimplementedService refuses every call with Unsupported. An implementation embeds
// it, so that it goes on to compile when Service gets a method.
type UnimplementedService struct{ refusing }

var _ Service = UnimplementedService{}

// refusing has the calls of a Service, in its order, and refuses all of them.
type refusing struct{}

type ctx = context.Context

func no[T any]() (*T, error) {
	return nil, &Error{Code: Unsupported, Message: "this implementation does not have the call"}
}

func (refusing) Close() error { return nil }

func (refusing) Events(ctx, EventsRequest) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		_, err := no[Event]()
		yield(Event{}, err)
	}
}

func (refusing) Repo(ctx, RepoRequest) (*Repo, error)                   { return no[Repo]() }
func (refusing) CheckRepo(ctx, RepoRequest) (*Repo, error)              { return no[Repo]() }
func (refusing) Branch(ctx, BranchRequest) (*Branch, error)             { return no[Branch]() }
func (refusing) Role(ctx, RoleRequest) (*Role, error)                   { return no[Role]() }
func (refusing) CopyRole(ctx, RoleRequest) (*Role, error)               { return no[Role]() }
func (refusing) Create(ctx, CreateRequest) (*Workspace, error)          { return no[Workspace]() }
func (refusing) CreateAll(ctx, CreateAllRequest) (*CreateResult, error) { return no[CreateResult]() }

func (refusing) PlanCreate(ctx, CreateAllRequest) (*CreateResult, error) { return no[CreateResult]() }

func (refusing) Workspaces(ctx, WorkspacesRequest) (*List[Workspace], error) {
	return no[List[Workspace]]()
}
func (refusing) Workspace(ctx, WorkspaceRequest) (*Workspace, error) { return no[Workspace]() }
func (refusing) Worktrees(ctx, WorktreesRequest) (*List[Worktree], error) {
	return no[List[Worktree]]()
}
func (refusing) Status(ctx, StatusRequest) (*Status, error)           { return no[Status]() }
func (refusing) Remove(ctx, RemoveRequest) (*RemoveResult, error)     { return no[RemoveResult]() }
func (refusing) CountActive(ctx, CountRequest) (*Count, error)        { return no[Count]() }
func (refusing) Hold(ctx, HoldRequest) (*Lease, error)                { return no[Lease]() }
func (refusing) HoldFor(ctx, LeaseRequest) (*Lease, error)            { return no[Lease]() }
func (refusing) Renew(ctx, RenewRequest) (*Lease, error)              { return no[Lease]() }
func (refusing) Release(ctx, ReleaseRequest) (*Released, error)       { return no[Released]() }
func (refusing) Lock(ctx, LockRequest) (*Workspace, error)            { return no[Workspace]() }
func (refusing) Unlock(ctx, LockRequest) (*Workspace, error)          { return no[Workspace]() }
func (refusing) Mounts(ctx, MountsRequest) (*Mounts, error)           { return no[Mounts]() }
func (refusing) TakeSnapshot(ctx, SnapshotRequest) (*Snapshot, error) { return no[Snapshot]() }
func (refusing) Snapshot(ctx, GetRequest) (*Snapshot, error)          { return no[Snapshot]() }
func (refusing) Snapshots(ctx, SnapshotsRequest) (*List[Snapshot], error) {
	return no[List[Snapshot]]()
}
func (refusing) Conflicts(ctx, ConflictsRequest) (*Forecast, error)    { return no[Forecast]() }
func (refusing) Trash(ctx, TrashRequest) (*List[TrashItem], error)     { return no[List[TrashItem]]() }
func (refusing) Restore(ctx, RestoreRequest) (*Workspace, error)       { return no[Workspace]() }
func (refusing) History(ctx, HistoryRequest) (*List[Operation], error) { return no[List[Operation]]() }
func (refusing) Operation(ctx, GetRequest) (*Operation, error)         { return no[Operation]() }
func (refusing) PlanUndo(ctx, UndoRequest) (*UndoPlan, error)          { return no[UndoPlan]() }
func (refusing) Undo(ctx, UndoRequest) (*Operation, error)             { return no[Operation]() }
func (refusing) Finish(ctx, FinishRequest) (*Merge, error)             { return no[Merge]() }
func (refusing) SubmitMerge(ctx, MergeRequest) (*Merge, error)         { return no[Merge]() }
func (refusing) Merge(ctx, GetRequest) (*Merge, error)                 { return no[Merge]() }
func (refusing) WaitMerge(ctx, WaitRequest) (*Merge, error)            { return no[Merge]() }
func (refusing) Merges(ctx, MergesRequest) (*List[Merge], error)       { return no[List[Merge]]() }
func (refusing) DriveLanes(ctx, DriveRequest) (*QueueResult, error)    { return no[QueueResult]() }
func (refusing) ChangeQueue(ctx, QueueRequest) (*QueueResult, error)   { return no[QueueResult]() }
func (refusing) Lanes(ctx, LanesRequest) (*List[Lane], error)          { return no[List[Lane]]() }
func (refusing) AcceptTarget(ctx, AcceptRequest) (*Lane, error)        { return no[Lane]() }
func (refusing) Resolve(ctx, MergeRequest) (*Resolution, error)        { return no[Resolution]() }
func (refusing) PlanRevert(ctx, RevertRequest) (*RevertPlan, error)    { return no[RevertPlan]() }
func (refusing) SubmitRevert(ctx, RevertRequest) (*Merge, error)       { return no[Merge]() }
func (refusing) Discard(ctx, DiscardRequest) (*DiscardResult, error)   { return no[DiscardResult]() }
func (refusing) Diff(ctx, DiffRequest) (*Review, error)                { return no[Review]() }
func (refusing) CreateReview(ctx, ReviewRequest) (*Review, error)      { return no[Review]() }
func (refusing) Review(ctx, GetRequest) (*Review, error)               { return no[Review]() }
func (refusing) SubmitApply(ctx, ApplyRequest) (*Merge, error)         { return no[Merge]() }
func (refusing) StartSession(ctx, SessionRequest) (*Session, error)    { return no[Session]() }
func (refusing) Session(ctx, GetRequest) (*Session, error)             { return no[Session]() }
func (refusing) Sessions(ctx, SessionsRequest) (*List[Session], error) { return no[List[Session]]() }
func (refusing) StartRound(ctx, RoundRequest) (*Round, error)          { return no[Round]() }
func (refusing) Round(ctx, GetRequest) (*Round, error)                 { return no[Round]() }
func (refusing) EndRound(ctx, EndRoundRequest) (*Round, error)         { return no[Round]() }
func (refusing) Present(ctx, PresentRequest) (*Workspace, error)       { return no[Workspace]() }
func (refusing) EndSession(ctx, EndSessionRequest) (*Session, error)   { return no[Session]() }
func (refusing) ArchiveScratch(ctx, ArchiveRequest) (*Archive, error)  { return no[Archive]() }
func (refusing) Prompt(ctx, WorkspaceRequest) (*Prompt, error)         { return no[Prompt]() }
func (refusing) Reap(ctx, ReapRequest) (*CleanResult, error)           { return no[CleanResult]() }
func (refusing) Clean(ctx, CleanRequest) (*CleanResult, error)         { return no[CleanResult]() }
func (refusing) GC(ctx, GCRequest) (*GCResult, error)                  { return no[GCResult]() }
func (refusing) Doctor(ctx, DoctorRequest) (*DoctorResult, error)      { return no[DoctorResult]() }
func (refusing) Uninstall(ctx, UninstallRequest) (*UninstallResult, error) {
	return no[UninstallResult]()
}
func (refusing) Checks(ctx, ChecksRequest) (*CheckPlan, error)       { return no[CheckPlan]() }
func (refusing) Approve(ctx, ApproveRequest) (*CheckPlan, error)     { return no[CheckPlan]() }
func (refusing) GitConfig(ctx, GitConfigRequest) (*GitConfig, error) { return no[GitConfig]() }
func (refusing) AcceptGitConfig(ctx, AcceptGitConfigRequest) (*GitConfig, error) {
	return no[GitConfig]()
}
