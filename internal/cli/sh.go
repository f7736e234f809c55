package cli

import (
	"context"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

func newShCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "sh [NAME]",
		Short: "Open a shell in a workspace",
		Long: `Open your shell in a workspace, with the workspace's environment. Leaving the
shell brings you back; its exit status is the command's.`,
		Args:              takesOptional("workspace"),
		ValidArgsFunction: a.completeOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.json {
				return usageError(cmd, "a shell has no JSON, use `croft path --json` or `croft show --json`")
			}
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
				return a.runSh(ctx, svc, a.workspaceRequest(args))
			})
		},
	}
}

// runSh takes no lease. The shell's working directory keeps the workspace from
// being removed while the shell runs, and a lease that outlives a closed
// terminal would make an orphan of a workspace that a person still wants.
func (a *app) runSh(ctx context.Context, svc finder, req croft.WorkspaceRequest) error {
	ws, err := svc.Workspace(ctx, req)
	if err != nil {
		return err
	}
	if ws.State != croft.Ready && ws.State != croft.Stopped {
		return &croft.Error{
			Code: croft.WorkspaceBroken, Op: "sh", Workspace: ws.Name,
			Message: "no shell in a workspace that is " + string(ws.State),
			Hint:    "croft show " + shellWord(ws.Name),
		}
	}
	a.noteVariables(ws)
	a.note("%s: %s on %s, leave with exit", ws.Name, a.shownPath(ws.Path), orDash(ws.Branch))
	status, err := a.env.Shell(ctx, ws.Path, ws.Environ())
	if err != nil {
		return err
	}
	if status != 0 {
		return statusError(status)
	}
	return nil
}
