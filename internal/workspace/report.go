package workspace

import (
	"context"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/activity"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/owner"
	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/project"
)

// ReportAgent records what the agent of a workspace does. News that are older than those that
// are recorded change nothing.
func (svc *Workspaces) ReportAgent(ctx context.Context, _ project.Location, rec journal.Record, req croft.ReportRequest) (*croft.Activity, error) {
	if err := activity.Check(req); err != nil {
		return nil, err
	}
	kind := croft.EventWorkspaceReported
	if req.Turn == croft.SessionLeaves {
		kind = croft.EventWorkspaceLeft
	}
	if id, isThere := proc.Of(req.Process.PID); req.Process.Host == "" {
		if req.Process = (croft.Owner{}); isThere {
			req.Process = owner.Of(id)
		}
	}
	var now *croft.Activity
	err := svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		present, err := tx.Record(rec.Workspace.ID)
		if err != nil {
			return err
		}
		next, isNews := activity.After(present.Activity, req, svc.Now())
		if now = next.Noun(); !isNews {
			return nil
		}
		return tx.Report(rec.Workspace.ID, *next, svc.WorkspaceEvent(kind, rec))
	})
	return now, err
}
