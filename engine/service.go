package engine

import (
	"context"
	"iter"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/access"
	"github.com/croft-sh/croft/internal/attempt"
	"github.com/croft-sh/croft/internal/everywhere"
	"github.com/croft-sh/croft/internal/page"
	"github.com/croft-sh/croft/internal/project"
)

// The methods of croft.Service, in its order: the name of each in errors, the project
// that it needs, and the method that does the work. do and doIn have what is common to
// all.

// Repo describes the project that a directory lies in.
func (e *Engine) Repo(ctx context.Context, req croft.RepoRequest) (*croft.Repo, error) {
	return doIn(ctx, e, call{op: "repo", repo: req.Repo, needs: gitRepository}, req, e.projects.DescribeRepo)
}

// Repos lists the projects that the journal has.
func (e *Engine) Repos(ctx context.Context, req croft.ReposRequest) (*croft.List[croft.Repo], error) {
	return do(ctx, e, call{op: "repos"}, req, page.Of(req.Page, page.Listed, page.Repo, everywhere.Projects{Projects: e.projects}.List))
}

// CheckRepo describes a project in which workspaces can be made.
func (e *Engine) CheckRepo(ctx context.Context, req croft.RepoRequest) (*croft.Repo, error) {
	return doIn(ctx, e, call{op: "check", repo: req.Repo, needs: gitRepository}, req, e.projects.CheckRepo)
}

// Branch describes a local branch.
func (e *Engine) Branch(ctx context.Context, req croft.BranchRequest) (*croft.Branch, error) {
	return doIn(ctx, e, call{op: "branch", repo: req.Repo, needs: gitRepository}, req, project.DescribeBranch)
}

// Create makes one workspace.
func (e *Engine) Create(ctx context.Context, req croft.CreateRequest) (*croft.Workspace, error) {
	made, err := e.CreateAll(ctx, croft.CreateAllRequest{Key: req.Key, Repo: req.Repo, Workspaces: []croft.CreateRequest{req}})
	if err != nil {
		return nil, err
	}
	return &made.Workspaces[0], nil
}

// CreateAll makes several workspaces, all or none.
func (e *Engine) CreateAll(ctx context.Context, req croft.CreateAllRequest) (*croft.CreateResult, error) {
	return do(ctx, e, call{op: "create", does: writes}, req, e.workspaces.CreateRequested)
}

// PlanCreate returns the workspaces that CreateAll would make.
func (e *Engine) PlanCreate(ctx context.Context, req croft.CreateAllRequest) (*croft.CreateResult, error) {
	return doIn(ctx, e, call{op: "create", repo: req.Repo}, req, e.workspaces.PlanCreation)
}

// Workspaces lists workspaces, oldest first.
func (e *Engine) Workspaces(ctx context.Context, req croft.WorkspacesRequest) (*croft.List[croft.Workspace], error) {
	return reflecting(ctx, e, func() (*croft.List[croft.Workspace], error) {
		if req.Repos == croft.ScopeAll {
			return do(ctx, e, call{op: "list"}, req, e.views.ListEverywhere)
		}
		return doIn(ctx, e, call{op: "list", repo: req.Repo}, req, e.views.ListWorkspaces)
	})
}

// Workspace finds and shows one workspace.
func (e *Engine) Workspace(ctx context.Context, req croft.WorkspaceRequest) (*croft.Workspace, error) {
	return doIn(ctx, e, call{op: "show", workspace: req.Ref, repo: req.Repo}, req, e.views.ShowWorkspace)
}

// Worktrees lists the worktrees that git has registered.
func (e *Engine) Worktrees(ctx context.Context, req croft.WorktreesRequest) (*croft.List[croft.Worktree], error) {
	return doIn(ctx, e, call{op: "list", repo: req.Repo, needs: gitRepository}, req, page.In(req.Page, page.Listed, page.Worktree, e.views.ListWorktrees))
}

// Status counts the uncommitted changes and the commits of a workspace.
func (e *Engine) Status(ctx context.Context, req croft.StatusRequest) (*croft.Status, error) {
	return do(ctx, e, call{op: "status", workspace: string(req.Workspace)}, req, e.views.ShowStatus)
}

// Remove moves workspaces to the trash, and says for each whether it was removed.
func (e *Engine) Remove(ctx context.Context, req croft.RemoveRequest) (*croft.RemoveResult, error) {
	if req.DryRun == croft.DryRunOn {
		req.IfRevision = 0 // it claims nothing
	}
	return doIn(ctx, e, call{op: "remove", repo: req.Repo, key: req.Key, recovers: beforeActing, seen: seen{req.IfRevision, req.Workspaces}}, req, e.removals.RemoveRequested)
}

// CountActive counts the live workspaces.
func (e *Engine) CountActive(ctx context.Context, req croft.CountRequest) (*croft.Count, error) {
	return doIn(ctx, e, call{op: "count", repo: req.Repo}, req, e.views.CountLive)
}

// Role returns the role that a request names.
func (e *Engine) Role(ctx context.Context, req croft.RoleRequest) (*croft.Role, error) {
	return doIn(ctx, e, call{op: "role", repo: req.Repo}, req, e.workspaces.RoleNamed)
}

// CopyRole copies a role's files into a workspace, also over the files that Croft
// copied before.
func (e *Engine) CopyRole(ctx context.Context, req croft.RoleRequest) (*croft.Role, error) {
	return doOn(ctx, e, call{op: "role", workspace: req.Workspace, repo: req.Repo, key: req.Key, needs: gitRepository, seen: seen{req.IfRevision, []string{req.Workspace}}, does: writes}, req, e.workspaces.UpdateRole)
}

// UpdateWorkspace changes what callers record with a workspace, or moves its ports.
func (e *Engine) UpdateWorkspace(ctx context.Context, req croft.UpdateRequest) (*croft.Workspace, error) {
	c := call{op: "update", workspace: req.Workspace, repo: req.Repo, key: req.Key, seen: seen{req.IfRevision, []string{req.Workspace}}, does: writes}
	if req.Ports == croft.PortsMove {
		c.recovers = beforeActing
	}
	return doOn(ctx, e, c, req, e.workspaces.UpdateRecord)
}

// ReportAgent records what the agent of a workspace does.
func (e *Engine) ReportAgent(ctx context.Context, req croft.ReportRequest) (*croft.Activity, error) {
	return doOn(ctx, e, call{op: "report", workspace: req.Workspace, repo: req.Repo, does: writes}, req, e.workspaces.ReportAgent)
}

// Adopt makes workspaces of worktrees that somebody else made.
func (e *Engine) Adopt(ctx context.Context, req croft.AdoptRequest) (*croft.AdoptResult, error) {
	return doIn(ctx, e, call{op: "adopt", repo: req.Repo, key: req.Key, needs: gitRepository, recovers: beforeActing, does: writes}, req, e.adoptions.Adopt)
}

// PlanProvision says what would be done to make a workspace usable.
func (e *Engine) PlanProvision(ctx context.Context, req croft.PlanProvisionRequest) (*croft.ProvisionPlan, error) {
	if req.Workspace == "" {
		return doIn(ctx, e, call{op: "provision", repo: req.Repo, needs: gitRepository}, req, e.equipment.PlanNew)
	}
	return doOn(ctx, e, call{op: "provision", workspace: req.Workspace, repo: req.Repo}, req, e.equipment.Plan)
}

// Provision runs the commands by which a workspace is set up.
func (e *Engine) Provision(ctx context.Context, req croft.ProvisionRequest) (*croft.Provision, error) {
	return doOn(ctx, e, call{op: "provision", workspace: req.Workspace, repo: req.Repo, key: req.Key, recovers: beforeActing}, req, e.equipment.Provision)
}

// Lock sets the user's lock of a workspace.
func (e *Engine) Lock(ctx context.Context, req croft.LockRequest) (*croft.Workspace, error) {
	return doOn(ctx, e, call{op: "lock", workspace: req.Workspace, repo: req.Repo, key: req.Key, seen: seen{req.IfRevision, []string{req.Workspace}}, does: writes}, req, e.workspaces.LockWorkspace)
}

// Unlock removes the user's lock of a workspace.
func (e *Engine) Unlock(ctx context.Context, req croft.LockRequest) (*croft.Workspace, error) {
	return doOn(ctx, e, call{op: "unlock", workspace: req.Workspace, repo: req.Repo, key: req.Key, seen: seen{req.IfRevision, []string{req.Workspace}}, does: writes}, req, e.workspaces.UnlockWorkspace)
}

// TakeLease takes a lease on a workspace.
func (e *Engine) TakeLease(ctx context.Context, req croft.LeaseRequest) (*croft.Lease, error) {
	return do(ctx, e, call{op: "hold", workspace: req.Workspace, does: writes}, req, e.workspaces.TakeRequested)
}

// Renew extends a lease from now on.
func (e *Engine) Renew(ctx context.Context, req croft.RenewRequest) (*croft.Lease, error) {
	return do(ctx, e, call{op: "renew", does: writes}, req, e.workspaces.RenewLease)
}

// Release releases a lease.
func (e *Engine) Release(ctx context.Context, req croft.ReleaseRequest) (*croft.Released, error) {
	return do(ctx, e, call{op: "release", does: writes}, req, e.workspaces.ReleaseLease)
}

// Mounts lists the directories and files that a container has to mount to work in a
// workspace.
func (e *Engine) Mounts(ctx context.Context, req croft.MountsRequest) (*croft.Mounts, error) {
	return doOn(ctx, e, call{op: "mounts", workspace: req.Workspace, repo: req.Repo}, req, e.workspaces.MountsFor)
}

// Save commits the uncommitted work of a workspace.
func (e *Engine) Save(ctx context.Context, req croft.SaveRequest) (*croft.Saved, error) {
	return doOn(ctx, e, call{op: "save", workspace: req.Workspace, repo: req.Repo, key: req.Key, needs: gitRepository, recovers: beforeActing, seen: seen{req.IfRevision, []string{req.Workspace}}}, req, e.commits.SaveWork)
}

// TakeSnapshot saves the state of a workspace.
func (e *Engine) TakeSnapshot(ctx context.Context, req croft.SnapshotRequest) (*croft.Snapshot, error) {
	return doOn(ctx, e, call{op: "snapshot", workspace: req.Workspace, repo: req.Repo, key: req.Key, needs: gitRepository, recovers: beforeActing, seen: seen{req.IfRevision, []string{req.Workspace}}}, req, e.rewinds.TakeSnapshot)
}

// Snapshot finds a snapshot.
func (e *Engine) Snapshot(ctx context.Context, req croft.GetRequest) (*croft.Snapshot, error) {
	return doIn(ctx, e, call{op: "snapshot", repo: req.Repo, needs: gitRepository}, req, e.rewinds.ShowSnapshot)
}

// Snapshots lists the snapshots of a repository.
func (e *Engine) Snapshots(ctx context.Context, req croft.SnapshotsRequest) (*croft.List[croft.Snapshot], error) {
	return reflecting(ctx, e, func() (*croft.List[croft.Snapshot], error) {
		return doIn(ctx, e, call{op: "snapshot", repo: req.Repo, needs: gitRepository}, req, page.In(req.Page, page.Oldest, page.Snapshot, e.rewinds.ListSnapshots))
	})
}

// Conflicts forecasts which workspaces will collide.
func (e *Engine) Conflicts(ctx context.Context, req croft.ConflictsRequest) (*croft.Forecast, error) {
	return doIn(ctx, e, call{op: "conflicts", repo: req.Repo, needs: gitRepository}, req, e.forecasts.ShowConflicts)
}

// Trash lists the workspaces that can be restored, the last removed first.
func (e *Engine) Trash(ctx context.Context, req croft.TrashRequest) (*croft.List[croft.TrashItem], error) {
	return reflecting(ctx, e, func() (*croft.List[croft.TrashItem], error) {
		return doIn(ctx, e, call{op: "trash", repo: req.Repo}, req, page.In(req.Page, page.Newest, page.TrashItem, e.trash.List))
	})
}

// Restore restores a removed workspace, or rewinds one to a snapshot.
func (e *Engine) Restore(ctx context.Context, req croft.RestoreRequest) (*croft.Workspace, error) {
	return doIn(ctx, e, call{op: "restore", workspace: req.Ref, repo: req.Repo, key: req.Key, needs: gitRepository, recovers: beforeActing}, req, e.rewinds.RestoreRequested)
}

// History lists acts, the last first.
func (e *Engine) History(ctx context.Context, req croft.HistoryRequest) (*croft.List[croft.Operation], error) {
	return reflecting(ctx, e, func() (*croft.List[croft.Operation], error) {
		return doIn(ctx, e, call{op: "history", repo: req.Repo}, req, e.history.ShowHistory)
	})
}

// Operation finds an act.
func (e *Engine) Operation(ctx context.Context, req croft.GetRequest) (*croft.Operation, error) {
	return doIn(ctx, e, call{op: "history", repo: req.Repo}, req, e.history.ShowOperation)
}

// Undo undoes an act.
func (e *Engine) Undo(ctx context.Context, req croft.UndoRequest) (*croft.Operation, error) {
	return doIn(ctx, e, call{op: "undo", repo: req.Repo, key: req.Key, needs: gitRepository, recovers: beforeActing}, req, e.history.UndoAct)
}

// Finish records that the agent of a workspace has ended, and commits its uncommitted
// work.
func (e *Engine) Finish(ctx context.Context, req croft.FinishRequest) (*croft.Merge, error) {
	return do(ctx, e, call{op: "finish", workspace: req.Workspace, does: writes}, req, e.lanes.FinishWork)
}

// Push pushes the work of a workspace to a remote.
func (e *Engine) Push(ctx context.Context, req croft.PushRequest) (*croft.Pushed, error) {
	return doOn(ctx, e, call{op: "push", workspace: req.Workspace, repo: req.Repo, needs: gitRepository, recovers: beforeActing}, req, e.pushes.PushWork)
}

// RefreshPush asks the host what became of the pull request of a workspace.
func (e *Engine) RefreshPush(ctx context.Context, req croft.RefreshPushRequest) (*croft.Pushed, error) {
	return doOn(ctx, e, call{op: "push", workspace: req.Workspace, repo: req.Repo, needs: gitRepository, does: writes}, req, e.pushes.Refresh)
}

// FetchPullRequest fetches the commits of a pull request.
func (e *Engine) FetchPullRequest(ctx context.Context, req croft.FetchPullRequestRequest) (*croft.PullRequestHead, error) {
	return doIn(ctx, e, call{op: "fetch", repo: req.Repo, needs: gitRepository, does: writes}, req, e.pushes.FetchPullRequest)
}

// SubmitMerge commits the uncommitted work of a workspace, and submits all its work for a
// merge.
func (e *Engine) SubmitMerge(ctx context.Context, req croft.MergeRequest) (*croft.Merge, error) {
	return doIn(ctx, e, call{op: "merge", workspace: req.Workspace, repo: req.Repo, needs: gitRepository, recovers: beforeActing}, req, e.reviews.SubmitMerge)
}

// SubmitMerges commits the uncommitted work of several workspaces, and submits all their work
// for merges.
func (e *Engine) SubmitMerges(ctx context.Context, req croft.SubmitMergesRequest) (*croft.SubmitResult, error) {
	return doIn(ctx, e, call{op: "merge", verb: "merges", repo: req.Repo, key: req.Key, needs: gitRepository, recovers: beforeActing}, req, e.lanes.SubmitEach)
}

// WaitMerge waits until a merge has ended, and drives its lane if no process does.
func (e *Engine) WaitMerge(ctx context.Context, req croft.WaitRequest) (*croft.Merge, error) {
	return do(ctx, e, call{op: "merge"}, req, e.lanes.WaitMerge)
}

// Merges lists the merges that a request asks for.
func (e *Engine) Merges(ctx context.Context, req croft.MergesRequest) (*croft.List[croft.Merge], error) {
	return reflecting(ctx, e, func() (*croft.List[croft.Merge], error) {
		if req.Repos == croft.ScopeAll {
			return do(ctx, e, call{op: "queue"}, req, everywhere.Merges(e.projects, e.lanes.ListMerges))
		}
		return doIn(ctx, e, call{op: "queue", repo: req.Repo}, req, e.lanes.ListMerges)
	})
}

// CheckLog returns a part of the output of a check.
func (e *Engine) CheckLog(ctx context.Context, req croft.CheckLogRequest) (*croft.CheckLog, error) {
	return do(ctx, e, call{op: "logs"}, req, attempt.Logs{Journal: e.projects.Journal}.Read)
}

// DriveLanes drives the lanes of a repository until they are empty.
func (e *Engine) DriveLanes(ctx context.Context, req croft.DriveRequest) (*croft.QueueResult, error) {
	return doIn(ctx, e, call{op: "queue", repo: req.Repo, needs: gitRepository, recovers: beforeActing}, req, e.lanes.RunLanes)
}

// ChangeQueue holds, releases or cancels merges that wait.
func (e *Engine) ChangeQueue(ctx context.Context, req croft.QueueRequest) (*croft.QueueResult, error) {
	return doIn(ctx, e, call{op: "queue", repo: req.Repo, key: req.Key, does: writes}, req, e.lanes.ChangeQueue)
}

// Lanes lists the targets that lanes have moved.
func (e *Engine) Lanes(ctx context.Context, req croft.LanesRequest) (*croft.List[croft.Lane], error) {
	return reflecting(ctx, e, func() (*croft.List[croft.Lane], error) {
		return doIn(ctx, e, call{op: "queue", repo: req.Repo}, req, page.In(req.Page, page.Listed, page.Lane, e.lanes.ListLanes))
	})
}

// AcceptTarget accepts the commit that a target is at now.
func (e *Engine) AcceptTarget(ctx context.Context, req croft.AcceptRequest) (*croft.Lane, error) {
	return doIn(ctx, e, call{op: "queue", repo: req.Repo, key: req.Key, verb: "accept", needs: gitRepository, does: writes}, req, e.lanes.AcceptMoved)
}

// Resolve brings the target into a workspace.
func (e *Engine) Resolve(ctx context.Context, req croft.MergeRequest) (*croft.Resolution, error) {
	return doOn(ctx, e, call{op: "resolve", workspace: req.Workspace, repo: req.Repo, key: req.Key, needs: gitRepository, recovers: beforeActing, seen: seen{req.IfRevision, []string{req.Workspace}}}, req, e.resolver.ResolveConflicts)
}

// PlanRevert returns the plan of a revert, with its conflicts.
func (e *Engine) PlanRevert(ctx context.Context, req croft.RevertRequest) (*croft.RevertPlan, error) {
	return doIn(ctx, e, call{op: "revert", workspace: req.Ref, repo: req.Repo, needs: gitRepository}, req, e.lanes.ShowRevert)
}

// Merge finds a merge.
func (e *Engine) Merge(ctx context.Context, req croft.GetRequest) (*croft.Merge, error) {
	return do(ctx, e, call{op: "merge"}, req, e.lanes.ShowMerge)
}

// SubmitRevert submits the revert of a merge to its lane.
func (e *Engine) SubmitRevert(ctx context.Context, req croft.RevertRequest) (*croft.Merge, error) {
	return doIn(ctx, e, call{op: "revert", workspace: req.Ref, repo: req.Repo, needs: gitRepository, recovers: beforeActing}, req, e.lanes.RevertRequested)
}

// Discard moves workspaces with unwanted work to the trash.
func (e *Engine) Discard(ctx context.Context, req croft.DiscardRequest) (*croft.DiscardResult, error) {
	return doIn(ctx, e, call{op: "discard", repo: req.Repo, recovers: beforeActing}, req, e.removals.DiscardEach)
}

// Diff shows work, and keeps nothing of it.
func (e *Engine) Diff(ctx context.Context, req croft.DiffRequest) (*croft.Review, error) {
	return do(ctx, e, call{op: "diff", workspace: req.Workspace}, req, e.reviews.ShowDiff)
}

// Commits lists the commits of a workspace.
func (e *Engine) Commits(ctx context.Context, req croft.CommitsRequest) (*croft.Commits, error) {
	return do(ctx, e, call{op: "commits", workspace: req.Workspace}, req, e.reviews.ListCommits)
}

// File returns a part of a file on one side of work.
func (e *Engine) File(ctx context.Context, req croft.FileRequest) (*croft.FileContent, error) {
	return do(ctx, e, call{op: "file", workspace: req.Workspace}, req, e.reviews.ReadFile)
}

// CreateReview saves the present work of a workspace for a review.
func (e *Engine) CreateReview(ctx context.Context, req croft.ReviewRequest) (*croft.Review, error) {
	return doOn(ctx, e, call{op: "review", workspace: req.Workspace, repo: req.Repo, key: req.Key, needs: gitRepository, recovers: beforeActing}, req, e.reviews.ReviewWork)
}

// Review finds a review.
func (e *Engine) Review(ctx context.Context, req croft.GetRequest) (*croft.Review, error) {
	return doIn(ctx, e, call{op: "review", repo: req.Repo, needs: gitRepository}, req, e.reviews.ShowReview)
}

// SubmitApply submits the chosen part of a review to its lane.
func (e *Engine) SubmitApply(ctx context.Context, req croft.ApplyRequest) (*croft.Merge, error) {
	return doIn(ctx, e, call{op: "apply", workspace: req.Workspace, repo: req.Repo, needs: gitRepository, recovers: beforeActing}, req, e.reviews.ApplyParts)
}

// StartSession begins a session.
func (e *Engine) StartSession(ctx context.Context, req croft.SessionRequest) (*croft.Session, error) {
	return do(ctx, e, call{op: "session", does: writes}, req, e.rounds.NewSession)
}

// Session finds a session.
func (e *Engine) Session(ctx context.Context, req croft.GetRequest) (*croft.Session, error) {
	return do(ctx, e, call{op: "session"}, req, e.rounds.SessionNamed)
}

// Sessions lists sessions, oldest first.
func (e *Engine) Sessions(ctx context.Context, req croft.SessionsRequest) (*croft.List[croft.Session], error) {
	return reflecting(ctx, e, func() (*croft.List[croft.Session], error) {
		return do(ctx, e, call{op: "session"}, req, page.Of(req.Page, page.Oldest, page.Session, e.rounds.ListSessions))
	})
}

// StartRound makes the checkouts of a round.
func (e *Engine) StartRound(ctx context.Context, req croft.RoundRequest) (*croft.Round, error) {
	return do(ctx, e, call{op: "round", does: writes}, req, e.rounds.NewRound)
}

// Round finds a round.
func (e *Engine) Round(ctx context.Context, req croft.GetRequest) (*croft.Round, error) {
	return do(ctx, e, call{op: "round"}, req, e.rounds.ShowRound)
}

// EndRound ends a round: it commits and archives the work of its agents, and removes
// the checkouts.
func (e *Engine) EndRound(ctx context.Context, req croft.EndRoundRequest) (*croft.Round, error) {
	return do(ctx, e, call{op: "round", does: writes}, req, e.rounds.EndRound)
}

// Present makes the workspace that ends a session.
func (e *Engine) Present(ctx context.Context, req croft.PresentRequest) (*croft.Workspace, error) {
	return do(ctx, e, call{op: "present", workspace: req.Winner, does: writes}, req, e.rounds.PresentWinner)
}

// EndSession ends a session.
func (e *Engine) EndSession(ctx context.Context, req croft.EndSessionRequest) (*croft.Session, error) {
	return do(ctx, e, call{op: "session", does: writes}, req, e.rounds.EndNamedSession)
}

// ArchiveScratch copies the scratch directory of a live workspace to the archives.
func (e *Engine) ArchiveScratch(ctx context.Context, req croft.ArchiveRequest) (*croft.Archive, error) {
	return doOn(ctx, e, call{op: "archive", workspace: req.Workspace, repo: req.Repo, key: req.Key, seen: seen{req.IfRevision, []string{req.Workspace}}, does: writes}, req, e.workspaces.ArchiveScratch)
}

// Prompt describes a workspace to its agent.
func (e *Engine) Prompt(ctx context.Context, req croft.WorkspaceRequest) (*croft.Prompt, error) {
	return doOn(ctx, e, call{op: "prompt", workspace: req.Ref, repo: req.Repo}, req, e.rounds.PromptFor)
}

// Reap removes orphaned workspaces.
func (e *Engine) Reap(ctx context.Context, req croft.ReapRequest) (*croft.CleanResult, error) {
	return doIn(ctx, e, call{op: "reap", repo: req.Repo, key: req.Key, recovers: beforeActing}, req, e.upkeep.ReapOrphans)
}

// Clean removes workspaces whose work is merged, or with ScopeAll every workspace.
func (e *Engine) Clean(ctx context.Context, req croft.CleanRequest) (*croft.CleanResult, error) {
	return doIn(ctx, e, call{op: "clean", repo: req.Repo, key: req.Key, recovers: beforeActing}, req, e.upkeep.CleanUp)
}

// GC deletes trash, branches and all else that is not needed any more.
func (e *Engine) GC(ctx context.Context, req croft.GCRequest) (*croft.GCResult, error) {
	return doIn(ctx, e, call{op: "gc", repo: req.Repo, key: req.Key, recovers: beforeActing}, req, e.upkeep.Collect)
}

// Doctor compares records, refs, registrations and disk, and returns what is wrong.
func (e *Engine) Doctor(ctx context.Context, req croft.DoctorRequest) (*croft.DoctorResult, error) {
	does := reads
	if req.Fix != croft.FixNothing || req.Import == croft.ImportAll {
		does = writes
	}
	return doIn(ctx, e, call{op: "doctor", repo: req.Repo, key: req.Key, needs: gitRepository, does: does}, req, e.doctor.Examine)
}

// Pool describes the pool of a project.
func (e *Engine) Pool(ctx context.Context, req croft.PoolRequest) (*croft.Pool, error) {
	return doIn(ctx, e, call{op: "pool", repo: req.Repo, needs: gitRepository}, req, e.pool.Show)
}

// ChangePool fills or empties the pool of a project.
func (e *Engine) ChangePool(ctx context.Context, req croft.ChangePoolRequest) (*croft.Pool, error) {
	return doIn(ctx, e, call{op: "pool", repo: req.Repo, needs: gitRepository, does: writes}, req, e.pool.Change)
}

// Uninstall removes everything of Croft's from a repository, or from the machine.
func (e *Engine) Uninstall(ctx context.Context, req croft.UninstallRequest) (*croft.UninstallResult, error) {
	return do(ctx, e, call{op: "uninstall", does: writes}, req, e.uninstaller.UninstallRepos)
}

// Checks shows the checks that a target's tip asks for.
func (e *Engine) Checks(ctx context.Context, req croft.ChecksRequest) (*croft.CheckPlan, error) {
	return do(ctx, e, call{op: "trust"}, req, e.rules.ShowChecks)
}

// Approve allows the checks of a target to run.
func (e *Engine) Approve(ctx context.Context, req croft.ApproveRequest) (*croft.CheckPlan, error) {
	return do(ctx, e, call{op: "trust", does: writes}, req, e.rules.ApproveChecks)
}

// GitConfig compares the repository's git configuration with the accepted one, which
// Croft uses.
func (e *Engine) GitConfig(ctx context.Context, req croft.GitConfigRequest) (*croft.GitConfig, error) {
	return doIn(ctx, e, call{op: "config", repo: req.Repo, needs: gitRepository}, req, e.projects.ShowConfig)
}

// AcceptGitConfig makes Croft use the repository's git configuration from now on. It
// refuses inside a workspace: only the user may accept it, not an agent.
func (e *Engine) AcceptGitConfig(ctx context.Context, req croft.AcceptGitConfigRequest) (*croft.GitConfig, error) {
	return doIn(ctx, e, call{op: "config", repo: req.Repo, key: req.Key, needs: gitRepository, does: writes}, req, e.projects.AcceptConfig)
}

// Notices returns the sentences for the user that belong to no call's result.
func (e *Engine) Notices() []string {
	list := e.projects.Notices()
	if text := e.access().Notice(); text != "" {
		list = append(list, text)
	}
	return list
}

// Observe tells, as workspace.changed, of workspaces that a process which looks by itself has
// listed and found changed. It is not a call of croft.Service: who asks is told in the answer.
func (e *Engine) Observe(ctx context.Context, seen []croft.Workspace) error {
	_, err := do(ctx, e, call{op: "observe", does: writes}, seen, e.views.Observe)
	return err
}

// Events streams events in order, from a cursor on.
func (e *Engine) Events(ctx context.Context, req croft.EventsRequest) iter.Seq2[croft.Event, error] {
	if err := e.access().Refuse(access.Call{Op: "events"}); err != nil {
		return func(yield func(croft.Event, error) bool) { yield(croft.Event{}, err) }
	}
	return e.history.Events(ctx, req)
}
