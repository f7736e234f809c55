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
	Finish(ctx context.Context, req croft.FinishRequest) (*croft.Merge, error)
	RecordRun(ctx context.Context, req croft.RecordRunRequest) (*croft.Run, error)
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
			if grace <= 0 {
				grace = 1 // a Service takes none for its default
			}
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
	if before.Run != nil && before.Run.EndedAt.IsZero() {
		if err := a.finishStopped(ctx, svc, *before, *ended); err != nil {
			return err
		}
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
	a.remarkStep(*ws)
	return nil
}

// finishStopped finishes the work of an agent whose supervisor is gone. One that is there has done it
// under the same key.
func (a *app) finishStopped(ctx context.Context, svc stopper, ws croft.Workspace, ended croft.Run) error {
	outcome, known := ended.How.Outcome()
	if ended.Finish == croft.FinishNever || !known || !ended.FinishedAt.IsZero() {
		return nil
	}
	if _, err := svc.Finish(ctx, croft.FinishRequest{
		Key: "run-" + string(ended.ID), Repo: croft.Ref(ws.Repo), Workspace: croft.ByID(ws.ID), Outcome: outcome, Policy: ended.Policy,
	}); err != nil {
		return err
	}
	_, err := svc.RecordRun(ctx, croft.RecordRunRequest{Repo: croft.Ref(ws.Repo), Workspace: croft.ByID(ws.ID), Run: ended.ID, Work: croft.WorkFinished})
	return err
}
