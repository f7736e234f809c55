package doctor

import (
	"context"
	"fmt"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/shellword"
)

// findTakenPorts looks for processes that listen at the ports of a workspace and are not at work in it. Processes that
// cannot be seen are not reported: a program that runs for another user may well act for the workspace.
func (d *examination) findTakenPorts(ctx context.Context) error {
	records, err := d.Journal.Live(ctx, d.r.ID)
	if err != nil {
		return err
	}
	var ports []int
	for _, rec := range records {
		for _, p := range rec.Workspace.Ports {
			ports = append(ports, p.Port)
		}
	}
	if len(ports) == 0 {
		return nil
	}
	found, known := proc.Listeners(ports)
	if !known {
		return nil
	}
	for _, rec := range records {
		for _, p := range rec.Workspace.Ports {
			d.reportListeners(rec, p, found[p.Port])
		}
	}
	return nil
}

// reportListeners reports those of some processes that listen at a workspace's port and are not its own.
func (d *examination) reportListeners(rec journal.Record, p croft.Port, listeners []proc.Listener) {
	w := rec.Workspace
	for _, l := range listeners {
		if proc.IsAtWorkIn(l.PID, w.Path, "CROFT_WORKSPACE="+string(w.ID)) {
			continue
		}
		d.reportFinding(findPortTaken, w.Name, fmt.Sprintf("The process %d, %q, listens at its port %d and is not at work in it. "+
			"End that process, or give the workspace other ports: croft ports --move %s", l.PID, l.Name, p.Port, shellword.Quote(w.Name)), nil)
	}
}
