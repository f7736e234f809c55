package cli

import (
	"context"
	"maps"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

func newEnvCommand(a *app) *cobra.Command {
	isExport := false
	cmd := &cobra.Command{
		Use:   "env [NAME]",
		Short: "Print the variables of a workspace",
		Long: `Print what a process that works in a workspace should have in its environment:
where it is, its ports, and the variables of [env] in croft.toml. croft sh sets them.`,
		Example: `  eval "$(croft env --export fix-login)"`,
		Args:    takesOptional("workspace"), ValidArgsFunction: a.completeOne,
		RunE: a.withService(func(ctx context.Context, svc croft.Service, args []string) error {
			return a.runEnv(ctx, svc, a.workspaceRequest(args), isExport)
		}),
	}
	cmd.Flags().BoolVar(&isExport, "export", false, "as commands for a shell")
	return cmd
}

func (a *app) runEnv(ctx context.Context, svc finder, req croft.WorkspaceRequest, isExport bool) error {
	ws, err := svc.Workspace(ctx, req)
	if err != nil {
		return err
	}
	variables := ws.Variables()
	unknown := slices.DeleteFunc(slices.Clone(ws.Unknown), func(field string) bool { return field != "env" && field != "ports" })
	if a.json {
		a.emit(envResult{variables, unknown})
		return nil
	}
	if len(unknown) > 0 {
		a.note("its ports and the variables of croft.toml are not known here: only Croft's record has them, and this process cannot read it; a .croft.env in the workspace may tell")
	}
	a.noteVariables(ws)
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		line := name + "=" + shellWord(variables[name])
		if isExport {
			line = "export " + line
		}
		a.printLine(line)
	}
	return nil
}
