package cli

import (
	"context"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// restorer is the part of croft.Service that `croft restore` calls.
type restorer interface {
	Restore(ctx context.Context, req croft.RestoreRequest) (*croft.Workspace, error)
}

func newRestoreCommand(a *app) *cobra.Command {
	var onlyCommits bool
	cmd := &cobra.Command{
		Use:   "restore ID or NAME",
		Short: "Bring a removed workspace, or an earlier state, back",
		Long: `Bring a removed workspace back: its branch, its files with everything that was
not committed, and whatever was in progress, at the path where it lay. Of
several removed workspaces of one name the last is taken; "croft trash" shows
the IDs of all. Where its directory went from the trash already, it comes back
from its commits and a snapshot, without the files that git ignores. A directory
that cannot be found, because it was moved far away or its drive is not mounted,
is not taken for gone: mount it, or say --commits.

With the ID of a snapshot, bring the workspace back to that state, in place.
Files that git ignores stay as they are. What it is now is saved as another
snapshot first, and "croft undo" goes back to it.`,
		Example: `  croft restore fix-login
  croft restore k3v9q2m7x4t1b8n5`,
		Args: takesName,
		RunE: func(cmd *cobra.Command, args []string) error {
			req := croft.RestoreRequest{Repo: a.dir(), Ref: args[0]}
			if onlyCommits {
				req.Mode = croft.RestoreCommits
			}
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
				return a.runRestore(ctx, svc, req)
			})
		},
		ValidArgsFunction: a.completeTrash,
	}
	cmd.Flags().BoolVar(&onlyCommits, "commits", false, "do without a directory that cannot be found: what git has comes back")
	return cmd
}

func (a *app) runRestore(ctx context.Context, svc restorer, req croft.RestoreRequest) error {
	ws, err := svc.Restore(ctx, req)
	if err != nil {
		return err
	}
	a.printWorkspace(*ws, "restored")
	for _, note := range ws.Notes {
		a.note("%s: %s", ws.Name, note)
	}
	return nil
}
