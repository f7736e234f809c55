package cli

import (
	"context"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

func newRoundPrompt(a *app) *cobra.Command {
	var isRestart bool
	cmd := &cobra.Command{
		Use:   "prompt [NAME]",
		Short: "Print what an agent may be told about its checkout",
		Long: `Print a section for the system prompt of an agent: its branch, the branches of
the others, and where experiments are kept. It does not say which agent it is.`,
		Args:              takesOptional("workspace"),
		ValidArgsFunction: a.completeOne,
		RunE: a.withService(func(ctx context.Context, svc croft.Service, args []string) error {
			return a.runRoundPrompt(ctx, svc, a.workspaceRequest(args), isRestart)
		}),
	}
	cmd.Flags().BoolVar(&isRestart, "restart", false, "for an agent that is started again")
	return cmd
}

func (a *app) runRoundPrompt(ctx context.Context, svc croft.Rounds, req croft.WorkspaceRequest, isRestart bool) error {
	p, err := svc.Prompt(ctx, req)
	if err != nil {
		return err
	}
	switch {
	case a.json:
		a.emit(promptResult{*p})
	case isRestart:
		a.printLine(strings.TrimRight(p.Restart, "\n"))
	default:
		a.printLine(strings.TrimRight(p.Text, "\n"))
	}
	return nil
}

func newRoundArchive(a *app) *cobra.Command {
	var req croft.ArchiveRequest
	cmd := &cobra.Command{
		Use:               "archive [NAME]",
		Short:             "Copy a scratch directory to the archives now",
		Args:              takesOptional("workspace"),
		ValidArgsFunction: a.completeOne,
		RunE: a.withService(func(ctx context.Context, svc croft.Service, args []string) error {
			req.Repo, req.Workspace = a.dir(), a.optionalRef(args)
			return a.runRoundArchive(ctx, svc, req)
		}),
	}
	cmd.Flags().StringVar(&req.Label, "label", "", "the `name` of the copy (default: the workspace's label)")
	addKeyFlag(cmd, &req.Key)
	return cmd
}

func (a *app) runRoundArchive(ctx context.Context, svc croft.Rounds, req croft.ArchiveRequest) error {
	kept, err := svc.ArchiveScratch(ctx, req)
	if err != nil {
		return err
	}
	if a.json {
		a.emit(archiveResult{*kept})
		return nil
	}
	for _, path := range kept.Paths {
		a.printLine(a.shownPath(path))
	}
	if len(kept.Paths) == 0 {
		a.note("there is nothing in the scratch directory")
	}
	return nil
}
