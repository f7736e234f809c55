package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
)

func (e *Engine) toRemove(ctx context.Context, s standing, req croft.RemoveRequest, res *croft.RemoveResult) ([]journal.Record, error) {
	if req.All == croft.ScopeAll {
		live, err := e.journal.Live(ctx, s.id)
		return agreedOf(req.Agreed, live), err
	}
	var records []journal.Record
	for _, ref := range req.Workspaces {
		rec, err := e.find(ctx, s, ref)
		if errors.Is(err, croft.WorktreeNotFound) && ref != "" {
			res.Unknown = append(res.Unknown, ref)
			continue
		}
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(records, func(r journal.Record) bool { return r.Workspace.ID == rec.Workspace.ID }) {
			records = append(records, rec)
		}
	}
	return agreedOf(req.Agreed, records), nil
}

// agreedOf are the workspaces that somebody who was asked agreed to, or all if
// nobody was.
func agreedOf(a *croft.Agreed, records []journal.Record) []journal.Record {
	if a == nil {
		return records
	}
	return slices.DeleteFunc(records, func(rec journal.Record) bool { return !slices.Contains(a.Workspaces, rec.Workspace.ID) })
}

// agreedMode is how a workspace may be removed: as the request says if nobody was
// asked, and else as it was shown.
func agreedMode(a *croft.Agreed, rec journal.Record, requested croft.RemoveMode) croft.RemoveMode {
	switch {
	case a == nil:
		return requested
	case slices.Contains(a.WithWork, rec.Workspace.ID):
		return removeWithWork
	}
	return croft.RemoveSafe
}

// removeAgreed removes a workspace as it was asked for and agreed to, or says
// whether that could be done.
func (e *Engine) removeAgreed(ctx context.Context, r *repo, rec journal.Record, how removal, req croft.RemoveRequest) (*croft.Removed, error) {
	mode := agreedMode(req.Agreed, rec, req.Mode)
	if req.DryRun == croft.DryRunOn {
		rec, err := e.catchUp(ctx, r, rec) // one that was moved is judged where it is, as the removal does
		if err == nil {
			err = e.guard(ctx, r, rec, mode)
		}
		var waiting []journal.Merge
		if err == nil {
			waiting, err = e.journal.WaitingOf(ctx, rec.Workspace.ID)
		}
		if err == nil {
			err = guardMerges(waiting, rec.Workspace, mode)
		}
		return &croft.Removed{ID: rec.Workspace.ID, Name: rec.Workspace.Name}, err
	}
	return e.removeOne(ctx, r, rec, how, mode)
}
