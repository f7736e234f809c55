package scope

import (
	"context"
	"iter"

	"github.com/croft-sh/croft"
)

// ReadOnly returns a Service that changes nothing: it has the calls that list, show, plan and
// wait, in all projects. Close does nothing.
func ReadOnly(svc croft.Service) croft.Service { return readOnly{svc: svc} }

type readOnly struct {
	denied
	svc croft.Service
}

func (r readOnly) Repo(ctx context.Context, req croft.RepoRequest) (*croft.Repo, error) {
	return r.svc.Repo(ctx, req)
}

func (r readOnly) Repos(ctx context.Context, req croft.ReposRequest) (*croft.List[croft.Repo], error) {
	return r.svc.Repos(ctx, req)
}

func (r readOnly) CheckRepo(ctx context.Context, req croft.RepoRequest) (*croft.Repo, error) {
	return r.svc.CheckRepo(ctx, req)
}

func (r readOnly) Branch(ctx context.Context, req croft.BranchRequest) (*croft.Branch, error) {
	return r.svc.Branch(ctx, req)
}

func (r readOnly) PlanProvision(ctx context.Context, req croft.PlanProvisionRequest) (*croft.ProvisionPlan, error) {
	return r.svc.PlanProvision(ctx, req)
}

func (r readOnly) PlanCreate(ctx context.Context, req croft.CreateAllRequest) (*croft.CreateResult, error) {
	return r.svc.PlanCreate(ctx, req)
}

func (r readOnly) Workspaces(ctx context.Context, req croft.WorkspacesRequest) (*croft.List[croft.Workspace], error) {
	return r.svc.Workspaces(ctx, req)
}

func (r readOnly) Workspace(ctx context.Context, req croft.WorkspaceRequest) (*croft.Workspace, error) {
	return r.svc.Workspace(ctx, req)
}

func (r readOnly) Worktrees(ctx context.Context, req croft.WorktreesRequest) (*croft.List[croft.Worktree], error) {
	return r.svc.Worktrees(ctx, req)
}

func (r readOnly) Status(ctx context.Context, req croft.StatusRequest) (*croft.Status, error) {
	return r.svc.Status(ctx, req)
}

func (r readOnly) CountActive(ctx context.Context, req croft.CountRequest) (*croft.Count, error) {
	return r.svc.CountActive(ctx, req)
}

func (r readOnly) Role(ctx context.Context, req croft.RoleRequest) (*croft.Role, error) {
	return r.svc.Role(ctx, req)
}

func (r readOnly) Mounts(ctx context.Context, req croft.MountsRequest) (*croft.Mounts, error) {
	return r.svc.Mounts(ctx, req)
}

func (r readOnly) Snapshot(ctx context.Context, req croft.GetRequest) (*croft.Snapshot, error) {
	return r.svc.Snapshot(ctx, req)
}

func (r readOnly) Snapshots(ctx context.Context, req croft.SnapshotsRequest) (*croft.List[croft.Snapshot], error) {
	return r.svc.Snapshots(ctx, req)
}

func (r readOnly) Conflicts(ctx context.Context, req croft.ConflictsRequest) (*croft.Forecast, error) {
	return r.svc.Conflicts(ctx, req)
}

func (r readOnly) Trash(ctx context.Context, req croft.TrashRequest) (*croft.List[croft.TrashItem], error) {
	return r.svc.Trash(ctx, req)
}

func (r readOnly) History(ctx context.Context, req croft.HistoryRequest) (*croft.List[croft.Operation], error) {
	return r.svc.History(ctx, req)
}

func (r readOnly) Operation(ctx context.Context, req croft.GetRequest) (*croft.Operation, error) {
	return r.svc.Operation(ctx, req)
}

func (r readOnly) PlanUndo(ctx context.Context, req croft.UndoRequest) (*croft.UndoPlan, error) {
	return r.svc.PlanUndo(ctx, req)
}

func (r readOnly) Merge(ctx context.Context, req croft.GetRequest) (*croft.Merge, error) {
	return r.svc.Merge(ctx, req)
}

func (r readOnly) Merges(ctx context.Context, req croft.MergesRequest) (*croft.List[croft.Merge], error) {
	return r.svc.Merges(ctx, req)
}

func (r readOnly) WaitMerge(ctx context.Context, req croft.WaitRequest) (*croft.Merge, error) {
	return r.svc.WaitMerge(ctx, req)
}

func (r readOnly) RunLog(ctx context.Context, req croft.RunLogRequest) (*croft.RunLog, error) {
	return r.svc.RunLog(ctx, req)
}

func (r readOnly) CheckLog(ctx context.Context, req croft.CheckLogRequest) (*croft.CheckLog, error) {
	return r.svc.CheckLog(ctx, req)
}

func (r readOnly) Lanes(ctx context.Context, req croft.LanesRequest) (*croft.List[croft.Lane], error) {
	return r.svc.Lanes(ctx, req)
}

func (r readOnly) PlanRevert(ctx context.Context, req croft.RevertRequest) (*croft.RevertPlan, error) {
	return r.svc.PlanRevert(ctx, req)
}

func (r readOnly) Diff(ctx context.Context, req croft.DiffRequest) (*croft.Review, error) {
	return r.svc.Diff(ctx, req)
}

func (r readOnly) Commits(ctx context.Context, req croft.CommitsRequest) (*croft.Commits, error) {
	return r.svc.Commits(ctx, req)
}

func (r readOnly) File(ctx context.Context, req croft.FileRequest) (*croft.FileContent, error) {
	return r.svc.File(ctx, req)
}

func (r readOnly) Review(ctx context.Context, req croft.GetRequest) (*croft.Review, error) {
	return r.svc.Review(ctx, req)
}

func (r readOnly) Session(ctx context.Context, req croft.GetRequest) (*croft.Session, error) {
	return r.svc.Session(ctx, req)
}

func (r readOnly) Sessions(ctx context.Context, req croft.SessionsRequest) (*croft.List[croft.Session], error) {
	return r.svc.Sessions(ctx, req)
}

func (r readOnly) Round(ctx context.Context, req croft.GetRequest) (*croft.Round, error) {
	return r.svc.Round(ctx, req)
}

func (r readOnly) Prompt(ctx context.Context, req croft.WorkspaceRequest) (*croft.Prompt, error) {
	return r.svc.Prompt(ctx, req)
}

func (r readOnly) Checks(ctx context.Context, req croft.ChecksRequest) (*croft.CheckPlan, error) {
	return r.svc.Checks(ctx, req)
}

func (r readOnly) GitConfig(ctx context.Context, req croft.GitConfigRequest) (*croft.GitConfig, error) {
	return r.svc.GitConfig(ctx, req)
}

func (r readOnly) Pool(ctx context.Context, req croft.PoolRequest) (*croft.Pool, error) {
	return r.svc.Pool(ctx, req)
}

// Doctor only looks.
func (r readOnly) Doctor(ctx context.Context, req croft.DoctorRequest) (*croft.DoctorResult, error) {
	if req.Fix != croft.FixNothing || req.Import == croft.ImportAll || req.Key != "" {
		return r.denied.Doctor(ctx, req)
	}
	return r.svc.Doctor(ctx, req)
}

func (r readOnly) Events(ctx context.Context, req croft.EventsRequest) iter.Seq2[croft.Event, error] {
	return r.svc.Events(ctx, req)
}
