package cli

import (
	"context"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

func newConflictsCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "conflicts",
		Short: "Forecast which workspaces will collide",
		Long: `Forecast which workspaces will collide with each other and with their target,
with all the work that is in them now, committed or not, and suggest an order
of merging. Nothing is changed by it.`,
		Args: takesNothing,
		RunE: a.withService(func(ctx context.Context, svc croft.Service, _ []string) error {
			return a.runConflicts(ctx, svc, croft.ConflictsRequest{Repo: a.dir()})
		}),
	}
}

func (a *app) runConflicts(ctx context.Context, svc croft.Radar, req croft.ConflictsRequest) error {
	stop := a.startProgress("looking ahead")
	forecast, err := svc.Conflicts(ctx, req)
	stop()
	if err != nil {
		return err
	}
	if a.json {
		a.emit(forecast)
		return nil
	}
	for _, s := range forecast.Skipped {
		a.printErrorAs("skipped: ", s.Reason)
	}
	if len(forecast.Pairs) == 0 {
		a.note("no collisions among %s", countNoun(len(forecast.Order), "workspace"))
	} else {
		a.printTable(collisionRows(forecast.Pairs))
	}
	if len(forecast.Order) > 0 {
		words := make([]string, len(forecast.Order))
		for i, name := range forecast.Order {
			words[i] = shellWord(name)
		}
		a.printLine("order: " + printable(strings.Join(words, " ")))
	}
	return nil
}

func collisionRows(pairs []croft.Collision) [][]cell {
	rows := [][]cell{headingRow("WORKSPACE", "COLLIDES WITH", "IN")}
	for _, c := range pairs {
		with := c.B
		if c.IsTarget {
			with += " (target)"
		}
		rows = append(rows, plainRow(c.A, with, collisionText(c)))
	}
	return rows
}

// collisionText returns the text for the IN column: the paths in which two workspaces
// collide, or why git cannot merge them.
func collisionText(c croft.Collision) string {
	switch c.Reason {
	case croft.Unrelated:
		return "no history in common"
	case croft.Unmergeable:
		return "git itself fails to merge them"
	}
	return fewNames(c.Paths)
}
