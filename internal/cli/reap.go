package cli

import (
	"context"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// reaper is the part of croft.Service that `croft reap` calls.
type reaper interface {
	sweeper
	Reap(ctx context.Context, req croft.ReapRequest) (*croft.CleanResult, error)
}

// cleanResult is what was moved to the trash or deleted, and what stays.
type cleanResult struct {
	Removed  []croft.Removed `json:"removed"`
	Kept     []croft.Kept    `json:"kept"`
	Branches []string        `json:"branches"`          // deleted; they had no workspace any more
	Unknown  []string        `json:"unknown,omitempty"` // names that were not there
	DryRun   bool            `json:"dryRun,omitempty"`  // with --dry-run: all this would be done
}

func newReapCommand(a *app) *cobra.Command {
	var olderThan age
	var isForced bool
	var key string
	var agreement agreement
	cmd := &cobra.Command{
		Use:   "reap",
		Short: "Remove what dead agents left",
		Long: `Move orphans to the trash: workspaces whose lease expired and whose owner is
provably gone, or whose agent croft run lost. A workspace without either is no
orphan; --older-than also takes idle workspaces of that age that nobody leased,
if their commits are in their target. Files that are not committed stay where
they are, and the reason is said. One whose directory is not found stays. What
that is, is listed first, and you are asked.`,
		Example: `  croft reap --older-than 7d --dry-run`,
		Args:    takesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			req := croft.ReapRequest{Key: key, Repo: a.dir(), OlderThan: croft.Duration(olderThan)}
			if isForced {
				req.Mode, agreement.isYes = croft.RemoveForce, true
			}
			if err := agreement.requireYes(cmd, key); err != nil {
				return err
			}
			return a.serveAgreed(cmd, agreement, reachFurther, func(ctx context.Context, svc croft.Service, agreed consent) error {
				return a.runReap(ctx, svc, req, agreed)
			})
		},
	}
	flags := cmd.Flags()
	flags.Var(&olderThan, "older-than", "also idle workspaces of this age, such as 24h or 7d")
	flags.BoolVarP(&isForced, "force", "f", false, "also with work that is nowhere else; does not ask")
	agreement.addFlags(cmd)
	addKeyFlag(cmd, &key)
	return cmd
}

func (a *app) runReap(ctx context.Context, svc reaper, req croft.ReapRequest, agreed consent) error {
	_, err := a.askAndRemove(ctx, svc, agreed, "nothing to reap", func(dry croft.DryRun, shown *croft.Agreed) (*croft.CleanResult, error) {
		req.DryRun, req.Agreed = dry, shown
		return svc.Reap(ctx, req)
	})
	return err
}
