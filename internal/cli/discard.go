package cli

import (
	"context"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// discarder is what `croft discard` takes.
type discarder interface {
	repoFinder
	Discard(ctx context.Context, req croft.DiscardRequest) ([]croft.Merge, error)
}

func newDiscardCommand(a *app) *cobra.Command {
	var isAll bool
	var key string
	cmd := &cobra.Command{
		Use:   "discard NAME...",
		Short: "Move workspaces to the trash whose work is not wanted",
		Long: `Move workspaces to the trash with their branches, and take them out of the
queue. "croft restore" brings one back.`,
		ValidArgsFunction: a.completeMany,
		RunE: func(cmd *cobra.Command, args []string) error {
			req := croft.DiscardRequest{Key: key, Repo: a.dir(), Workspaces: a.refs(args)}
			switch {
			case isAll && len(args) > 0:
				return misused(cmd, "either names or --all-pending")
			case !isAll && len(args) == 0:
				return misused(cmd, "which workspace? give names or --all-pending")
			case isAll:
				req.All = croft.ScopeAll
			}
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
				return a.runDiscard(ctx, svc, req)
			})
		},
	}
	keyFlag(cmd, &key, "answer")
	cmd.Flags().BoolVar(&isAll, "all-pending", false, "every workspace of the project whose work is pending")
	return cmd
}

func (a *app) runDiscard(ctx context.Context, svc discarder, req croft.DiscardRequest) error {
	merges, err := svc.Discard(ctx, req)
	if err != nil {
		return err
	}
	if len(merges) == 0 && !a.json {
		a.note("nothing is pending")
		return nil
	}
	a.showMerges(merges)
	a.upkeepAfter(ctx, svc)
	return allReached(merges, croft.MergeDiscarded)
}
