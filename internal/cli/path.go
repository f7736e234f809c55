package cli

import (
	"context"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

func newPathCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "path [NAME]",
		Short:             "Print where a workspace lies",
		Args:              takesOptional("workspace"),
		ValidArgsFunction: a.completeOne,
		RunE: a.withService(func(ctx context.Context, svc croft.Service, args []string) error {
			return a.runPath(ctx, svc, a.workspaceRequest(args))
		}),
	}
}

func (a *app) runPath(ctx context.Context, svc finder, req croft.WorkspaceRequest) error {
	ws, err := svc.Workspace(ctx, req)
	if err != nil {
		return err
	}
	if a.json {
		a.emit(pathResult{ws.Path})
		return nil
	}
	a.printLine(ws.Path) // as it is: this is for programs
	return nil
}
