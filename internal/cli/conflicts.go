package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/listing"
	"github.com/croft-sh/croft/internal/cli/wording"
	"github.com/croft-sh/croft/internal/screen"
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

// forecaster is the part of croft.Service that `croft conflicts` calls.
type forecaster interface {
	croft.Radar
	lister
}

func (a *app) runConflicts(ctx context.Context, svc forecaster, req croft.ConflictsRequest) error {
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
	all := len(forecast.Order)
	if forecast.Order, err = a.mergeable(ctx, svc, forecast.Order); err != nil {
		return err
	}
	for _, s := range forecast.Skipped {
		a.printErrorAs("skipped: ", s.Reason)
	}
	if len(forecast.Pairs) == 0 {
		a.note("no collisions among %s", countNoun(all, "workspace"))
	}
	if a.env.Width > 0 {
		a.printForecast(forecast)
		a.noteNotReady(all - len(forecast.Order))
		return nil
	}
	if len(forecast.Pairs) > 0 {
		a.printTable(collisionRows(forecast.Pairs))
	}
	if len(forecast.Order) > 0 {
		words := make([]string, len(forecast.Order))
		for i, name := range forecast.Order {
			words[i] = shellWord(name)
		}
		a.note("order: %s", strings.Join(words, " "))
	}
	a.noteNotReady(all - len(forecast.Order))
	return nil
}

// noteNotReady says how many workspaces with work are not among those that can be merged.
func (a *app) noteNotReady(n int) {
	if n > 0 {
		a.note("%s not ready to be merged: croft list", countOf(n, "workspace is", "workspaces are"))
	}
}

// mergeable are those of some workspaces that a merge takes as they are: somebody is at work in others, their agent has
// failed, a check did, or they have work that is not committed.
func (a *app) mergeable(ctx context.Context, svc lister, names []string) ([]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	list, err := svc.Workspaces(ctx, croft.WorkspacesRequest{Repo: a.dir(), Look: lookTime(true)})
	if err != nil {
		return nil, err
	}
	return listing.Mergeable(list.Items, names), nil
}

// printForecast shows on a terminal who collides with whom, and in which order work can be merged.
func (a *app) printForecast(f *croft.Forecast) {
	to := a.stdout()
	if len(f.Pairs) > 0 {
		if matrix := listing.Matrix(f.Pairs, to); len(matrix) > 0 {
			a.printLines(append(matrix, ""))
		}
		a.printLines(listing.Pairs(f.Pairs, to))
	}
	clean, after := listing.Order(f)
	alone := 0
	for _, name := range f.Order {
		if !slices.ContainsFunc(f.Pairs, func(c croft.Collision) bool { return c.A == name || c.B == name && !c.IsTarget }) {
			alone++
		}
	}
	switch {
	case len(f.Order) == 0:
		return
	case alone > 0 && len(f.Pairs) > 0:
		a.note("%s with nobody; merge in this order:", countOf(alone, "other collides", "others collide"))
	case len(f.Order) > 1:
		a.note("merge in this order:")
	}
	commands := listing.MergeCommands(clean, to.Width-len(columnGap))
	for _, name := range after {
		commands = append(commands, "croft merge --resolve "+shellWord(name))
	}
	for _, text := range commands {
		a.remark(screen.Span{Text: columnGap}, command(printable(text)))
	}
}

// printLines prints lines that are whole already.
func (a *app) printLines(lines []string) {
	for _, line := range lines {
		a.printLine(line)
	}
}

func collisionRows(pairs []croft.Collision) [][]cell {
	rows := [][]cell{headingRow("WORKSPACE", "COLLIDES WITH", "IN")}
	for _, c := range pairs {
		with := c.B
		if c.IsTarget {
			with += " (target)"
		}
		in := wording.Paths(c.Paths)
		if c.Reason != "" {
			in = listing.CollisionText(c)
		}
		rows = append(rows, plainRow(c.A, with, in))
	}
	return rows
}
