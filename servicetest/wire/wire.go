// Package wire stands for the way between a client and a server on two machines: every
// request and every answer of a Service is JSON on its way.
package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

// Through returns a Service that sends every request to another one, and every answer
// back, as JSON. It fails the test where something is lost on the way.
func Through(t testing.TB, svc croft.Service) croft.Service { return wire{t: t, svc: svc} }

type wire struct {
	t   testing.TB
	svc croft.Service
	prefixes
}

// send calls a method through JSON.
func send[R, T any](ctx context.Context, w wire, req R, method func(context.Context, R) (*T, error)) (*T, error) {
	if data, err := json.Marshal(req); err == nil && strings.Contains(string(data), "\\ufffd") {
		// A client cannot send it. That holds for names; a path that is not UTF-8 can only
		// be named on its own machine.
		return nil, &croft.Error{Code: croft.InvalidName, Op: "call", Message: "the request is not UTF-8"}
	}
	out, err := method(w.from(ctx), passed(w.t, req, w.toHere))
	if err != nil {
		var none *T // over a wire there is an answer or an error
		return none, w.failure(err)
	}
	return passed(w.t, out, w.toThere), nil
}

// from returns the context of a call with the caller's directories on the other end.
func (w wire) from(ctx context.Context) context.Context {
	a := croft.ActorFrom(ctx)
	a.Dir, a.From = w.toHere(a.Dir), w.toHere(a.From)
	return croft.WithActor(ctx, a)
}

// passed returns a value as it is on the other end of a wire, where paths are translated.
func passed[T any](t testing.TB, v T, translate func(string) string) T {
	out, err := overWire(v, translate)
	if err != nil {
		t.Errorf("%T: %v", v, err)
	}
	return out
}

// overWire makes JSON of a value and the value of the JSON again. It fails if something
// is lost on the way.
func overWire[T any](v T, translate func(string) string) (out T, err error) {
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		return out, err
	}
	if at := lostIn(v, out); at != "" {
		return out, fmt.Errorf("%s is lost in JSON: %s", at, data)
	}
	if there := translate(string(data)); there != string(data) {
		out = *new(T)
		err = json.Unmarshal([]byte(there), &out)
	}
	return out, err
}

// failure returns an error as it is on the other end of a wire.
func (w wire) failure(err error) error {
	var e *croft.Error
	if !errors.As(err, &e) {
		w.t.Errorf("an error without a code: %v", err)
		return err
	}
	return passed(w.t, e, w.toThere)
}

func (w wire) Close() error { return w.svc.Close() }

func (w wire) Events(ctx context.Context, req croft.EventsRequest) iter.Seq2[croft.Event, error] {
	return func(yield func(croft.Event, error) bool) {
		for event, err := range w.svc.Events(ctx, passed(w.t, req, w.toHere)) {
			if err != nil {
				err = w.failure(err)
			}
			if !yield(passed(w.t, event, w.toThere), err) {
				return
			}
		}
	}
}

func (w wire) Repo(ctx context.Context, req croft.RepoRequest) (*croft.Repo, error) {
	return send(ctx, w, req, w.svc.Repo)
}

func (w wire) Repos(ctx context.Context, req croft.ReposRequest) (*croft.List[croft.Repo], error) {
	return send(ctx, w, req, w.svc.Repos)
}

func (w wire) CheckRepo(ctx context.Context, req croft.RepoRequest) (*croft.Repo, error) {
	return send(ctx, w, req, w.svc.CheckRepo)
}

func (w wire) Branch(ctx context.Context, req croft.BranchRequest) (*croft.Branch, error) {
	return send(ctx, w, req, w.svc.Branch)
}

func (w wire) Role(ctx context.Context, req croft.RoleRequest) (*croft.Role, error) {
	return send(ctx, w, req, w.svc.Role)
}

func (w wire) CopyRole(ctx context.Context, req croft.RoleRequest) (*croft.Role, error) {
	return send(ctx, w, req, w.svc.CopyRole)
}

func (w wire) Create(ctx context.Context, req croft.CreateRequest) (*croft.Workspace, error) {
	return send(ctx, w, req, w.svc.Create)
}

func (w wire) CreateAll(ctx context.Context, req croft.CreateAllRequest) (*croft.CreateResult, error) {
	return send(ctx, w, req, w.svc.CreateAll)
}

func (w wire) PlanCreate(ctx context.Context, req croft.CreateAllRequest) (*croft.CreateResult, error) {
	return send(ctx, w, req, w.svc.PlanCreate)
}

func (w wire) Workspaces(ctx context.Context, req croft.WorkspacesRequest) (*croft.List[croft.Workspace], error) {
	return send(ctx, w, req, w.svc.Workspaces)
}

func (w wire) Workspace(ctx context.Context, req croft.WorkspaceRequest) (*croft.Workspace, error) {
	return send(ctx, w, req, w.svc.Workspace)
}

func (w wire) Worktrees(ctx context.Context, req croft.WorktreesRequest) (*croft.List[croft.Worktree], error) {
	return send(ctx, w, req, w.svc.Worktrees)
}

func (w wire) Status(ctx context.Context, req croft.StatusRequest) (*croft.Status, error) {
	return send(ctx, w, req, w.svc.Status)
}

func (w wire) Remove(ctx context.Context, req croft.RemoveRequest) (*croft.RemoveResult, error) {
	return send(ctx, w, req, w.svc.Remove)
}

func (w wire) CountActive(ctx context.Context, req croft.CountRequest) (*croft.Count, error) {
	return send(ctx, w, req, w.svc.CountActive)
}

func (w wire) TakeLease(ctx context.Context, req croft.LeaseRequest) (*croft.Lease, error) {
	return send(ctx, w, req, w.svc.TakeLease)
}

func (w wire) Renew(ctx context.Context, req croft.RenewRequest) (*croft.Lease, error) {
	return send(ctx, w, req, w.svc.Renew)
}

func (w wire) Release(ctx context.Context, req croft.ReleaseRequest) (*croft.Released, error) {
	return send(ctx, w, req, w.svc.Release)
}

func (w wire) Lock(ctx context.Context, req croft.LockRequest) (*croft.Workspace, error) {
	return send(ctx, w, req, w.svc.Lock)
}

func (w wire) BeginRun(ctx context.Context, req croft.BeginRunRequest) (*croft.Run, error) {
	return send(ctx, w, req, w.svc.BeginRun)
}

func (w wire) RecordRun(ctx context.Context, req croft.RecordRunRequest) (*croft.Run, error) {
	return send(ctx, w, req, w.svc.RecordRun)
}

func (w wire) StopRun(ctx context.Context, req croft.StopRunRequest) (*croft.Run, error) {
	return send(ctx, w, req, w.svc.StopRun)
}

func (w wire) RunLog(ctx context.Context, req croft.RunLogRequest) (*croft.RunLog, error) {
	return send(ctx, w, req, w.svc.RunLog)
}

func (w wire) ReportAgent(ctx context.Context, req croft.ReportRequest) (*croft.Activity, error) {
	return send(ctx, w, req, w.svc.ReportAgent)
}

func (w wire) Adopt(ctx context.Context, req croft.AdoptRequest) (*croft.AdoptResult, error) {
	return send(ctx, w, req, w.svc.Adopt)
}

func (w wire) PlanProvision(ctx context.Context, req croft.PlanProvisionRequest) (*croft.ProvisionPlan, error) {
	return send(ctx, w, req, w.svc.PlanProvision)
}

func (w wire) Provision(ctx context.Context, req croft.ProvisionRequest) (*croft.Provision, error) {
	return send(ctx, w, req, w.svc.Provision)
}

func (w wire) UpdateWorkspace(ctx context.Context, req croft.UpdateRequest) (*croft.Workspace, error) {
	return send(ctx, w, req, w.svc.UpdateWorkspace)
}

func (w wire) Unlock(ctx context.Context, req croft.LockRequest) (*croft.Workspace, error) {
	return send(ctx, w, req, w.svc.Unlock)
}

func (w wire) Mounts(ctx context.Context, req croft.MountsRequest) (*croft.Mounts, error) {
	return send(ctx, w, req, w.svc.Mounts)
}

func (w wire) Save(ctx context.Context, req croft.SaveRequest) (*croft.Saved, error) {
	return send(ctx, w, req, w.svc.Save)
}

func (w wire) TakeSnapshot(ctx context.Context, req croft.SnapshotRequest) (*croft.Snapshot, error) {
	return send(ctx, w, req, w.svc.TakeSnapshot)
}

func (w wire) Snapshot(ctx context.Context, req croft.GetRequest) (*croft.Snapshot, error) {
	return send(ctx, w, req, w.svc.Snapshot)
}

func (w wire) Snapshots(ctx context.Context, req croft.SnapshotsRequest) (*croft.List[croft.Snapshot], error) {
	return send(ctx, w, req, w.svc.Snapshots)
}

func (w wire) Conflicts(ctx context.Context, req croft.ConflictsRequest) (*croft.Forecast, error) {
	return send(ctx, w, req, w.svc.Conflicts)
}

func (w wire) Trash(ctx context.Context, req croft.TrashRequest) (*croft.List[croft.TrashItem], error) {
	return send(ctx, w, req, w.svc.Trash)
}

func (w wire) Restore(ctx context.Context, req croft.RestoreRequest) (*croft.Workspace, error) {
	return send(ctx, w, req, w.svc.Restore)
}

func (w wire) History(ctx context.Context, req croft.HistoryRequest) (*croft.List[croft.Operation], error) {
	return send(ctx, w, req, w.svc.History)
}

func (w wire) Operation(ctx context.Context, req croft.GetRequest) (*croft.Operation, error) {
	return send(ctx, w, req, w.svc.Operation)
}

func (w wire) PlanUndo(ctx context.Context, req croft.UndoRequest) (*croft.UndoPlan, error) {
	return send(ctx, w, req, w.svc.PlanUndo)
}

func (w wire) Undo(ctx context.Context, req croft.UndoRequest) (*croft.Operation, error) {
	return send(ctx, w, req, w.svc.Undo)
}

func (w wire) Finish(ctx context.Context, req croft.FinishRequest) (*croft.Merge, error) {
	return send(ctx, w, req, w.svc.Finish)
}

func (w wire) Push(ctx context.Context, req croft.PushRequest) (*croft.Pushed, error) {
	return send(ctx, w, req, w.svc.Push)
}

func (w wire) RefreshPush(ctx context.Context, req croft.RefreshPushRequest) (*croft.Pushed, error) {
	return send(ctx, w, req, w.svc.RefreshPush)
}

func (w wire) FetchPullRequest(ctx context.Context, req croft.FetchPullRequestRequest) (*croft.PullRequestHead, error) {
	return send(ctx, w, req, w.svc.FetchPullRequest)
}

func (w wire) SubmitMerge(ctx context.Context, req croft.MergeRequest) (*croft.Merge, error) {
	return send(ctx, w, req, w.svc.SubmitMerge)
}

func (w wire) SubmitMerges(ctx context.Context, req croft.SubmitMergesRequest) (*croft.SubmitResult, error) {
	return send(ctx, w, req, w.svc.SubmitMerges)
}

func (w wire) Merge(ctx context.Context, req croft.GetRequest) (*croft.Merge, error) {
	return send(ctx, w, req, w.svc.Merge)
}

func (w wire) WaitMerge(ctx context.Context, req croft.WaitRequest) (*croft.Merge, error) {
	return send(ctx, w, req, w.svc.WaitMerge)
}

func (w wire) Merges(ctx context.Context, req croft.MergesRequest) (*croft.List[croft.Merge], error) {
	return send(ctx, w, req, w.svc.Merges)
}

func (w wire) CheckLog(ctx context.Context, req croft.CheckLogRequest) (*croft.CheckLog, error) {
	return send(ctx, w, req, w.svc.CheckLog)
}

func (w wire) DriveLanes(ctx context.Context, req croft.DriveRequest) (*croft.QueueResult, error) {
	return send(ctx, w, req, w.svc.DriveLanes)
}

func (w wire) ChangeQueue(ctx context.Context, req croft.QueueRequest) (*croft.QueueResult, error) {
	return send(ctx, w, req, w.svc.ChangeQueue)
}

func (w wire) Lanes(ctx context.Context, req croft.LanesRequest) (*croft.List[croft.Lane], error) {
	return send(ctx, w, req, w.svc.Lanes)
}

func (w wire) AcceptTarget(ctx context.Context, req croft.AcceptRequest) (*croft.Lane, error) {
	return send(ctx, w, req, w.svc.AcceptTarget)
}

func (w wire) Resolve(ctx context.Context, req croft.MergeRequest) (*croft.Resolution, error) {
	return send(ctx, w, req, w.svc.Resolve)
}

func (w wire) PlanRevert(ctx context.Context, req croft.RevertRequest) (*croft.RevertPlan, error) {
	return send(ctx, w, req, w.svc.PlanRevert)
}

func (w wire) ResolveRevert(ctx context.Context, req croft.RevertRequest) (*croft.Resolution, error) {
	return send(ctx, w, req, w.svc.ResolveRevert)
}

func (w wire) SubmitRevert(ctx context.Context, req croft.RevertRequest) (*croft.Merge, error) {
	return send(ctx, w, req, w.svc.SubmitRevert)
}

func (w wire) Discard(ctx context.Context, req croft.DiscardRequest) (*croft.DiscardResult, error) {
	return send(ctx, w, req, w.svc.Discard)
}

func (w wire) Diff(ctx context.Context, req croft.DiffRequest) (*croft.Review, error) {
	return send(ctx, w, req, w.svc.Diff)
}

func (w wire) Commits(ctx context.Context, req croft.CommitsRequest) (*croft.Commits, error) {
	return send(ctx, w, req, w.svc.Commits)
}

func (w wire) File(ctx context.Context, req croft.FileRequest) (*croft.FileContent, error) {
	return send(ctx, w, req, w.svc.File)
}

func (w wire) CreateReview(ctx context.Context, req croft.ReviewRequest) (*croft.Review, error) {
	return send(ctx, w, req, w.svc.CreateReview)
}

func (w wire) Review(ctx context.Context, req croft.GetRequest) (*croft.Review, error) {
	return send(ctx, w, req, w.svc.Review)
}

func (w wire) SubmitApply(ctx context.Context, req croft.ApplyRequest) (*croft.Merge, error) {
	return send(ctx, w, req, w.svc.SubmitApply)
}

func (w wire) StartSession(ctx context.Context, req croft.SessionRequest) (*croft.Session, error) {
	return send(ctx, w, req, w.svc.StartSession)
}

func (w wire) Session(ctx context.Context, req croft.GetRequest) (*croft.Session, error) {
	return send(ctx, w, req, w.svc.Session)
}

func (w wire) Sessions(ctx context.Context, req croft.SessionsRequest) (*croft.List[croft.Session], error) {
	return send(ctx, w, req, w.svc.Sessions)
}

func (w wire) StartRound(ctx context.Context, req croft.RoundRequest) (*croft.Round, error) {
	return send(ctx, w, req, w.svc.StartRound)
}

func (w wire) Round(ctx context.Context, req croft.GetRequest) (*croft.Round, error) {
	return send(ctx, w, req, w.svc.Round)
}

func (w wire) EndRound(ctx context.Context, req croft.EndRoundRequest) (*croft.Round, error) {
	return send(ctx, w, req, w.svc.EndRound)
}

func (w wire) Present(ctx context.Context, req croft.PresentRequest) (*croft.Workspace, error) {
	return send(ctx, w, req, w.svc.Present)
}

func (w wire) EndSession(ctx context.Context, req croft.EndSessionRequest) (*croft.Session, error) {
	return send(ctx, w, req, w.svc.EndSession)
}

func (w wire) ArchiveScratch(ctx context.Context, req croft.ArchiveRequest) (*croft.Archive, error) {
	return send(ctx, w, req, w.svc.ArchiveScratch)
}

func (w wire) Prompt(ctx context.Context, req croft.WorkspaceRequest) (*croft.Prompt, error) {
	return send(ctx, w, req, w.svc.Prompt)
}

func (w wire) Reap(ctx context.Context, req croft.ReapRequest) (*croft.CleanResult, error) {
	return send(ctx, w, req, w.svc.Reap)
}

func (w wire) Clean(ctx context.Context, req croft.CleanRequest) (*croft.CleanResult, error) {
	return send(ctx, w, req, w.svc.Clean)
}

func (w wire) GC(ctx context.Context, req croft.GCRequest) (*croft.GCResult, error) {
	return send(ctx, w, req, w.svc.GC)
}

func (w wire) Doctor(ctx context.Context, req croft.DoctorRequest) (*croft.DoctorResult, error) {
	return send(ctx, w, req, w.svc.Doctor)
}

func (w wire) Pool(ctx context.Context, req croft.PoolRequest) (*croft.Pool, error) {
	return send(ctx, w, req, w.svc.Pool)
}

func (w wire) ChangePool(ctx context.Context, req croft.ChangePoolRequest) (*croft.Pool, error) {
	return send(ctx, w, req, w.svc.ChangePool)
}

func (w wire) Uninstall(ctx context.Context, req croft.UninstallRequest) (*croft.UninstallResult, error) {
	return send(ctx, w, req, w.svc.Uninstall)
}

func (w wire) Checks(ctx context.Context, req croft.ChecksRequest) (*croft.CheckPlan, error) {
	return send(ctx, w, req, w.svc.Checks)
}

func (w wire) Approve(ctx context.Context, req croft.ApproveRequest) (*croft.CheckPlan, error) {
	return send(ctx, w, req, w.svc.Approve)
}

func (w wire) GitConfig(ctx context.Context, req croft.GitConfigRequest) (*croft.GitConfig, error) {
	return send(ctx, w, req, w.svc.GitConfig)
}

func (w wire) AcceptGitConfig(ctx context.Context, req croft.AcceptGitConfigRequest) (*croft.GitConfig, error) {
	return send(ctx, w, req, w.svc.AcceptGitConfig)
}
