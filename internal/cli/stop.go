package cli

import (
	"context"
	"time"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// stopper is the part of croft.Service that `croft stop` calls.
type stopper interface {
	finder
	StopRun(ctx context.Context, req croft.StopRunRequest) (*croft.Run, error)
}

func newStopCommand(a *app) *cobra.Command {
	var grace time.Duration
	cmd := &cobra.Command{
		Use:   "stop [NAME]",
		Short: "End the agent that \"croft run\" started in a workspace",
		Long: `Ask the agent that runs in a workspace to end, and all that it started, and kill what does
not. Its work stays, and is finished as that of an agent that was killed.`,
		Args:              takesOptional("workspace"),
		ValidArgsFunction: a.completeOne,
		RunE: a.withService(func(ctx context.Context, svc croft.Service, args []string) error {
			return a.runStop(ctx, svc, croft.StopRunRequest{Repo: a.dir(), Workspace: a.optionalRef(args), Grace: croft.Duration(grace)})
		}),
	}
	cmd.Flags().DurationVar(&grace, "grace", 10*time.Second, "kill it after this `time`")
	return cmd
}

func (a *app) runStop(ctx context.Context, svc stopper, req croft.StopRunRequest) error {
	before, err := svc.Workspace(ctx, croft.WorkspaceRequest{Repo: req.Repo, Ref: req.Workspace})
	if err != nil {
		return err
	}
	ended, err := svc.StopRun(ctx, req)
	if err != nil {
		return err
	}
	ws, err := svc.Workspace(ctx, croft.WorkspaceRequest{Repo: req.Repo, Ref: croft.ByID(before.ID), Scope: croft.ScopeAll, Look: croft.Duration(time.Second)})
	if err != nil {
		return err
	}
	if a.json {
		a.emit(runResult{Workspace: *ws, Run: *ended})
		return nil
	}
	state, _ := conditionCells(ws)
	a.printTable([][]cell{{plainCell(ws.Name), state, plainCell(a.endText(*ended))}})
	if before.Run != nil && before.Run.State == croft.RunEnded {
		a.note("it had ended already")
	}
	return nil
}
