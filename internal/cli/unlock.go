package cli

import (
	"context"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// unlocker is the part of croft.Service that `croft unlock` calls.
type unlocker interface {
	Unlock(ctx context.Context, req croft.LockRequest) (*croft.Workspace, error)
}

func newUnlockCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "unlock NAME",
		Short:             "Take the protection away",
		Args:              takesName,
		ValidArgsFunction: a.completeOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			req := croft.LockRequest{Repo: a.dir(), Workspace: a.workspaceRef(args[0])}
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
				return a.runUnlock(ctx, svc, req)
			})
		},
	}
}

func (a *app) runUnlock(ctx context.Context, svc unlocker, req croft.LockRequest) error {
	ws, err := svc.Unlock(ctx, req)
	if err != nil {
		return err
	}
	a.printWorkspace(*ws, "unlocked")
	return nil
}
