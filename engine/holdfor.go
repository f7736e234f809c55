package engine

import (
	"context"
	"fmt"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/proc"
)

func (e *Engine) holdFor(ctx context.Context, req croft.LeaseRequest) (*croft.Lease, error) {
	id, seen := proc.Of(req.PID)
	if !seen {
		return nil, &croft.Error{Code: croft.InvalidRequest, Message: fmt.Sprintf("there is no process %d that could hold a lease", req.PID), Hint: "croft hold NAME --pid $$"}
	}
	c := call{op: "hold", workspace: req.Workspace, repo: req.Repo, recovers: beforeActing}
	return doOn(ctx, e, c, req, func(ctx context.Context, s standing, rec journal.Record, _ croft.LeaseRequest) (*croft.Lease, error) {
		return e.hold(ctx, s.repo, rec, croft.Lease{Owner: ownerOf(id), Term: croft.TermProcess})
	})
}

// putLease writes a lease down. Somebody is at work again: leases of owners that
// are gone say nothing about the workspace any more, and must not make an orphan
// of it when this one is released. A process that has one gets the same again.
func (e *Engine) putLease(tx *journal.Tx, rec journal.Record, l *croft.Lease) error {
	others, err := tx.LeasesOf(rec.Workspace.ID)
	if err != nil {
		return err
	}
	for _, o := range others {
		switch {
		case l.Term == croft.TermProcess && o.Term == l.Term && o.Owner == l.Owner:
			l.ID = o.ID
		case life(o.Owner) == proc.Dead:
			if err := tx.DropLease(o.ID); err != nil {
				return err
			}
		}
	}
	if err := tx.PutLease(*l); err != nil {
		return err
	}
	return tx.Emit(e.event(croft.EventLeaseTaken, rec))
}
