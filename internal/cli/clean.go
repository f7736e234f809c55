package cli

import (
	"context"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/screen"
	"github.com/spf13/cobra"
)

// cleaner is the part of croft.Service that `croft clean` calls.
type cleaner interface {
	sweeper
	lister
	Clean(ctx context.Context, req croft.CleanRequest) (*croft.CleanResult, error)
}

func newCleanCommand(a *app) *cobra.Command {
	var req croft.CleanRequest
	var agreement agreement
	cmd := &cobra.Command{
		Use:   "clean",
		Short: "Remove everything that is provably finished",
		Long: `Move everything to the trash that is provably finished: clean, idle, and
integrated in its target. What that is, is listed first, and you are asked.
Empty workspaces stay, because nobody has begun there: they are named, with the
command that removes them.

With --all: every workspace, finished or not, the recorded branches that are
left, and the emptied directory.`,
		Args: takesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			req.Repo = a.dir()
			if err := agreement.requireYes(cmd, req.Key); err != nil {
				return err
			}
			return a.serveAgreed(cmd, agreement, reachFurther, func(ctx context.Context, svc croft.Service, agreed consent) error {
				return a.runClean(ctx, svc, req, agreed)
			})
		},
	}
	addWordFlag(cmd, &req.All, croft.ScopeAll, "all", "", "every workspace, finished or not")
	addWordFlag(cmd, &req.Branches, croft.ScopeAll, "branches", "", "only recorded branches that have no workspace any more, merged or not; their tips are kept")
	agreement.addFlags(cmd)
	addKeyFlag(cmd, &req.Key)
	return cmd
}

func (a *app) runClean(ctx context.Context, svc cleaner, req croft.CleanRequest, agreed consent) error {
	result, err := a.askAndRemove(ctx, svc, agreed, "nothing to clean", func(dry croft.DryRun, shown *croft.Agreed) (*croft.CleanResult, error) {
		req.DryRun, req.Agreed = dry, shown
		return svc.Clean(ctx, req)
	})
	if err == nil && req.All == croft.ScopeNamed && req.Branches == croft.ScopeNamed {
		a.noteEmpty(ctx, svc)
	}
	if err != nil || result == nil {
		return err
	}
	if req.All == croft.ScopeAll {
		return keptExitStatus(result.Kept)
	}
	return nil
}

// noteEmpty says which workspaces hold nothing: they are not finished, and nobody has begun there.
func (a *app) noteEmpty(ctx context.Context, svc lister) {
	if a.json {
		return
	}
	list, err := svc.Workspaces(ctx, croft.WorkspacesRequest{Repo: a.dir(), Look: lookTime(true)})
	if err != nil {
		return
	}
	n, remove := 0, a.croftHere()+"remove"
	for _, ws := range list.Items {
		if ws.Status == croft.ConditionEmpty && !ws.IsUnseen() {
			n++
			remove += " " + shellWord(ws.Name)
		}
	}
	if n == 0 {
		return
	}
	are := countOf(n, "is", "are") + " empty: "
	if to := a.stderr(); to.IsTerminal() && screen.Width(are+remove) > to.Width {
		remove = a.croftHere() + "remove $(" + a.croftHere() + "list --state empty --names)"
	}
	a.note("%s%s", are, remove)
}

// sweeper is the part of croft.Service that every removal calls besides the method that
// removes: to show the workspaces first, and for the upkeep afterwards.
type sweeper interface {
	inspector
	repoFinder
}

// askAndRemove shows the workspaces and branches that a removal would take, asks, and
// removes those that were shown. The result is nil if nothing was done.
func (a *app) askAndRemove(ctx context.Context, svc sweeper, agreed consent, nothing string,
	remove func(croft.DryRun, *croft.Agreed) (*croft.CleanResult, error),
) (*croft.CleanResult, error) {
	var plan takePlan
	var shown *croft.Agreed
	if agreed != consentGiven {
		found, err := remove(croft.DryRunOn, nil)
		if err != nil {
			return nil, err
		}
		plan.branches, plan.kept = found.Branches, found.Kept
		for _, r := range found.Removed {
			a.addToPlan(ctx, svc, &plan, r)
		}
		if agreed == consentDryRun || len(plan.rows()) == 0 {
			a.showPlan(plan, nothing)
			return nil, nil
		}
		a.noteRows(plan.rows())
		if yes, err := a.ask(ctx, plan.question()); err != nil || !yes {
			return nil, err
		}
		shown = plan.agreed()
	}
	result, err := remove(croft.DryRunOff, shown)
	if err != nil {
		return nil, err
	}
	result.Kept = append(plan.kept, result.Kept...)
	a.printClean(ctx, svc, *result, nothing)
	a.startUpkeepAfter(ctx, svc)
	return result, nil
}

// printClean prints the workspaces and branches that were removed, and on stderr those
// that were kept.
func (a *app) printClean(ctx context.Context, svc repoFinder, r croft.CleanResult, nothing string) {
	if a.json {
		a.emit(cleanResult{Removed: r.Removed, Kept: r.Kept, Branches: r.Branches})
		return
	}
	if len(r.Removed)+len(r.Branches) == 0 {
		a.note("%s", nothing)
	}
	if a.isShown() {
		a.printCleaned(ctx, svc, r)
		a.noteTeardown(r.Removed)
		a.noteKept(r.Kept)
		return
	}
	a.printTable(append(removedRows(r.Removed), branchRows(r.Branches, "branch deleted, tip kept")...))
	a.noteTeardown(r.Removed)
	a.noteKept(r.Kept)
}

func branchRows(branches []string, what string) [][]cell {
	var rows [][]cell
	for _, branch := range branches {
		rows = append(rows, plainRow(branch, what))
	}
	return rows
}
