package cli

import (
	"context"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// historian is the part of croft.Service that `croft history` calls.
type historian interface {
	History(ctx context.Context, req croft.HistoryRequest) ([]croft.Operation, error)
}

// historyResult is what `croft history` prints.
type historyResult struct {
	Version    int               `json:"version"`
	Operations []croft.Operation `json:"operations"`
}

func newHistoryCommand(a *app) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:   "history",
		Short: "List what was done, the last first",
		Args:  takesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
				return a.runHistory(ctx, svc, croft.HistoryRequest{Repo: a.dir(), Limit: limit})
			})
		},
	}
	cmd.Flags().IntVarP(&limit, "limit", "n", 20, "how many `operations` at the most")
	return cmd
}

func (a *app) runHistory(ctx context.Context, svc historian, req croft.HistoryRequest) error {
	operations, err := svc.History(ctx, req)
	if err != nil {
		return err
	}
	if a.json {
		a.emit(historyResult{formatVersion, nonNil(operations)})
		return nil
	}
	if len(operations) == 0 {
		a.note("nothing was done yet")
		return nil
	}
	now := a.env.Now()
	rows := [][]cell{heading("ID", "WHEN", "WHO", "WHAT", "WORKSPACES", "STATE", "UNDO")}
	for _, op := range operations {
		undo := "-"
		if op.IsUndoable {
			undo = "croft undo " + string(op.ID)
		}
		rows = append(rows, []cell{
			plainCell(string(op.ID)), plainCell(ageOf(now, op.StartedAt) + " ago"), plainCell(op.Actor), plainCell(op.Kind),
			plainCell(orDash(op.Workspace)), plainCell(op.State), plainCell(undo),
		})
	}
	a.table(rows)
	return nil
}
