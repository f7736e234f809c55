package rewind

import (
	"context"
	"errors"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/once"
	"github.com/croft-sh/croft/internal/project"
)

// RestoreRequested restores a removed workspace, or rewinds one to a snapshot.
func (svc *Rewinds) RestoreRequested(ctx context.Context, s project.Location, req croft.RestoreRequest) (*croft.Workspace, error) {
	act, restored, err := svc.restoredBefore(ctx)
	if err != nil {
		return nil, err
	}
	if restored != "" {
		return svc.Views.ViewOf(ctx, s.Project, restored)
	}
	rec, err := svc.Trash.FindTrashed(ctx, s.Project, req.Ref)
	if kind, id := croft.CutRef(req.Ref); errors.Is(err, croft.WorktreeNotFound) && kind.Is(croft.RefID) {
		snap, lost := svc.findSnapshot(ctx, s.Project, id)
		if lost != nil {
			return nil, lost
		}
		if snap != nil {
			return svc.restoreSnapshot(ctx, s.Project, *snap, act)
		}
	}
	if err != nil {
		return nil, err
	}
	was := svc.Trash.WhatIsLeft(ctx, s.Project, rec)
	if was == croft.LeftAway && req.Mode == croft.RestoreCommits && s.FindTrash(ctx, rec) == "" {
		was = croft.LeftCommits
	}
	if err := svc.Trash.RestoreOne(ctx, s.Project, rec, req.Mode, act); err != nil {
		return nil, explain.WithWorkspace(rec.Workspace.Name, err)
	}
	w, err := svc.Views.ViewOf(ctx, s.Project, rec.Workspace.ID)
	if err == nil {
		w.Notes = svc.RestoreNotes(ctx, s.Project, rec, was)
	}
	return w, explain.WithWorkspace(rec.Workspace.Name, err)
}

// restoredBefore returns the act of a restoration, and the workspace if an earlier call with
// the same key has restored it. An act that began a rewind has restored nothing before the
// rewind is done.
func (svc *Rewinds) restoredBefore(ctx context.Context) (act project.Act, restored croft.ID, err error) {
	if act.ID, err = once.PinID(ctx, "act", project.NewID); err != nil || !once.HasKey(ctx) {
		return act, "", err
	}
	ops, err := svc.Journal.Act(ctx, act.ID)
	kind := "restore"
	if slices.ContainsFunc(ops, func(op journal.Operation) bool { return op.Kind == "rewind" }) {
		kind = "rewind"
	}
	for _, op := range ops {
		if op.Kind == kind && (op.State == journal.OpDone || op.State == journal.OpReversed) {
			restored = op.Workspaces[0]
		}
	}
	return act, restored, err
}

// restoreSnapshot rewinds a workspace to a snapshot.
func (svc *Rewinds) restoreSnapshot(ctx context.Context, r *project.Project, snap croft.Snapshot, act project.Act) (*croft.Workspace, error) {
	if err := svc.Rewind(ctx, r, snap, act); err != nil {
		return nil, explain.WithWorkspace(snap.WorkspaceName, err)
	}
	w, err := svc.Views.ViewOf(ctx, r, snap.Workspace)
	return w, explain.WithWorkspace(snap.WorkspaceName, err)
}
