package cli

import (
	"context"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// queuer is what `croft queue` takes.
type queuer interface {
	Merges(ctx context.Context, req croft.MergesRequest) ([]croft.Merge, error)
	RunQueue(ctx context.Context, req croft.MergesRequest) ([]croft.Merge, error)
	Queue(ctx context.Context, req croft.QueueRequest) ([]croft.Merge, error)
}

func newQueueCommand(a *app) *cobra.Command {
	var req croft.MergesRequest
	var isAll bool
	cmd := &cobra.Command{
		Use:   "queue",
		Short: "Show the merges that wait, and drive them",
		Args:  takesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			req.Repo = a.dir()
			if isAll {
				req.Scope = croft.ScopeAll
			}
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
				return a.runQueue(ctx, svc, req)
			})
		},
	}
	flags := cmd.PersistentFlags()
	flags.StringVar(&req.Target, "into", "", "only the lane of this `branch`")
	cmd.Flags().BoolVar(&isAll, "all", false, "also those that have ended")
	cmd.Flags().IntVar(&req.Limit, "limit", 0, "how many are shown at most (default: 100)")
	cmd.AddCommand(
		&cobra.Command{
			Use:   "run",
			Short: "Merge what waits, until nothing does",
			Args:  takesNothing,
			RunE: func(cmd *cobra.Command, _ []string) error {
				req.Repo = a.dir()
				return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
					return a.runQueueRun(ctx, svc, req)
				})
			},
		},
		newQueueAction(a, croft.QueueHold, "hold [NAME...]", "Keep merges waiting", &req.Target),
		newQueueAction(a, croft.QueueRelease, "release [NAME...]", "Let held merges go on", &req.Target),
		newQueueAction(a, croft.QueueFirst, "first NAME...", "Put merges before all others", &req.Target),
		newQueueAction(a, croft.QueueCancel, "cancel [NAME...]", "Take merges out of the queue", &req.Target),
	)
	return cmd
}

func newQueueAction(a *app, action croft.QueueAction, use, short string, target *string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, ValidArgsFunction: a.completeMany,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
				return a.runQueueAction(ctx, svc, croft.QueueRequest{Repo: a.dir(), Action: action, Merges: args, Target: *target})
			})
		},
	}
}

func (a *app) runQueue(ctx context.Context, svc queuer, req croft.MergesRequest) error {
	merges, err := svc.Merges(ctx, req)
	if err != nil {
		return err
	}
	if len(merges) == 0 && !a.json {
		a.note("nothing waits")
		return nil
	}
	a.showMerges(merges)
	return nil
}

func (a *app) runQueueRun(ctx context.Context, svc queuer, req croft.MergesRequest) error {
	merges, err := svc.RunQueue(ctx, req)
	if err != nil {
		return err
	}
	a.showMerges(merges)
	return allReached(merges, croft.MergeMerged)
}

func (a *app) runQueueAction(ctx context.Context, svc queuer, req croft.QueueRequest) error {
	merges, err := svc.Queue(ctx, req)
	if err != nil {
		return err
	}
	a.showMerges(merges)
	return nil
}
