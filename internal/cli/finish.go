package cli

import (
	"context"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// finisher is the part of croft.Service that `croft finish` calls.
type finisher interface {
	repoFinder
	finder
	Finish(ctx context.Context, req croft.FinishRequest) (*croft.Merge, error)
	WaitMerge(ctx context.Context, req croft.WaitRequest) (*croft.Merge, error)
}

func newFinishCommand(a *app) *cobra.Command {
	var req croft.FinishRequest
	var isMerge, isKeep bool
	cmd := &cobra.Command{
		Use:   "finish [NAME]",
		Short: "Say that an agent has ended",
		Long: `Commit what the agent left uncommitted. Where the layout says so, or with
--merge, work of an agent that succeeded goes on to its target; the rest is
pending, for "croft merge" or "croft discard".

What is committed is what "git add --all" would stage. Files that look like secrets,
are large, or are repositories of their own are not committed, and neither are edits
of files that git was told not to look at; they are named.`,
		Args:              takesOptional("workspace"),
		ValidArgsFunction: a.completeOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Repo, req.Workspace = a.dir(), a.optionalRef(args)
			switch {
			case isMerge && isKeep:
				return usageError(cmd, "either --merge or --keep")
			case isMerge:
				req.Policy = croft.MergeAlways
			case isKeep:
				req.Policy = croft.MergeNever
			}
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
				return a.runFinish(ctx, svc, req)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar((*string)(&req.Outcome), "outcome", string(croft.Succeeded), "succeeded, failed or killed")
	flags.StringVarP(&req.Message, "message", "m", "", "the `message` of the commit")
	addKeyFlag(cmd, &req.Key)
	flags.BoolVar(&isMerge, "merge", false, "merge it if it succeeded, whatever the layout says")
	flags.BoolVar(&isKeep, "no-merge", false, "do not merge it, whatever the layout says")
	formerFlag(cmd, "no-merge", "keep", "")
	return cmd
}

func (a *app) runFinish(ctx context.Context, svc finisher, req croft.FinishRequest) error {
	a.noteAgents(ctx, svc, req.Workspace)
	m, err := svc.Finish(ctx, req)
	if err != nil {
		return err
	}
	if m.State == croft.MergeDone {
		a.showMerges([]croft.Merge{*m})
		return nil
	}
	if m, err = svc.WaitMerge(ctx, croft.WaitRequest{Merge: m.ID}); err != nil {
		return err
	}
	a.showMerges([]croft.Merge{*m})
	a.startUpkeepAfter(ctx, svc)
	return mergesExitStatus([]croft.Merge{*m}, croft.MergeMerged)
}
