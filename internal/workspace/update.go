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
