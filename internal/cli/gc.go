package cli

import (
	"context"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// collector is what `croft gc` takes.
type collector interface {
	Reap(ctx context.Context, req croft.ReapRequest) (*croft.CleanResult, error)
	GC(ctx context.Context, repo string) (*croft.GCResult, error)
}

// gcResult is what `croft gc` prints.
type gcResult struct {
	Version  int        `json:"version"`
	Purged   []croft.ID `json:"purged"`
	Bytes    int64      `json:"bytes"`
	Branches []string   `json:"branches"`
}

func newGCCommand(a *app) *cobra.Command {
	var isAuto bool
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Delete old trash and integrated branches",
		Long: `Delete trash past its retention, and recorded branches that are integrated and
have no workspace any more.

Commands that change something start "croft gc --auto" in the background, at
most once an hour. It also removes orphans, as "croft reap" does, and says
nothing.`,
		Args: takesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.silent = isAuto
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
				if isAuto {
					return runAutoGC(ctx, svc, a.dir())
				}
				return a.runGC(ctx, svc, a.dir())
			})
		},
	}
	cmd.Flags().BoolVar(&isAuto, "auto", false, "reap orphans too, and say nothing")
	return cmd
}

func (a *app) runGC(ctx context.Context, svc collector, repo string) error {
	result, err := svc.GC(ctx, repo)
	if err != nil {
		return err
	}
	if a.json {
		a.emit(gcResult{formatVersion, nonNil(result.Purged), result.Bytes, nonNil(result.Branches)})
		return nil
	}
	if len(result.Purged) == 0 && len(result.Branches) == 0 {
		a.note("nothing to collect")
	}
	var rows [][]cell
	for _, id := range result.Purged {
		rows = append(rows, []cell{plain(string(id)), plain("trash deleted")})
	}
	for _, branch := range result.Branches {
		rows = append(rows, []cell{plain(branch), plain("branch deleted, tip kept")})
	}
	a.table(rows)
	if result.Bytes > 0 {
		a.note("%s freed", size(result.Bytes))
	}
	return nil
}

// runAutoGC deletes old trash even if reaping failed, and fails if one did.
func runAutoGC(ctx context.Context, svc collector, repo string) error {
	_, reapErr := svc.Reap(ctx, croft.ReapRequest{Repo: repo})
	if _, err := svc.GC(ctx, repo); err != nil {
		return err
	}
	return reapErr
}
