package cli

import (
	"context"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// roleCopier is the part of croft.Service that `croft role update` calls.
type roleCopier interface {
	finder
	CopyRole(ctx context.Context, req croft.RoleRequest) (*croft.Role, error)
}

func newRoleCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "role",
		Short: "Role configurations",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError(cmd, "which of its commands?")
			}
			return unknownCommandError(cmd, args[0])
		},
		SuggestionsMinimumDistance: 2,
	}
	cmd.AddCommand(newRoleUpdateCommand(a))
	return cmd
}

func newRoleUpdateCommand(a *app) *cobra.Command {
	var mode croft.RoleMode
	var key string
	cmd := &cobra.Command{
		Use:   "update [NAME]",
		Short: "Copy a workspace's role files in again",
		Long: `Copy the files of a workspace's role in again, after they were changed. They do
not show as changes of the agent's.

Files that were changed in the workspace are not replaced, unless --force says so:
then the workspace is saved as a snapshot first, with them.`,
		Args:              takesOptional("workspace"),
		ValidArgsFunction: a.completeOne,
		RunE: a.withService(func(ctx context.Context, svc croft.Service, args []string) error {
			return a.runRoleUpdate(ctx, svc, a.workspaceRequest(args), croft.RoleRequest{Key: key, Mode: mode})
		}),
	}
	addWordFlag(cmd, &mode, croft.RoleReplace, "force", "f", "also files that were changed in the workspace; they are saved first")
	addKeyFlag(cmd, &key)
	return cmd
}

func (a *app) runRoleUpdate(ctx context.Context, svc roleCopier, req croft.WorkspaceRequest, copying croft.RoleRequest) error {
	ws, err := svc.Workspace(ctx, req)
	if err != nil {
		return err
	}
	copying.Repo, copying.Workspace = req.Repo, string(ws.ID)
	role, err := svc.CopyRole(ctx, copying)
	if err != nil {
		return err
	}
	if a.json {
		a.emit(roleResult{ws.Name, *role})
		return nil
	}
	a.note("%s: copied %s of role %s", ws.Name, strings.Join(role.Files, ", "), role.Name)
	if role.Snapshot != "" {
		a.note("what was there before is saved: croft restore %s", role.Snapshot)
	}
	return nil
}
