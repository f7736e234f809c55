package cli

import (
	"context"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// pathResult is what `croft path` prints.
type pathResult struct {
	Version int    `json:"version"`
	Path    string `json:"path"`
}

func newPathCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "path [NAME]",
		Short:             "Print where a workspace lies",
		Args:              takesOptionalName,
		ValidArgsFunction: a.completeOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
				return a.runPath(ctx, svc, a.workspaceRequest(args))
			})
		},
	}
}

func (a *app) runPath(ctx context.Context, svc finder, req croft.WorkspaceRequest) error {
	ws, err := svc.Workspace(ctx, req)
	if err != nil {
		return err
	}
	if a.json {
		a.emit(pathResult{formatVersion, ws.Path})
		return nil
	}
	a.line(ws.Path) // as it is: this is for programs
	return nil
}
