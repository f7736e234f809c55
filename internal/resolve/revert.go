package resolve

import (
	"context"
	"fmt"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/writers"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/once"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/shellword"
	"github.com/croft-sh/croft/internal/workspace"
)

// ResolveRevert makes a workspace in which a merge is taken back, and brings the target into it, which leaves
// the conflicts of the revert to whoever works there. Once that workspace is merged, the merge counts as
// reverted. A call that finds the workspace of one that died goes on there.
func (svc *Resolver) ResolveRevert(ctx context.Context, s project.Location, req croft.RevertRequest) (*croft.Resolution, error) {
	plan, was, err := svc.Lanes.PlanRevert(ctx, s.Project, req)
	if err != nil {
		return nil, err
	}
	if len(plan.Conflicts) == 0 {
		return nil, &croft.Error{
			Code: croft.InvalidRequest, Workspace: was.WorkspaceName, Message: "its revert has no conflict to resolve",
			Hint: "croft revert " + shellword.Quote(was.WorkspaceName),
		}
	}
	act := project.NewAct()
	if act.ID, err = once.PinID(ctx, "revert", project.NewID); err != nil {
		return nil, err
	}
	rec, err := svc.workspaceToTakeBack(ctx, s, was, req.Message, act)
	if err != nil {
		return nil, err
	}
	if err := failpoint.Hit("resolve.made"); err != nil {
		return nil, err
	}
	return svc.resolveAs(ctx, s, rec, croft.MergeRequest{Target: was.Target}, act)
}

// workspaceToTakeBack finds the workspace in which a merge is taken back, or makes it.
func (svc *Resolver) workspaceToTakeBack(ctx context.Context, s project.Location, was journal.Merge, message string, act project.Act) (journal.Record, error) {
	live, err := svc.Journal.Live(ctx, s.ID)
	if err != nil {
		return journal.Record{}, err
	}
	for _, rec := range live {
		if rec.TakesBack == was.ID {
			return rec, nil
		}
	}
	isTaken := func(name string) bool {
		return slices.ContainsFunc(live, func(rec journal.Record) bool { return rec.Workspace.Name == name })
	}
	name := "revert-" + was.WorkspaceName
	for n := 2; isTaken(name); n++ {
		name = fmt.Sprintf("revert-%s-%d", was.WorkspaceName, n)
	}
	message, err = svc.Lanes.RevertMessage(ctx, s.Project, was, message)
	if err != nil {
		return journal.Record{}, err
	}
	commit, release, err := svc.commitBefore(ctx, s.Project, was, message)
	if err != nil {
		return journal.Record{}, err
	}
	defer release()
	made, err := svc.Workspaces.CreateMany(ctx, croft.CreateAllRequest{
		Repo: croft.Ref(s.Path), Workspaces: []croft.CreateRequest{{Name: name, Base: commit, Target: was.Target}},
	}, []workspace.Seat{{Act: act, TakesBack: was.ID}})
	if err != nil {
		return journal.Record{}, err
	}
	return svc.Journal.Record(ctx, made[0].ID)
}

// commitBefore makes a commit that takes back a merge, right after it: that cannot be in conflict.
func (svc *Resolver) commitBefore(ctx context.Context, r *project.Project, was journal.Merge, message string) (commit string, release func(), err error) {
	id, err := svc.Identity(ctx, r)
	if err != nil {
		return "", nil, err
	}
	attempts, err := r.Git.OpenMergeTree(writers.OnDisk)
	if err != nil {
		return "", nil, err
	}
	defer attempts.Close()
	before, err := attempts.ReadCommit(ctx, was.Before)
	if err != nil {
		return "", nil, err
	}
	now := svc.Clock()
	commit, err = attempts.Commit(ctx, object.Commit{
		Tree: before.Tree, Parents: []string{was.Commit}, Message: message,
		Signature: object.Signature(id.Committer, now),
	}, gitcmd.Identity{})
	if err != nil {
		return "", nil, err
	}
	release, err = attempts.Keep(ctx, commit)
	return commit, release, err
}
