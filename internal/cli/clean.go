package cli

import (
	"context"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// cleaner is the part of croft.Service that `croft clean` calls.
type cleaner interface {
	inspector
	repoFinder
	Clean(ctx context.Context, req croft.CleanRequest) (*croft.CleanResult, error)
}

func newCleanCommand(a *app) *cobra.Command {
	var isAll, isBranches bool
	var agreement agreement
	cmd := &cobra.Command{
		Use:   "clean",
		Short: "Remove everything that is provably finished",
		Long: `Move everything to the trash that is provably finished: clean, idle, and
integrated in its target. What that is, is listed first, and you are asked.

With --all: every workspace, finished or not, the recorded branches that are
left, and the emptied directory.`,
		Args: takesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			req := croft.CleanRequest{Repo: a.dir()}
			if isAll {
				req.All = croft.ScopeAll
			}
			if isBranches {
				req.Branches = croft.ScopeAll
			}
			agreed, err := a.consent(cmd, agreement, reachFurther)
			if err != nil {
				return err
			}
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
				return a.runClean(ctx, svc, req, agreed)
			})
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&isAll, "all", false, "every workspace, finished or not")
	flags.BoolVar(&isBranches, "branches", false, "only recorded branches that have no workspace any more, merged or not; their tips are kept")
	agreement.flags(cmd)
	return cmd
}

func (a *app) runClean(ctx context.Context, svc cleaner, req croft.CleanRequest, agreed consent) error {
	result, err := a.sweep(ctx, svc, agreed, "nothing to clean", func(dry croft.DryRun, shown *croft.Agreed) (*croft.CleanResult, error) {
		req.DryRun, req.Agreed = dry, shown
		return svc.Clean(ctx, req)
	})
	if err != nil || result == nil {
		return err
	}
	if req.All == croft.ScopeAll {
		return keptStatus(result.Kept)
	}
	return nil
}

// sweeper is what sweeps take, apart from the sweep itself.
type sweeper interface {
	inspector
	repoFinder
}

// sweep shows what a sweeping removal takes, asks, and removes what was shown. The
// result is nil if nothing was done.
func (a *app) sweep(ctx context.Context, svc sweeper, agreed consent, nothing string,
	remove func(croft.DryRun, *croft.Agreed) (*croft.CleanResult, error),
) (*croft.CleanResult, error) {
	var shown *croft.Agreed
	var kept []croft.Kept
	if agreed != consentGiven {
		plan, err := remove(croft.DryRunOn, nil)
		if err != nil {
			return nil, err
		}
		var takes takePlan
		for _, r := range plan.Removed {
			a.take(ctx, svc, &takes, r.ID, r.Name)
		}
		rows := append(takes.rows(), branchRows(plan.Branches, "branch to be deleted, tip kept")...)
		if agreed == consentDryRun || len(rows) == 0 {
			a.printClean(*plan, nonNil(rows), nothing)
			return nil, nil
		}
		if yes, err := a.askAboutPlan(ctx, *plan, rows); err != nil || !yes {
			return nil, err
		}
		shown, kept = takes.agreed(), plan.Kept
		shown.Branches = plan.Branches
	}
	result, err := remove(croft.DryRunOff, shown)
	if err != nil {
		return nil, err
	}
	result.Kept = append(kept, result.Kept...)
	a.printClean(*result, nil, nothing)
	a.upkeepAfter(ctx, svc)
	return result, nil
}

// askAboutPlan shows on the terminal what would be removed, and asks.
func (a *app) askAboutPlan(ctx context.Context, plan croft.CleanResult, rows [][]cell) (bool, error) {
	a.noteRows(rows)
	question := "Remove " + countNoun(len(plan.Removed), "workspace")
	if n := len(plan.Branches); n == 1 {
		question += " and 1 branch"
	} else if n > 1 {
		question += " and " + countNoun(n, "branche")
	}
	return a.ask(ctx, question+"?")
}
