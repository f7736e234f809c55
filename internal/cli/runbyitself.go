package cli

import (
	"context"
	"errors"

	"github.com/croft-sh/croft"
)

// startByItself has an agent's own supervisor start it. If it does not, the run has ended.
func (a *app) startByItself(ctx context.Context, svc runner, run AgentRun) error {
	err := a.env.Agents.Start(ctx, run)
	if err == nil {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	of := croft.RecordRunRequest{Repo: a.dir(), Workspace: croft.ByID(run.Workspace.ID), Run: run.Run.ID}
	ended, over := of, of
	ended.End, ended.Status = croft.RunFailed, croft.ExitFailure
	over.Work = croft.WorkFinished // it has done nothing
	_, endErr := svc.RecordRun(ctx, ended)
	_, overErr := svc.RecordRun(ctx, over)
	return errors.Join(err, endErr, overErr)
}
