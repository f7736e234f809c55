package engine

import (
	"context"
	"fmt"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/project"
)

func (e *Engine) holdFor(ctx context.Context, req croft.LeaseRequest) (*croft.Lease, error) {
	id, seen := proc.Of(req.PID)
	if !seen {
		return nil, &croft.Error{Code: croft.InvalidRequest, Message: fmt.Sprintf("there is no process %d that could hold a lease", req.PID), Hint: "croft hold NAME --pid $$"}
	}
	c := call{op: "hold", workspace: req.Workspace, repo: req.Repo, recovers: beforeActing}
	return doOn(ctx, e, c, req, func(ctx context.Context, s project.Location, rec journal.Record, _ croft.LeaseRequest) (*croft.Lease, error) {
		return e.workspaces.TakeLease(ctx, s.Project, rec, croft.Lease{Owner: project.OwnerOf(id), Term: croft.TermProcess})
	})
}
