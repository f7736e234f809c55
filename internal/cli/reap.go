package cli

import (
	"context"
	"time"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// reaper is what `croft reap` takes.
type reaper interface {
	repoFinder
	Reap(ctx context.Context, req croft.ReapRequest) (*croft.CleanResult, error)
}

// cleanResult is what `croft reap` and `croft clean` print.
type cleanResult struct {
	Version  int             `json:"version"`
	Removed  []croft.Removed `json:"removed"`
	Kept     []croft.Kept    `json:"kept"`
	Branches []string        `json:"branches"`
	DryRun   bool            `json:"dryRun,omitempty"`
}

func newReapCommand(a *app) *cobra.Command {
	var olderThan age
	var isForced, isDryRun bool
	cmd := &cobra.Command{
		Use:   "reap",
		Short: "Remove what dead agents left",
		Long: `Move orphans to the trash: workspaces whose lease expired and whose owner is
provably gone. Without a lease there are no orphans; --older-than also takes
idle workspaces of that age that nobody leased, if their commits are in their
target. One whose directory is not found stays.`,
		Example: `  croft reap --older-than 7d --dry-run`,
		Args:    takesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			req := croft.ReapRequest{Repo: a.dir(), OlderThan: time.Duration(olderThan)}
			if isForced {
				req.Mode = croft.RemoveForce
			}
			if isDryRun {
				req.DryRun = croft.DryRunOn
			}
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
				return a.runReap(ctx, svc, req)
			})
		},
	}
	flags := cmd.Flags()
	flags.Var(&olderThan, "older-than", "also idle workspaces of this age, such as 24h or 7d")
	flags.BoolVarP(&isForced, "force", "f", false, "also with work that is nowhere else")
	flags.BoolVarP(&isDryRun, "dry-run", "n", false, "only tell")
	return cmd
}

func (a *app) runReap(ctx context.Context, svc reaper, req croft.ReapRequest) error {
	result, err := svc.Reap(ctx, req)
	if err != nil {
		return err
	}
	isDryRun := req.DryRun == croft.DryRunOn
	a.printClean(*result, isDryRun, "nothing to reap")
	if !isDryRun {
		a.upkeepAfter(ctx, svc)
	}
	return nil
}

// printClean prints what was removed, or would be, and remarks what was kept.
func (a *app) printClean(r croft.CleanResult, isDryRun bool, nothing string) {
	if a.json {
		a.emit(cleanResult{formatVersion, nonNil(r.Removed), nonNil(r.Kept), nonNil(r.Branches), isDryRun})
		return
	}
	if len(r.Removed)+len(r.Branches) == 0 {
		a.note("%s", nothing)
	}
	a.table(cleanRows(r, isDryRun))
	for _, k := range r.Kept {
		a.note("kept %s: %s", k.Name, k.Reason.Message)
	}
}

func cleanRows(r croft.CleanResult, isDryRun bool) [][]cell {
	rows := removedRows(r.Removed)
	if isDryRun {
		rows = nil
		for _, removed := range r.Removed {
			rows = append(rows, []cell{plain(removed.Name), plain("to the trash")})
		}
	}
	what := "deleted, tip kept"
	if isDryRun {
		what = "to be deleted, tip kept"
	}
	for _, branch := range r.Branches {
		rows = append(rows, []cell{plain(branch), plain("branch " + what)})
	}
	return rows
}
