package cli

import (
	"context"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// locker is the part of croft.Service that `croft lock` calls.
type locker interface {
	Lock(ctx context.Context, req croft.LockRequest) (*croft.Workspace, error)
}

func newLockCommand(a *app) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "lock NAME",
		Short: "Protect a workspace from removal",
		Long: `Protect a workspace from removal until it is unlocked. The lock is git's own:
git honours it too, and "git worktree lock" sets the same one.`,
		Example:           `  croft lock fix-login --reason "waiting for review"`,
		Args:              takesName,
		ValidArgsFunction: a.completeOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			req := croft.LockRequest{Repo: a.dir(), Workspace: a.workspaceRef(args[0]), Reason: reason}
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
				return a.runLock(ctx, svc, req)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for whoever meets the lock")
	registerCompletion(cmd, "reason", cobra.NoFileCompletions)
	return cmd
}

func (a *app) runLock(ctx context.Context, svc locker, req croft.LockRequest) error {
	ws, err := svc.Lock(ctx, req)
	if err != nil {
		return err
	}
	a.printWorkspace(*ws, "locked")
	return nil
}

// workspaceResult is what a command prints that changed one workspace.
type workspaceResult struct {
	Version   int             `json:"version"`
	Workspace croft.Workspace `json:"workspace"`
}

func (a *app) printWorkspace(ws croft.Workspace, done string) {
	if a.json {
		a.emit(workspaceResult{formatVersion, a.withNext([]croft.Workspace{ws})[0]})
		return
	}
	a.note("%s: %s", ws.Name, done)
}
