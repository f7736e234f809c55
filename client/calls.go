package client

import (
	"context"

	"github.com/croft-sh/croft"
)

// The calls of croft.Service, in the order of its parts.

// Repo describes the project that a directory lies in.
func (c *Client) Repo(ctx context.Context, req croft.RepoRequest) (*croft.Repo, error) {
	return send[croft.RepoRequest, croft.Repo](ctx, c, "Repo", req)
}

// Repos lists the projects that the journal has.
func (c *Client) Repos(ctx context.Context, req croft.ReposRequest) (*croft.List[croft.Repo], error) {
	return send[croft.ReposRequest, croft.List[croft.Repo]](ctx, c, "Repos", req)
}

// CheckRepo describes a project in which workspaces can be made.
func (c *Client) CheckRepo(ctx context.Context, req croft.RepoRequest) (*croft.Repo, error) {
	return send[croft.RepoRequest, croft.Repo](ctx, c, "CheckRepo", req)
}

// Branch describes a local branch.
func (c *Client) Branch(ctx context.Context, req croft.BranchRequest) (*croft.Branch, error) {
	return send[croft.BranchRequest, croft.Branch](ctx, c, "Branch", req)
}

// Role returns the role that a request names.
func (c *Client) Role(ctx context.Context, req croft.RoleRequest) (*croft.Role, error) {
	return send[croft.RoleRequest, croft.Role](ctx, c, "Role", req)
}

// CopyRole copies a role's files into a workspace, also over the files that Croft
// copied before.
func (c *Client) CopyRole(ctx context.Context, req croft.RoleRequest) (*croft.Role, error) {
	return send[croft.RoleRequest, croft.Role](ctx, c, "CopyRole", req)
}

// Create makes one workspace.
func (c *Client) Create(ctx context.Context, req croft.CreateRequest) (*croft.Workspace, error) {
	return send[croft.CreateRequest, croft.Workspace](ctx, c, "Create", req)
}

// CreateAll makes several workspaces, all or none.
func (c *Client) CreateAll(ctx context.Context, req croft.CreateAllRequest) (*croft.CreateResult, error) {
	return send[croft.CreateAllRequest, croft.CreateResult](ctx, c, "CreateAll", req)
}

// PlanCreate returns the workspaces that CreateAll would make.
func (c *Client) PlanCreate(ctx context.Context, req croft.CreateAllRequest) (*croft.CreateResult, error) {
	return send[croft.CreateAllRequest, croft.CreateResult](ctx, c, "PlanCreate", req)
}

// Workspaces lists workspaces, oldest first.
func (c *Client) Workspaces(ctx context.Context, req croft.WorkspacesRequest) (*croft.List[croft.Workspace], error) {
	return send[croft.WorkspacesRequest, croft.List[croft.Workspace]](ctx, c, "Workspaces", req)
}

// Workspace finds and shows one workspace.
func (c *Client) Workspace(ctx context.Context, req croft.WorkspaceRequest) (*croft.Workspace, error) {
	return send[croft.WorkspaceRequest, croft.Workspace](ctx, c, "Workspace", req)
}

// Worktrees lists the worktrees that git has registered.
func (c *Client) Worktrees(ctx context.Context, req croft.WorktreesRequest) (*croft.List[croft.Worktree], error) {
	return send[croft.WorktreesRequest, croft.List[croft.Worktree]](ctx, c, "Worktrees", req)
}

// Status counts the uncommitted changes and the commits of a workspace.
func (c *Client) Status(ctx context.Context, req croft.StatusRequest) (*croft.Status, error) {
	return send[croft.StatusRequest, croft.Status](ctx, c, "Status", req)
}

// Remove moves workspaces to the trash, and says for each whether it was removed.
func (c *Client) Remove(ctx context.Context, req croft.RemoveRequest) (*croft.RemoveResult, error) {
	return send[croft.RemoveRequest, croft.RemoveResult](ctx, c, "Remove", req)
}

// CountActive counts the live workspaces.
func (c *Client) CountActive(ctx context.Context, req croft.CountRequest) (*croft.Count, error) {
	return send[croft.CountRequest, croft.Count](ctx, c, "CountActive", req)
}

// TakeLease takes a lease on a workspace.
func (c *Client) TakeLease(ctx context.Context, req croft.LeaseRequest) (*croft.Lease, error) {
	return send[croft.LeaseRequest, croft.Lease](ctx, c, "TakeLease", req)
}

// Renew extends a lease from now on.
func (c *Client) Renew(ctx context.Context, req croft.RenewRequest) (*croft.Lease, error) {
	return send[croft.RenewRequest, croft.Lease](ctx, c, "Renew", req)
}

// Release releases a lease.
func (c *Client) Release(ctx context.Context, req croft.ReleaseRequest) (*croft.Released, error) {
	return send[croft.ReleaseRequest, croft.Released](ctx, c, "Release", req)
}

// Lock sets the user's lock of a workspace.
func (c *Client) Lock(ctx context.Context, req croft.LockRequest) (*croft.Workspace, error) {
	return send[croft.LockRequest, croft.Workspace](ctx, c, "Lock", req)
}

// ReportAgent records what the agent of a workspace does.
func (c *Client) ReportAgent(ctx context.Context, req croft.ReportRequest) (*croft.Activity, error) {
	return send[croft.ReportRequest, croft.Activity](ctx, c, "ReportAgent", req)
}

// BeginRun records that an agent is about to be started in a workspace.
func (c *Client) BeginRun(ctx context.Context, req croft.BeginRunRequest) (*croft.Run, error) {
	return send[croft.BeginRunRequest, croft.Run](ctx, c, "BeginRun", req)
}

// RecordRun records the process of a run, that it goes on, or its end.
func (c *Client) RecordRun(ctx context.Context, req croft.RecordRunRequest) (*croft.Run, error) {
	return send[croft.RecordRunRequest, croft.Run](ctx, c, "RecordRun", req)
}

// StopRun ends the agent that runs in a workspace.
func (c *Client) StopRun(ctx context.Context, req croft.StopRunRequest) (*croft.Run, error) {
	return send[croft.StopRunRequest, croft.Run](ctx, c, "StopRun", req)
}

// RunLog returns a part of what the last agent of a workspace printed.
func (c *Client) RunLog(ctx context.Context, req croft.RunLogRequest) (*croft.RunLog, error) {
	return send[croft.RunLogRequest, croft.RunLog](ctx, c, "RunLog", req)
}

// Adopt makes workspaces of worktrees that somebody else made.
func (c *Client) Adopt(ctx context.Context, req croft.AdoptRequest) (*croft.AdoptResult, error) {
	return send[croft.AdoptRequest, croft.AdoptResult](ctx, c, "Adopt", req)
}

// Provision runs the commands by which a workspace is set up.
func (c *Client) Provision(ctx context.Context, req croft.ProvisionRequest) (*croft.Provision, error) {
	return send[croft.ProvisionRequest, croft.Provision](ctx, c, "Provision", req)
}

// PlanProvision says what would be done to make a workspace usable.
func (c *Client) PlanProvision(ctx context.Context, req croft.PlanProvisionRequest) (*croft.ProvisionPlan, error) {
	return send[croft.PlanProvisionRequest, croft.ProvisionPlan](ctx, c, "PlanProvision", req)
}

// UpdateWorkspace changes what callers record with a workspace, or moves its ports.
func (c *Client) UpdateWorkspace(ctx context.Context, req croft.UpdateRequest) (*croft.Workspace, error) {
	return send[croft.UpdateRequest, croft.Workspace](ctx, c, "UpdateWorkspace", req)
}

// Unlock removes the user's lock of a workspace.
func (c *Client) Unlock(ctx context.Context, req croft.LockRequest) (*croft.Workspace, error) {
	return send[croft.LockRequest, croft.Workspace](ctx, c, "Unlock", req)
}

// Mounts lists the directories and files that a container has to mount to work in a
// workspace.
func (c *Client) Mounts(ctx context.Context, req croft.MountsRequest) (*croft.Mounts, error) {
	return send[croft.MountsRequest, croft.Mounts](ctx, c, "Mounts", req)
}

// Save commits the uncommitted work of a workspace.
func (c *Client) Save(ctx context.Context, req croft.SaveRequest) (*croft.Saved, error) {
	return send[croft.SaveRequest, croft.Saved](ctx, c, "Save", req)
}

// TakeSnapshot saves the state of a workspace.
func (c *Client) TakeSnapshot(ctx context.Context, req croft.SnapshotRequest) (*croft.Snapshot, error) {
	return send[croft.SnapshotRequest, croft.Snapshot](ctx, c, "TakeSnapshot", req)
}

// Snapshot finds a snapshot.
func (c *Client) Snapshot(ctx context.Context, req croft.GetRequest) (*croft.Snapshot, error) {
	return send[croft.GetRequest, croft.Snapshot](ctx, c, "Snapshot", req)
}

// Snapshots lists the snapshots of a repository.
func (c *Client) Snapshots(ctx context.Context, req croft.SnapshotsRequest) (*croft.List[croft.Snapshot], error) {
	return send[croft.SnapshotsRequest, croft.List[croft.Snapshot]](ctx, c, "Snapshots", req)
}

// Conflicts forecasts which workspaces will collide.
func (c *Client) Conflicts(ctx context.Context, req croft.ConflictsRequest) (*croft.Forecast, error) {
	return send[croft.ConflictsRequest, croft.Forecast](ctx, c, "Conflicts", req)
}

// Trash lists the workspaces that can be restored, the last removed first.
func (c *Client) Trash(ctx context.Context, req croft.TrashRequest) (*croft.List[croft.TrashItem], error) {
	return send[croft.TrashRequest, croft.List[croft.TrashItem]](ctx, c, "Trash", req)
}

// Restore restores a removed workspace, or rewinds one to a snapshot.
func (c *Client) Restore(ctx context.Context, req croft.RestoreRequest) (*croft.Workspace, error) {
	return send[croft.RestoreRequest, croft.Workspace](ctx, c, "Restore", req)
}

// History lists acts, the last first.
func (c *Client) History(ctx context.Context, req croft.HistoryRequest) (*croft.List[croft.Operation], error) {
	return send[croft.HistoryRequest, croft.List[croft.Operation]](ctx, c, "History", req)
}

// Operation finds an act.
func (c *Client) Operation(ctx context.Context, req croft.GetRequest) (*croft.Operation, error) {
	return send[croft.GetRequest, croft.Operation](ctx, c, "Operation", req)
}

// PlanUndo returns the steps that Undo would take.
func (c *Client) PlanUndo(ctx context.Context, req croft.UndoRequest) (*croft.UndoPlan, error) {
	return send[croft.UndoRequest, croft.UndoPlan](ctx, c, "PlanUndo", req)
}

// Undo undoes an act.
func (c *Client) Undo(ctx context.Context, req croft.UndoRequest) (*croft.Operation, error) {
	return send[croft.UndoRequest, croft.Operation](ctx, c, "Undo", req)
}

// Finish records that the agent of a workspace has ended, and commits its uncommitted
// work.
func (c *Client) Finish(ctx context.Context, req croft.FinishRequest) (*croft.Merge, error) {
	return send[croft.FinishRequest, croft.Merge](ctx, c, "Finish", req)
}

// Push pushes the work of a workspace to a remote.
func (c *Client) Push(ctx context.Context, req croft.PushRequest) (*croft.Pushed, error) {
	return send[croft.PushRequest, croft.Pushed](ctx, c, "Push", req)
}

// RefreshPush asks the host what became of the pull request of a workspace.
func (c *Client) RefreshPush(ctx context.Context, req croft.RefreshPushRequest) (*croft.Pushed, error) {
	return send[croft.RefreshPushRequest, croft.Pushed](ctx, c, "RefreshPush", req)
}

// FetchPullRequest fetches the commits of a pull request.
func (c *Client) FetchPullRequest(ctx context.Context, req croft.FetchPullRequestRequest) (*croft.PullRequestHead, error) {
	return send[croft.FetchPullRequestRequest, croft.PullRequestHead](ctx, c, "FetchPullRequest", req)
}

// SubmitMerge commits the uncommitted work of a workspace, and submits all its work for a
// merge.
func (c *Client) SubmitMerge(ctx context.Context, req croft.MergeRequest) (*croft.Merge, error) {
	return send[croft.MergeRequest, croft.Merge](ctx, c, "SubmitMerge", req)
}

// SubmitMerges commits the uncommitted work of several workspaces, and submits all their work
// for merges.
func (c *Client) SubmitMerges(ctx context.Context, req croft.SubmitMergesRequest) (*croft.SubmitResult, error) {
	return send[croft.SubmitMergesRequest, croft.SubmitResult](ctx, c, "SubmitMerges", req)
}

// Merge finds a merge.
func (c *Client) Merge(ctx context.Context, req croft.GetRequest) (*croft.Merge, error) {
	return send[croft.GetRequest, croft.Merge](ctx, c, "Merge", req)
}

// WaitMerge waits until a merge has ended, and drives its lane if no process does.
func (c *Client) WaitMerge(ctx context.Context, req croft.WaitRequest) (*croft.Merge, error) {
	return send[croft.WaitRequest, croft.Merge](ctx, c, "WaitMerge", req)
}

// Merges lists the merges that a request asks for.
func (c *Client) Merges(ctx context.Context, req croft.MergesRequest) (*croft.List[croft.Merge], error) {
	return send[croft.MergesRequest, croft.List[croft.Merge]](ctx, c, "Merges", req)
}

// CheckLog returns a part of the output of a check.
func (c *Client) CheckLog(ctx context.Context, req croft.CheckLogRequest) (*croft.CheckLog, error) {
	return send[croft.CheckLogRequest, croft.CheckLog](ctx, c, "CheckLog", req)
}

// DriveLanes drives the lanes of a repository until they are empty.
func (c *Client) DriveLanes(ctx context.Context, req croft.DriveRequest) (*croft.QueueResult, error) {
	return send[croft.DriveRequest, croft.QueueResult](ctx, c, "DriveLanes", req)
}

// ChangeQueue holds, releases or cancels merges that wait.
func (c *Client) ChangeQueue(ctx context.Context, req croft.QueueRequest) (*croft.QueueResult, error) {
	return send[croft.QueueRequest, croft.QueueResult](ctx, c, "ChangeQueue", req)
}

// Lanes lists the targets that lanes have moved.
func (c *Client) Lanes(ctx context.Context, req croft.LanesRequest) (*croft.List[croft.Lane], error) {
	return send[croft.LanesRequest, croft.List[croft.Lane]](ctx, c, "Lanes", req)
}

// AcceptTarget accepts the commit that a target is at now.
func (c *Client) AcceptTarget(ctx context.Context, req croft.AcceptRequest) (*croft.Lane, error) {
	return send[croft.AcceptRequest, croft.Lane](ctx, c, "AcceptTarget", req)
}

// Resolve brings the target into a workspace.
func (c *Client) Resolve(ctx context.Context, req croft.MergeRequest) (*croft.Resolution, error) {
	return send[croft.MergeRequest, croft.Resolution](ctx, c, "Resolve", req)
}

// PlanRevert returns the plan of a revert, with its conflicts.
func (c *Client) PlanRevert(ctx context.Context, req croft.RevertRequest) (*croft.RevertPlan, error) {
	return send[croft.RevertRequest, croft.RevertPlan](ctx, c, "PlanRevert", req)
}

// ResolveRevert makes a workspace in which the conflicts of a revert are resolved.
func (c *Client) ResolveRevert(ctx context.Context, req croft.RevertRequest) (*croft.Resolution, error) {
	return send[croft.RevertRequest, croft.Resolution](ctx, c, "ResolveRevert", req)
}

// SubmitRevert submits the revert of a merge to its lane.
func (c *Client) SubmitRevert(ctx context.Context, req croft.RevertRequest) (*croft.Merge, error) {
	return send[croft.RevertRequest, croft.Merge](ctx, c, "SubmitRevert", req)
}

// Discard moves workspaces with unwanted work to the trash.
func (c *Client) Discard(ctx context.Context, req croft.DiscardRequest) (*croft.DiscardResult, error) {
	return send[croft.DiscardRequest, croft.DiscardResult](ctx, c, "Discard", req)
}

// Diff shows work, and keeps nothing of it.
func (c *Client) Diff(ctx context.Context, req croft.DiffRequest) (*croft.Review, error) {
	return send[croft.DiffRequest, croft.Review](ctx, c, "Diff", req)
}

// Commits lists the commits of a workspace.
func (c *Client) Commits(ctx context.Context, req croft.CommitsRequest) (*croft.Commits, error) {
	return send[croft.CommitsRequest, croft.Commits](ctx, c, "Commits", req)
}

// File returns a part of a file on one side of work.
func (c *Client) File(ctx context.Context, req croft.FileRequest) (*croft.FileContent, error) {
	return send[croft.FileRequest, croft.FileContent](ctx, c, "File", req)
}

// CreateReview saves the present work of a workspace for a review.
func (c *Client) CreateReview(ctx context.Context, req croft.ReviewRequest) (*croft.Review, error) {
	return send[croft.ReviewRequest, croft.Review](ctx, c, "CreateReview", req)
}

// Review finds a review.
func (c *Client) Review(ctx context.Context, req croft.GetRequest) (*croft.Review, error) {
	return send[croft.GetRequest, croft.Review](ctx, c, "Review", req)
}

// SubmitApply submits the chosen part of a review to its lane.
func (c *Client) SubmitApply(ctx context.Context, req croft.ApplyRequest) (*croft.Merge, error) {
	return send[croft.ApplyRequest, croft.Merge](ctx, c, "SubmitApply", req)
}

// StartSession begins a session.
func (c *Client) StartSession(ctx context.Context, req croft.SessionRequest) (*croft.Session, error) {
	return send[croft.SessionRequest, croft.Session](ctx, c, "StartSession", req)
}

// Session finds a session.
func (c *Client) Session(ctx context.Context, req croft.GetRequest) (*croft.Session, error) {
	return send[croft.GetRequest, croft.Session](ctx, c, "Session", req)
}

// Sessions lists sessions, oldest first.
func (c *Client) Sessions(ctx context.Context, req croft.SessionsRequest) (*croft.List[croft.Session], error) {
	return send[croft.SessionsRequest, croft.List[croft.Session]](ctx, c, "Sessions", req)
}

// StartRound makes the checkouts of a round.
func (c *Client) StartRound(ctx context.Context, req croft.RoundRequest) (*croft.Round, error) {
	return send[croft.RoundRequest, croft.Round](ctx, c, "StartRound", req)
}

// Round finds a round.
func (c *Client) Round(ctx context.Context, req croft.GetRequest) (*croft.Round, error) {
	return send[croft.GetRequest, croft.Round](ctx, c, "Round", req)
}

// EndRound ends a round: it commits and archives the work of its agents, and removes
// the checkouts.
func (c *Client) EndRound(ctx context.Context, req croft.EndRoundRequest) (*croft.Round, error) {
	return send[croft.EndRoundRequest, croft.Round](ctx, c, "EndRound", req)
}

// Present makes the workspace that ends a session.
func (c *Client) Present(ctx context.Context, req croft.PresentRequest) (*croft.Workspace, error) {
	return send[croft.PresentRequest, croft.Workspace](ctx, c, "Present", req)
}

// EndSession ends a session.
func (c *Client) EndSession(ctx context.Context, req croft.EndSessionRequest) (*croft.Session, error) {
	return send[croft.EndSessionRequest, croft.Session](ctx, c, "EndSession", req)
}

// ArchiveScratch copies the scratch directory of a live workspace to the archives.
func (c *Client) ArchiveScratch(ctx context.Context, req croft.ArchiveRequest) (*croft.Archive, error) {
	return send[croft.ArchiveRequest, croft.Archive](ctx, c, "ArchiveScratch", req)
}

// Prompt describes a workspace to its agent.
func (c *Client) Prompt(ctx context.Context, req croft.WorkspaceRequest) (*croft.Prompt, error) {
	return send[croft.WorkspaceRequest, croft.Prompt](ctx, c, "Prompt", req)
}

// Reap removes orphaned workspaces.
func (c *Client) Reap(ctx context.Context, req croft.ReapRequest) (*croft.CleanResult, error) {
	return send[croft.ReapRequest, croft.CleanResult](ctx, c, "Reap", req)
}

// Clean removes workspaces whose work is merged, or with ScopeAll every workspace.
func (c *Client) Clean(ctx context.Context, req croft.CleanRequest) (*croft.CleanResult, error) {
	return send[croft.CleanRequest, croft.CleanResult](ctx, c, "Clean", req)
}

// GC deletes trash, branches and all else that is not needed any more.
func (c *Client) GC(ctx context.Context, req croft.GCRequest) (*croft.GCResult, error) {
	return send[croft.GCRequest, croft.GCResult](ctx, c, "GC", req)
}

// Doctor compares records, refs, registrations and disk, and returns what is wrong.
func (c *Client) Doctor(ctx context.Context, req croft.DoctorRequest) (*croft.DoctorResult, error) {
	return send[croft.DoctorRequest, croft.DoctorResult](ctx, c, "Doctor", req)
}

// Pool describes the checkouts that are kept in stock for new workspaces.
func (c *Client) Pool(ctx context.Context, req croft.PoolRequest) (*croft.Pool, error) {
	return send[croft.PoolRequest, croft.Pool](ctx, c, "Pool", req)
}

// ChangePool fills the pool of a project, or empties it.
func (c *Client) ChangePool(ctx context.Context, req croft.ChangePoolRequest) (*croft.Pool, error) {
	return send[croft.ChangePoolRequest, croft.Pool](ctx, c, "ChangePool", req)
}

// Uninstall removes everything of Croft's from a repository, or from the machine.
func (c *Client) Uninstall(ctx context.Context, req croft.UninstallRequest) (*croft.UninstallResult, error) {
	return send[croft.UninstallRequest, croft.UninstallResult](ctx, c, "Uninstall", req)
}

// Checks shows the checks that a target's tip asks for.
func (c *Client) Checks(ctx context.Context, req croft.ChecksRequest) (*croft.CheckPlan, error) {
	return send[croft.ChecksRequest, croft.CheckPlan](ctx, c, "Checks", req)
}

// Approve allows the checks of a target to run.
func (c *Client) Approve(ctx context.Context, req croft.ApproveRequest) (*croft.CheckPlan, error) {
	return send[croft.ApproveRequest, croft.CheckPlan](ctx, c, "Approve", req)
}

// GitConfig compares the repository's git configuration with the accepted one, which
// Croft uses.
func (c *Client) GitConfig(ctx context.Context, req croft.GitConfigRequest) (*croft.GitConfig, error) {
	return send[croft.GitConfigRequest, croft.GitConfig](ctx, c, "GitConfig", req)
}

// AcceptGitConfig makes Croft use the repository's git configuration from now on. It
// refuses inside a workspace: only the user may accept it, not an agent.
func (c *Client) AcceptGitConfig(ctx context.Context, req croft.AcceptGitConfigRequest) (*croft.GitConfig, error) {
	return send[croft.AcceptGitConfigRequest, croft.GitConfig](ctx, c, "AcceptGitConfig", req)
}
