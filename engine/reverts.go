package engine

import (
	"context"

	"github.com/croft-sh/croft"
)

// ResolveRevert makes a workspace in which the conflicts of a revert are resolved.
func (e *Engine) ResolveRevert(ctx context.Context, req croft.RevertRequest) (*croft.Resolution, error) {
	return doIn(ctx, e, call{op: "revert", workspace: req.Ref, repo: req.Repo, key: req.Key, verb: "resolve-revert", needs: gitRepository, recovers: beforeActing}, req, e.resolver.ResolveRevert)
}

// PlanUndo returns the steps that Undo would take.
func (e *Engine) PlanUndo(ctx context.Context, req croft.UndoRequest) (*croft.UndoPlan, error) {
	c := call{op: "undo", repo: req.Repo}
	if req.Operation == "" && e.access().How == nil { // an act of a killed process may be the last
		c.recovers = beforeActing
	}
	return doIn(ctx, e, c, req, e.history.PlanUndoing)
}
