package cli

import (
	"context"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

func newLockCommand(a *app) *cobra.Command {
	var reason, key string
	cmd := &cobra.Command{
		Use:   "lock NAME",
		Short: "Protect a workspace from removal",
		Long: `Protect a workspace from removal until it is unlocked. The lock is git's own:
git honours it too, and "git worktree lock" sets the same one.`,
		Example:           `  croft lock fix-login --reason "waiting for review"`,
		Args:              takesOne("workspace", "its name"),
		ValidArgsFunction: a.completeOne,
		RunE: a.withService(func(ctx context.Context, svc croft.Service, args []string) error {
			req := croft.LockRequest{Key: key, Repo: a.dir(), Workspace: a.workspaceRef(args[0]), Reason: reason}
			return a.runLock(ctx, svc.Lock, req, "locked")
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for those who find the workspace locked")
	registerCompletion(cmd, "reason", cobra.NoFileCompletions)
	addKeyFlag(cmd, &key)
	return cmd
}

func newUnlockCommand(a *app) *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use:               "unlock NAME",
		Short:             "Take the protection away",
		Args:              takesOne("workspace", "its name"),
		ValidArgsFunction: a.completeOne,
		RunE: a.withService(func(ctx context.Context, svc croft.Service, args []string) error {
			req := croft.LockRequest{Key: key, Repo: a.dir(), Workspace: a.workspaceRef(args[0])}
			return a.runLock(ctx, svc.Unlock, req, "unlocked")
		}),
	}
	addKeyFlag(cmd, &key)
	return cmd
}

// runLock calls Lock or Unlock of the Service.
func (a *app) runLock(ctx context.Context, lock func(context.Context, croft.LockRequest) (*croft.Workspace, error), req croft.LockRequest, done string) error {
	ws, err := lock(ctx, req)
	if err != nil {
		return err
	}
	a.printWorkspace(*ws, done)
	return nil
}

// printWorkspace prints a workspace, and what a command did to it.
func (a *app) printWorkspace(ws croft.Workspace, done string) {
	if a.json {
		a.emit(workspaceResult{a.withCommands([]croft.Workspace{ws})[0]})
		return
	}
	a.note("%s: %s", ws.Name, done)
}
