package engine

import (
	"context"
	"iter"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/project"
)

// The methods of croft.Service, in its order: what errors call each of them, which
// project it needs, and the method of the room that does the work. What all of them have in
// common is in do and doIn.

// Repo describes the project that a directory lies in.
func (e *Engine) Repo(ctx context.Context, dir string) (*croft.Repo, error) {
	return doIn(ctx, e, call{op: "repo", repo: dir, needs: gitRepository}, dir, e.projects.DescribeRepo)
}

// Check says whether workspaces can be made.
func (e *Engine) Check(ctx context.Context, dir string) error {
	_, err := doIn(ctx, e, call{op: "check", repo: dir, needs: gitRepository}, dir, noResultIn(project.CheckRepo))
	return err
}

// BranchExists says whether a local branch is there.
func (e *Engine) BranchExists(ctx context.Context, dir, branch string) (bool, error) {
	return doIn(ctx, e, call{op: "branch", repo: dir, needs: gitRepository}, branch, project.BranchIsThere)
}

// Create makes one workspace.
func (e *Engine) Create(ctx context.Context, req croft.CreateRequest) (*croft.Workspace, error) {
	list, err := e.CreateAll(ctx, croft.CreateAllRequest{Key: req.Key, Repo: req.Repo, Workspaces: []croft.CreateRequest{req}})
	if err != nil {
		return nil, err
	}
	return &list[0], nil
}

// CreateAll makes several workspaces, all or none.
func (e *Engine) CreateAll(ctx context.Context, req croft.CreateAllRequest) ([]croft.Workspace, error) {
	return do(ctx, e, call{op: "create"}, req, func(ctx context.Context, req croft.CreateAllRequest) ([]croft.Workspace, error) {
		return e.workspaces.CreateMany(ctx, req, nil)
	})
}

// Plan says what CreateAll would make.
func (e *Engine) Plan(ctx context.Context, req croft.CreateAllRequest) ([]croft.Workspace, error) {
	return doIn(ctx, e, call{op: "create", repo: req.Repo}, req, e.workspaces.PlanCreation)
}

// Workspaces lists workspaces, oldest first.
func (e *Engine) Workspaces(ctx context.Context, f croft.Filter) ([]croft.Workspace, error) {
	return doIn(ctx, e, call{op: "list", repo: f.Repo}, f, e.views.ListWorkspaces)
}

// Workspace finds one workspace.
func (e *Engine) Workspace(ctx context.Context, req croft.WorkspaceRequest) (*croft.Workspace, error) {
	return doIn(ctx, e, call{op: "show", workspace: req.Ref, repo: req.Repo}, req, e.views.ShowWorkspace)
}

// Worktrees lists what git has registered.
func (e *Engine) Worktrees(ctx context.Context, dir string) ([]croft.Worktree, error) {
	return doIn(ctx, e, call{op: "list", repo: dir, needs: gitRepository}, dir, e.views.ListWorktrees)
}

// Status looks for uncommitted work.
func (e *Engine) Status(ctx context.Context, id croft.ID) (*croft.Status, error) {
	return do(ctx, e, call{op: "status", workspace: string(id)}, id, e.views.StatusByID)
}

// Remove moves workspaces to the trash and answers for each.
func (e *Engine) Remove(ctx context.Context, req croft.RemoveRequest) (*croft.RemoveResult, error) {
	return doIn(ctx, e, call{op: "remove", repo: req.Repo, recovers: beforeActing}, req, e.removals.RemoveRequested)
}

// CountActive counts the live workspaces.
func (e *Engine) CountActive(ctx context.Context, dir string) (int, error) {
	return doIn(ctx, e, call{op: "count", repo: dir}, dir, e.views.CountLive)
}

// Role looks a role up.
func (e *Engine) Role(ctx context.Context, req croft.RoleRequest) (*croft.Role, error) {
	return doIn(ctx, e, call{op: "role", repo: req.Repo}, req, e.workspaces.RoleNamed)
}

// CopyRole copies a role's files into a workspace, again if they were there.
func (e *Engine) CopyRole(ctx context.Context, req croft.RoleRequest) (*croft.Role, error) {
	return doOn(ctx, e, call{op: "role", workspace: req.Workspace, repo: req.Repo, needs: gitRepository}, req, e.workspaces.UpdateRole)
}

// Lock protects a workspace.
func (e *Engine) Lock(ctx context.Context, req croft.LockRequest) (*croft.Workspace, error) {
	return doOn(ctx, e, call{op: "lock", workspace: req.Workspace, repo: req.Repo}, req, e.workspaces.LockWorkspace)
}

// Unlock takes a person's protection away.
func (e *Engine) Unlock(ctx context.Context, req croft.LockRequest) (*croft.Workspace, error) {
	return doOn(ctx, e, call{op: "unlock", workspace: req.Workspace, repo: req.Repo}, req, e.workspaces.UnlockWorkspace)
}

// Hold takes a lease and renews it until it is released or the engine is
// closed.
func (e *Engine) Hold(ctx context.Context, workspace croft.ID) (*croft.Lease, error) {
	return do(ctx, e, call{op: "hold", workspace: string(workspace)}, workspace, e.workspaces.HoldByID)
}

// HoldFor takes a lease in the name of another process.
func (e *Engine) HoldFor(ctx context.Context, req croft.LeaseRequest) (*croft.Lease, error) {
	return do(ctx, e, call{op: "hold", workspace: req.Workspace}, req, e.holdFor)
}

// Renew prolongs a lease.
func (e *Engine) Renew(ctx context.Context, lease croft.ID) (*croft.Lease, error) {
	return do(ctx, e, call{op: "renew"}, lease, e.workspaces.RenewLease)
}

// Release gives a lease back.
func (e *Engine) Release(ctx context.Context, lease croft.ID) error {
	_, err := do(ctx, e, call{op: "release"}, lease, noResult(e.workspaces.ReleaseLease))
	return err
}

// Mounts says what a container needs to work in a workspace.
func (e *Engine) Mounts(ctx context.Context, req croft.MountsRequest) (*croft.Mounts, error) {
	return doOn(ctx, e, call{op: "mounts", workspace: req.Workspace, repo: req.Repo}, req, e.workspaces.MountsFor)
}

// Snapshot saves the state of a workspace.
func (e *Engine) Snapshot(ctx context.Context, req croft.SnapshotRequest) (*croft.Snapshot, error) {
	return doOn(ctx, e, call{op: "snapshot", workspace: req.Workspace, repo: req.Repo, needs: gitRepository, recovers: beforeActing}, req, e.rewinds.TakeSnapshot)
}

// Snapshots lists the snapshots of a repository.
func (e *Engine) Snapshots(ctx context.Context, dir string) ([]croft.Snapshot, error) {
	return doIn(ctx, e, call{op: "snapshot", repo: dir, needs: gitRepository}, dir, e.rewinds.ListSnapshots)
}

// Conflicts forecasts which workspaces will collide.
func (e *Engine) Conflicts(ctx context.Context, req croft.ConflictsRequest) (*croft.Forecast, error) {
	return doIn(ctx, e, call{op: "conflicts", repo: req.Repo, needs: gitRepository}, req, e.forecasts.ShowConflicts)
}

// Trash lists what can be restored, the most recently removed first.
func (e *Engine) Trash(ctx context.Context, dir string) ([]croft.TrashItem, error) {
	return doIn(ctx, e, call{op: "trash", repo: dir}, dir, e.trash.List)
}

// Restore brings a removed workspace back.
func (e *Engine) Restore(ctx context.Context, req croft.RestoreRequest) (*croft.Workspace, error) {
	return doIn(ctx, e, call{op: "restore", workspace: req.Ref, repo: req.Repo, needs: gitRepository, recovers: beforeActing}, req, e.rewinds.RestoreRequested)
}

// History lists acts, the last first.
func (e *Engine) History(ctx context.Context, req croft.HistoryRequest) ([]croft.Operation, error) {
	return doIn(ctx, e, call{op: "history", repo: req.Repo}, req, e.history.ShowHistory)
}

// PlanUndo says what Undo would do.
func (e *Engine) PlanUndo(ctx context.Context, req croft.UndoRequest) (*croft.UndoPlan, error) {
	return doIn(ctx, e, call{op: "undo", repo: req.Repo}, req, e.history.PlanUndoing)
}

// Undo takes an act back.
func (e *Engine) Undo(ctx context.Context, req croft.UndoRequest) (*croft.Operation, error) {
	return doIn(ctx, e, call{op: "undo", repo: req.Repo, needs: gitRepository, recovers: beforeActing}, req, e.history.UndoAct)
}

// Finish says that an agent has ended.
func (e *Engine) Finish(ctx context.Context, req croft.FinishRequest) (*croft.Merge, error) {
	return do(ctx, e, call{op: "finish", workspace: req.Workspace}, req, e.lanes.FinishWork)
}

// Merge commits what is uncommitted and submits a workspace's work.
func (e *Engine) Merge(ctx context.Context, req croft.MergeRequest) (*croft.Merge, error) {
	return doIn(ctx, e, call{op: "merge", workspace: req.Workspace, repo: req.Repo, needs: gitRepository, recovers: beforeActing}, req, e.lanes.SubmitMerge)
}

// WaitMerge waits until a merge has ended, and drives its lane where nobody
// else does.
func (e *Engine) WaitMerge(ctx context.Context, id croft.ID) (*croft.Merge, error) {
	return do(ctx, e, call{op: "merge"}, id, e.lanes.AwaitMerge)
}

// Merges lists merges.
func (e *Engine) Merges(ctx context.Context, req croft.MergesRequest) ([]croft.Merge, error) {
	return doIn(ctx, e, call{op: "queue", repo: req.Repo}, req, e.lanes.ListMerges)
}

// RunQueue drives the lanes of a repository until they are empty.
func (e *Engine) RunQueue(ctx context.Context, req croft.MergesRequest) ([]croft.Merge, error) {
	return doIn(ctx, e, call{op: "queue", repo: req.Repo, needs: gitRepository, recovers: beforeActing}, req, e.lanes.RunLanes)
}

// Queue holds, releases or cancels merges that wait.
func (e *Engine) Queue(ctx context.Context, req croft.QueueRequest) ([]croft.Merge, error) {
	return doIn(ctx, e, call{op: "queue", repo: req.Repo}, req, e.lanes.ChangeQueue)
}

// Lanes lists the targets that lanes have moved.
func (e *Engine) Lanes(ctx context.Context, req croft.MergesRequest) ([]croft.Lane, error) {
	return doIn(ctx, e, call{op: "queue", repo: req.Repo}, req, e.lanes.ListLanes)
}

// Accept says that a target may be where it is.
func (e *Engine) Accept(ctx context.Context, req croft.AcceptRequest) (*croft.Lane, error) {
	return doIn(ctx, e, call{op: "queue", repo: req.Repo, needs: gitRepository}, req, e.lanes.AcceptMoved)
}

// Resolve brings the target into a workspace.
func (e *Engine) Resolve(ctx context.Context, req croft.MergeRequest) (*croft.Resolution, error) {
	return doOn(ctx, e, call{op: "resolve", workspace: req.Workspace, repo: req.Repo, needs: gitRepository, recovers: beforeActing}, req, e.resolver.ResolveConflicts)
}

// PlanRevert says what a revert would meet.
func (e *Engine) PlanRevert(ctx context.Context, req croft.RevertRequest) (*croft.RevertPlan, error) {
	return doIn(ctx, e, call{op: "revert", workspace: req.Ref, repo: req.Repo, needs: gitRepository}, req, e.lanes.ShowRevert)
}

// Revert takes a merge back, through its lane.
func (e *Engine) Revert(ctx context.Context, req croft.RevertRequest) (*croft.Merge, error) {
	return doIn(ctx, e, call{op: "revert", workspace: req.Ref, repo: req.Repo, needs: gitRepository, recovers: beforeActing}, req, e.lanes.RevertMerge)
}

// Discard moves workspaces to the trash whose work is not wanted.
func (e *Engine) Discard(ctx context.Context, req croft.DiscardRequest) ([]croft.Merge, error) {
	return doIn(ctx, e, call{op: "discard", repo: req.Repo, recovers: beforeActing}, req, e.removals.DiscardEach)
}

// Diff shows the work of a workspace and keeps nothing.
func (e *Engine) Diff(ctx context.Context, req croft.DiffRequest) (*croft.Review, error) {
	return doOn(ctx, e, call{op: "diff", workspace: req.Workspace, repo: req.Repo, needs: gitRepository}, req, e.reviews.DiffWork)
}

// Review freezes the work of a workspace.
func (e *Engine) Review(ctx context.Context, req croft.ReviewRequest) (*croft.Review, error) {
	return doOn(ctx, e, call{op: "review", workspace: req.Workspace, repo: req.Repo, needs: gitRepository, recovers: beforeActing}, req, e.reviews.ReviewWork)
}

// Apply brings the chosen part of a review to its target.
func (e *Engine) Apply(ctx context.Context, req croft.ApplyRequest) (*croft.Merge, error) {
	return doIn(ctx, e, call{op: "apply", workspace: req.Workspace, repo: req.Repo, needs: gitRepository, recovers: beforeActing}, req, e.reviews.ApplyParts)
}

// StartSession begins a session.
func (e *Engine) StartSession(ctx context.Context, req croft.SessionRequest) (*croft.Session, error) {
	return do(ctx, e, call{op: "session"}, req, e.rounds.NewSession)
}

// Session finds a session.
func (e *Engine) Session(ctx context.Context, ref croft.ID) (*croft.Session, error) {
	return do(ctx, e, call{op: "session"}, ref, e.rounds.SessionNamed)
}

// Sessions lists sessions, oldest first.
func (e *Engine) Sessions(ctx context.Context, f croft.SessionFilter) ([]croft.Session, error) {
	return do(ctx, e, call{op: "session"}, f, e.rounds.ListSessions)
}

// StartRound makes the checkouts of a round.
func (e *Engine) StartRound(ctx context.Context, req croft.RoundRequest) (*croft.Round, error) {
	return do(ctx, e, call{op: "round"}, req, e.rounds.NewRound)
}

// EndRound commits, archives and puts away what a round's agents left.
func (e *Engine) EndRound(ctx context.Context, round croft.ID) (*croft.Round, error) {
	return do(ctx, e, call{op: "round"}, round, func(ctx context.Context, round croft.ID) (*croft.Round, error) {
		return e.rounds.EndRoundAs(ctx, round, false)
	})
}

// ForceEndRound ends a round although processes are still in its checkouts, or a
// checkout is not found.
func (e *Engine) ForceEndRound(ctx context.Context, round croft.ID) (*croft.Round, error) {
	return do(ctx, e, call{op: "round"}, round, func(ctx context.Context, round croft.ID) (*croft.Round, error) {
		return e.rounds.EndRoundAs(ctx, round, true)
	})
}

// Present makes the workspace that ends a session.
func (e *Engine) Present(ctx context.Context, req croft.PresentRequest) (*croft.Workspace, error) {
	return do(ctx, e, call{op: "present", workspace: req.Winner}, req, e.rounds.PresentWinner)
}

// EndSession ends a session.
func (e *Engine) EndSession(ctx context.Context, session croft.ID) error {
	_, err := do(ctx, e, call{op: "session"}, session, noResult(e.rounds.EndNamedSession))
	return err
}

// ArchiveScratch copies the scratch of a live workspace to the archives.
func (e *Engine) ArchiveScratch(ctx context.Context, req croft.ArchiveRequest) (*croft.Archive, error) {
	return doOn(ctx, e, call{op: "archive", workspace: req.Workspace, repo: req.Repo}, req, e.workspaces.KeepScratch)
}

// Prompt describes a workspace to its agent.
func (e *Engine) Prompt(ctx context.Context, req croft.WorkspaceRequest) (*croft.Prompt, error) {
	return doOn(ctx, e, call{op: "prompt", workspace: req.Ref, repo: req.Repo}, req, e.workspaces.PromptFor)
}

// Reap removes orphans.
func (e *Engine) Reap(ctx context.Context, req croft.ReapRequest) (*croft.CleanResult, error) {
	return doIn(ctx, e, call{op: "reap", repo: req.Repo, recovers: beforeActing}, req, e.upkeep.ReapOrphans)
}

// Clean removes what is provably finished, or everything.
func (e *Engine) Clean(ctx context.Context, req croft.CleanRequest) (*croft.CleanResult, error) {
	return doIn(ctx, e, call{op: "clean", repo: req.Repo, recovers: beforeActing}, req, e.upkeep.CleanUp)
}

// GC deletes trash and branches that are not needed.
func (e *Engine) GC(ctx context.Context, dir string) (*croft.GCResult, error) {
	return doIn(ctx, e, call{op: "gc", repo: dir, recovers: beforeActing}, dir, e.upkeep.Collect)
}

// Doctor compares records, refs, registrations and disk.
func (e *Engine) Doctor(ctx context.Context, req croft.DoctorRequest) ([]croft.Finding, error) {
	return doIn(ctx, e, call{op: "doctor", repo: req.Repo, needs: gitRepository}, req, e.doctor.Examine)
}

// Uninstall removes all that is Croft's own from a repository, or from the
// machine.
func (e *Engine) Uninstall(ctx context.Context, req croft.UninstallRequest) (*croft.UninstallResult, error) {
	return do(ctx, e, call{op: "uninstall"}, req, e.uninstaller.UninstallRepos)
}

// Checks shows the checks that a target's tip asks for.
func (e *Engine) Checks(ctx context.Context, req croft.ChecksRequest) (*croft.CheckPlan, error) {
	return do(ctx, e, call{op: "trust"}, req, e.rules.ShowChecks)
}

// Approve allows the checks of a target to run.
func (e *Engine) Approve(ctx context.Context, req croft.ApproveRequest) (*croft.CheckPlan, error) {
	return do(ctx, e, call{op: "trust"}, req, e.rules.ApproveChecks)
}

// GitConfig compares the repository's git configuration with what Croft goes by.
func (e *Engine) GitConfig(ctx context.Context, req croft.GitConfigRequest) (*croft.GitConfig, error) {
	return doIn(ctx, e, call{op: "config", repo: req.Repo, needs: gitRepository}, req, e.projects.ShowConfig)
}

// AcceptGitConfig has Croft go by the repository's git configuration. An agent
// that types it in its workspace is not the person whose word is asked for.
func (e *Engine) AcceptGitConfig(ctx context.Context, req croft.AcceptGitConfigRequest) error {
	_, err := doIn(ctx, e, call{op: "config", repo: req.Repo, needs: gitRepository}, req, noResultIn(e.projects.AcceptConfig))
	return err
}

// Notices are what a user should be told that no call was about.
func (e *Engine) Notices() []string { return e.projects.Notices() }

// Events streams events in order, from a cursor on.
func (e *Engine) Events(ctx context.Context, req croft.EventsRequest) iter.Seq2[croft.Event, error] {
	return e.history.Events(ctx, req)
}
