package cli

import (
	"context"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// reverter is the part of croft.Service that `croft revert` calls.
type reverter interface {
	PlanRevert(ctx context.Context, req croft.RevertRequest) (*croft.RevertPlan, error)
	SubmitRevert(ctx context.Context, req croft.RevertRequest) (*croft.Merge, error)
	mergeWaiter
}

func newRevertCommand(a *app) *cobra.Command {
	req := croft.RevertRequest{}
	var isDryRun bool
	cmd := &cobra.Command{
		Use:   "revert NAME or MERGE",
		Short: "Take a merge back",
		Long: `Undo a merge by a new commit on its target, through the same lane and checks.
What was merged after it stays. Merging the workspace again brings the work
back.

Of a workspace that was merged several times, NAME means its last merge that
changed anything; "croft queue --all" has the IDs of the others.`,
		Args: takesOne("merge", "the name of its workspace, or its ID"),
		RunE: a.withService(func(ctx context.Context, svc croft.Service, args []string) error {
			req.Repo, req.Ref = a.dir(), args[0]
			return a.runRevert(ctx, svc, req, isDryRun)
		}),
	}
	flags := cmd.Flags()
	flags.StringVarP(&req.Message, "message", "m", "", "the `message` of the commit")
	flags.BoolVarP(&isDryRun, "dry-run", "n", false, "only tell")
	addKeyFlag(cmd, &req.Key)
	return cmd
}

func (a *app) runRevert(ctx context.Context, svc reverter, req croft.RevertRequest, isDryRun bool) error {
	if req.Key != "" && !isDryRun { // once the merge is reverted, there is nothing to plan
		return a.revert(ctx, svc, req)
	}
	plan, err := svc.PlanRevert(ctx, req)
	if err != nil {
		return err
	}
	if isDryRun && a.json {
		a.emit(revertPlanResult{*plan})
		return nil
	}
	if plan.Later > 0 {
		a.note("%s", countOf(plan.Later, "merge came after it, and stays", "merges came after it, and stay"))
	}
	for _, c := range plan.Conflicts {
		a.note("  %s will be in conflict (%s)", c.Path, c.Kind)
	}
	if isDryRun {
		a.note("would revert the merge of %s on %s (%s)", plan.Merge.WorkspaceName, plan.Branch, shortCommit(plan.Merge.Commit))
		return nil
	}
	return a.revert(ctx, svc, req)
}

func (a *app) revert(ctx context.Context, svc reverter, req croft.RevertRequest) error {
	m, err := a.waitFor(ctx, svc)(svc.SubmitRevert(ctx, req))
	if err != nil {
		return err
	}
	a.showMerges([]croft.Merge{*m})
	return mergesExitStatus([]croft.Merge{*m}, croft.MergeMerged)
}
