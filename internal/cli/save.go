package cli

import (
	"context"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

func newSaveCommand(a *app) *cobra.Command {
	var req croft.SaveRequest
	cmd := &cobra.Command{
		Use:   "save [NAME] -m MESSAGE [PATH...]",
		Short: "Commit the work of a workspace to its branch",
		Long: `Commit what is uncommitted in a workspace to its branch. The agent may go on.

The first argument is the workspace, further ones are files and directories in it;
after "--" there are only paths. Without paths, what "git add --all" would stage is
committed. Files that look like secrets, are large, or are repositories of their own
are not committed, and are named. No hook and no filter of the repository runs.`,
		Example: `  croft save fix-login -m "Check the token first"
  croft save -m "Only the test" -- login_test.go`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: a.completeOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			names := args
			if dash := cmd.ArgsLenAtDash(); dash >= 0 {
				names, req.Paths = args[:dash], args[dash:]
			}
			if len(names) > 1 {
				names, req.Paths = names[:1], args[1:]
			}
			req.Repo, req.Workspace = a.dir(), a.optionalRef(names)
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
				return a.runSave(ctx, svc, req)
			})
		},
	}
	cmd.Flags().StringVarP(&req.Message, "message", "m", "", "the `message` of the commit")
	registerCompletion(cmd, "message", cobra.NoFileCompletions)
	addKeyFlag(cmd, &req.Key)
	return cmd
}

func (a *app) runSave(ctx context.Context, svc croft.Saves, req croft.SaveRequest) error {
	saved, err := svc.Save(ctx, req)
	if err != nil {
		return err
	}
	if a.json {
		a.emit(savedResult{*saved})
		return nil
	}
	if saved.Commit == "" {
		a.note("nothing to commit in %s", saved.WorkspaceName)
	} else {
		a.printTable([][]cell{plainRow(saved.WorkspaceName, shortCommit(saved.Commit), countNoun(saved.Files, "file"))})
	}
	if len(saved.HeldBack) > 0 {
		a.note("%s: not committed: %s", saved.WorkspaceName, strings.Join(saved.HeldBack, ", "))
	}
	return nil
}
