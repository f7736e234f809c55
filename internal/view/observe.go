package view

import (
	"context"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/actor"
	"github.com/croft-sh/croft/internal/journal"
)

// Observe tells of workspaces that a process which looks by itself has seen changed: their
// heads, and the work in them. Who changed it is taken to be the agent.
func (svc *Views) Observe(ctx context.Context, seen []croft.Workspace) (struct{}, error) {
	return struct{}{}, svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		for _, w := range seen {
			by, _ := actor.Cut(actor.In(w))
			if err := tx.Observe(w, by); err != nil {
				return err
			}
		}
		return nil
	})
}
