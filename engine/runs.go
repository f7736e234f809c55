package engine

import (
	"context"

	"github.com/croft-sh/croft"
)

// BeginRun records that an agent is about to be started in a workspace.
func (e *Engine) BeginRun(ctx context.Context, req croft.BeginRunRequest) (*croft.Run, error) {
	return doOn(ctx, e, call{op: "run", workspace: req.Workspace, repo: req.Repo, key: req.Key, recovers: beforeActing, does: writes}, req, e.runs.Begin)
}

// RecordRun records the process of a run, that it goes on, or its end.
func (e *Engine) RecordRun(ctx context.Context, req croft.RecordRunRequest) (*croft.Run, error) {
	return doOn(ctx, e, call{op: "run", workspace: req.Workspace, repo: req.Repo, does: writes}, req, e.runs.Record)
}

// StopRun ends the agent that runs in a workspace.
func (e *Engine) StopRun(ctx context.Context, req croft.StopRunRequest) (*croft.Run, error) {
	return doOn(ctx, e, call{op: "stop", workspace: req.Workspace, repo: req.Repo, does: writes}, req, e.runs.Stop)
}

// RunLog returns a part of what the last agent of a workspace printed, also of one that was removed.
func (e *Engine) RunLog(ctx context.Context, req croft.RunLogRequest) (*croft.RunLog, error) {
	return doIn(ctx, e, call{op: "logs", workspace: req.Workspace, repo: req.Repo}, req, e.runs.Read)
}
