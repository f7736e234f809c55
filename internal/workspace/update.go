package workspace

import (
	"context"
	"errors"
	"maps"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/layout"
	"github.com/croft-sh/croft/internal/once"
	"github.com/croft-sh/croft/internal/project"
)

// UpdateRecord changes what callers record with a workspace. A request that changes nothing
// writes nothing.
func (svc *Workspaces) UpdateRecord(ctx context.Context, s project.Location, rec journal.Record, req croft.UpdateRequest) (*croft.Workspace, error) {
	if err := layout.CheckMeta(req.Meta); err != nil {
		return nil, err
	}
	w, err := svc.Views.ViewOf(ctx, s.Project, rec.Workspace.ID)
	if err != nil {
		return nil, err
	}
	if req.Ports == croft.PortsMove {
		return w, svc.movePorts(ctx, s.Project, rec, w, req)
	}
	return w, svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		now, err := tx.Record(rec.Workspace.ID)
		if err != nil {
			return err
		}
		meta := maps.Clone(now.Workspace.Meta)
		if meta == nil {
			meta = map[string]string{}
		}
		maps.Copy(meta, req.Meta)
		maps.DeleteFunc(meta, func(_, value string) bool { return value == "" })
		if err := layout.CheckMeta(meta); err != nil {
			return err
		}
		if len(meta) == 0 {
			meta = nil
		}
		if w.Meta = meta; maps.Equal(meta, now.Workspace.Meta) {
			w.Revision = now.Generation
			return once.Answer(ctx, tx, w)
		}
		if err := tx.SaveMeta(&now, meta); err != nil {
			return err
		}
		w.Revision = now.Generation
		return errors.Join(svc.Note(tx, "update", s.ID, now), once.Answer(ctx, tx, w))
	})
}

// movePorts gives a workspace other ports, and puts them into its view.
func (svc *Workspaces) movePorts(ctx context.Context, r *project.Project, rec journal.Record, w *croft.Workspace, req croft.UpdateRequest) error {
	if len(req.Meta) > 0 {
		return &croft.Error{Code: croft.InvalidRequest, Message: "a request changes the meta of a workspace or moves its ports, not both"}
	}
	return svc.Equipment.MovePorts(ctx, r, rec, func(tx *journal.Tx, now journal.Record) error {
		maps.DeleteFunc(w.Env, func(name, _ string) bool { return rec.Env[name] != "" })
		maps.Copy(w.Env, now.Env)
		w.Ports, w.Revision = now.Workspace.Ports, now.Generation
		return once.Answer(ctx, tx, w)
	})
}
