package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
)

// elsewhere describes the checkouts that the agent of a workspace has of the
// session's other repositories, and adds them to its prompt.
func (e *Engine) elsewhere(ctx context.Context, ses *journal.Session, own croft.Workspace, p *croft.Prompt) error {
	for _, seat := range seatsBeside(ses, own.ID) {
		rec, err := e.journal.Record(ctx, seat.Workspace)
		if errors.Is(err, journal.ErrNotFound) || err == nil && rec.Workspace.State == croft.Trashed {
			continue
		}
		if err != nil {
			return err
		}
		r, err := e.repoByID(ctx, seat.Repo)
		if err != nil {
			return err
		}
		if r.git == nil || rec.Workspace.Branch == "" {
			continue
		}
		all, err := e.liveBranches(ctx, r, ses)
		if err != nil {
			return err
		}
		seen := seenFrom(all, seat.Workspace)
		p.Elsewhere = append(p.Elsewhere, croft.PromptCheckout{Path: rec.Workspace.Path, Branch: rec.Workspace.Branch, Others: seen.others, Earlier: seen.earlier})
		var b strings.Builder
		fmt.Fprintf(&b, "\nIn `%s` you work on branch `%s`.\n", rec.Workspace.Path, rec.Workspace.Branch)
		list(&b, "Other agents' branches there:\n", seen.working)
		list(&b, "Finished work of all agents there, by branch:\n", seen.finished)
		p.Text += b.String()
		p.Restart += b.String()
	}
	return nil
}

// seatsBeside are the other seats that the agent of a workspace has in the same
// round.
func seatsBeside(ses *journal.Session, own croft.ID) []journal.Seat {
	var out []journal.Seat
	for _, t := range ses.Turns {
		for _, mine := range t.Seats {
			if mine.Workspace != own {
				continue
			}
			for _, seat := range t.Seats {
				if seat.Agent == mine.Agent && seat.Workspace != own && seat.Workspace != "" && !t.Starting {
					out = append(out, seat)
				}
			}
		}
	}
	return out
}
