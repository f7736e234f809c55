package cli

import (
	"context"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// cleaner is what `croft clean` takes.
type cleaner interface {
	repoFinder
	Clean(ctx context.Context, req croft.CleanRequest) (*croft.CleanResult, error)
}

// consent says how the user agrees to a list of removals.
type consent int

const (
	consentAsk    consent = iota // show the list and ask
	consentGiven                 // --yes
	consentDryRun                // --dry-run: only the list
	consentNone                  // nobody is there to be asked
)

func newCleanCommand(a *app) *cobra.Command {
	var isAll, isBranches, isYes, isDryRun bool
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
			agreed := consentAsk
			switch {
			case isDryRun:
				agreed = consentDryRun
			case isYes:
				agreed = consentGiven
			case !a.canAsk():
				e := misused(cmd, "nobody is there to be asked: say --yes, or --dry-run to see the list")
				e.Hint = cmd.CommandPath() + " --dry-run"
				return e
			}
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
				return a.runClean(ctx, svc, req, agreed)
			})
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&isAll, "all", false, "every workspace, finished or not")
	flags.BoolVar(&isBranches, "branches", false, "only recorded branches that have no workspace any more, merged or not; their tips are kept")
	flags.BoolVarP(&isYes, "yes", "y", false, "do not ask")
	flags.BoolVarP(&isDryRun, "dry-run", "n", false, "only tell")
	return cmd
}

func (a *app) runClean(ctx context.Context, svc cleaner, req croft.CleanRequest, agreed consent) error {
	const nothing = "nothing to clean"
	if agreed != consentGiven {
		dry := req
		dry.DryRun = croft.DryRunOn
		plan, err := svc.Clean(ctx, dry)
		if err != nil {
			return err
		}
		if agreed == consentDryRun || len(plan.Removed)+len(plan.Branches) == 0 {
			a.printClean(*plan, true, nothing)
			return nil
		}
		if yes, err := a.askAboutPlan(ctx, *plan); err != nil || !yes {
			return err
		}
	}
	result, err := svc.Clean(ctx, req)
	if err != nil {
		return err
	}
	a.printClean(*result, false, nothing)
	a.upkeepAfter(ctx, svc)
	if req.All == croft.ScopeAll {
		return keptStatus(result.Kept)
	}
	return nil
}

// askAboutPlan shows on the terminal what would be removed, and asks.
func (a *app) askAboutPlan(ctx context.Context, plan croft.CleanResult) (bool, error) {
	for _, row := range cleanRows(plan, true) {
		texts := make([]string, len(row))
		for i, c := range row {
			texts[i] = c.text
		}
		a.note("%s", strings.Join(texts, columnGap))
	}
	question := "Remove " + count(len(plan.Removed), "workspace")
	if n := len(plan.Branches); n == 1 {
		question += " and 1 branch"
	} else if n > 1 {
		question += " and " + count(n, "branche")
	}
	return a.ask(ctx, question+"?")
}
