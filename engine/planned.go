package engine

import (
	"context"
	"errors"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/journal"
)

// errPlanned ends the transaction of a plan, so that nothing of it is kept.
var errPlanned = errors.New("this was only a plan")

// planCreation says what CreateAll would make.
func (e *Engine) planCreation(ctx context.Context, s standing, req croft.CreateAllRequest) ([]croft.Workspace, error) {
	plans, err := e.planAll(ctx, s, req.Workspaces, nil)
	if err != nil {
		return nil, err
	}
	err = e.journal.Update(ctx, func(tx *journal.Tx) error {
		for _, p := range plans {
			if err := e.settle(tx, s, p); err != nil {
				return explain.About(p.req.Name, err)
			}
			if err := tx.Put(p.record); err != nil { // those that follow must not get the same
				return err
			}
		}
		return errPlanned
	})
	if !errors.Is(err, errPlanned) {
		return nil, err
	}
	out := make([]croft.Workspace, len(plans))
	for i, p := range plans {
		w := p.record.Workspace
		w.ID, w.State = "", croft.Planned
		out[i] = w
	}
	return out, nil
}
