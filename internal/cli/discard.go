package cli

import (
	"context"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// discarder is the part of croft.Service that `croft discard` calls.
type discarder interface {
	sweeper
	Discard(ctx context.Context, req croft.DiscardRequest) (*croft.DiscardResult, error)
}

func newDiscardCommand(a *app) *cobra.Command {
	var isAll bool
	var agreement agreement
	var key string
	cmd := &cobra.Command{
		Use:   "discard NAME...",
		Short: "Move workspaces to the trash whose work is not wanted",
		Long: `Move workspaces to the trash with their branches, and take them out of the
queue. "croft restore" brings one back. With --all-pending they are listed first,
and you are asked.`,
		ValidArgsFunction: a.completeMany,
		RunE: func(cmd *cobra.Command, args []string) error {
			scope, reach, err := namesOrAll(cmd, args, isAll, "--all-pending")
			if err != nil {
				return err
			}
			req := croft.DiscardRequest{Key: key, Repo: a.dir(), Workspaces: a.workspaceRefs(args), All: scope}
			return a.serveAgreed(cmd, agreement, reach, func(ctx context.Context, svc croft.Service, agreed consent) error {
				return a.runDiscard(ctx, svc, req, agreed)
			})
		},
	}
	addKeyFlag(cmd, &key)
	agreement.addFlags(cmd)
	cmd.Flags().BoolVar(&isAll, "all-pending", false, "every workspace of the project whose work is pending")
	return cmd
}

func (a *app) runDiscard(ctx context.Context, svc discarder, req croft.DiscardRequest, agreed consent) error {
	if agreed != consentGiven {
		plan, err := a.planDiscard(ctx, svc, req)
		if err != nil {
			return err
		}
		if yes, err := a.hasAgreedToTrash(ctx, agreed, plan, "nothing is pending"); err != nil || !yes {
			return err
		}
		req.Agreed = plan.agreed()
	}
	works := a.worksOf(ctx, svc, req.Workspaces)
	merges, err := svc.Discard(ctx, req)
	if err != nil {
		return err
	}
	if len(merges.Merges) == 0 && !a.json {
		a.note("nothing is pending")
		return nil
	}
	if a.isShown() {
		a.printDiscarded(ctx, svc, merges.Merges, works)
	} else {
		a.showMergesWith(merges.Merges, columnsDiscard)
	}
	a.startUpkeepAfter(ctx, svc)
	return mergesExitStatus(merges.Merges, croft.MergeDiscarded)
}

// planDiscard returns the workspaces that a discard would take.
func (a *app) planDiscard(ctx context.Context, svc discarder, req croft.DiscardRequest) (takePlan, error) {
	req.DryRun = croft.DryRunOn
	var plan takePlan
	merges, err := svc.Discard(ctx, req)
	if err != nil {
		return plan, err
	}
	for _, m := range merges.Merges {
		if m.Status == croft.MergeDiscarded {
			a.addToPlan(ctx, svc, &plan, croft.Removed{ID: m.Workspace, Name: m.WorkspaceName})
			continue
		}
		plan.kept = append(plan.kept, croft.Kept{ID: m.Workspace, Name: m.WorkspaceName, Reason: &croft.Error{
			Code: m.Reason, Op: "discard", Workspace: m.WorkspaceName, Message: m.Message, Details: m.Details, Hint: m.Hint,
		}})
	}
	return plan, err
}
