package lane

import (
	"context"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
)

// setBecame sets in the merges of a list what became of those that stayed pending. The list begins with the last merge of
// all, so that the later merges of each are in it.
func (svc *Lanes) setBecame(ctx context.Context, found []journal.Merge, out []croft.Merge) error {
	type work struct {
		workspace croft.ID
		target    string
	}
	later := map[work]journal.Merge{} // the last merge of each
	var ids []croft.ID
	for _, m := range found {
		ids = append(ids, m.Workspace)
	}
	records, err := svc.Journal.RecordsOf(ctx, ids)
	if err != nil {
		return err
	}
	isLive := map[croft.ID]bool{}
	for _, rec := range records {
		isLive[rec.Workspace.ID] = rec.Workspace.State != croft.Trashed
	}
	isDiscarded := map[croft.ID]bool{}
	for i, m := range found {
		if m.Kind != croft.KindMerge || m.Part || m.Workspace == "" {
			continue
		}
		if m.Status == croft.MergeDiscarded {
			isDiscarded[m.Workspace] = !isLive[m.Workspace] // otherwise it was restored
			continue
		}
		of := work{m.Workspace, m.Target}
		last, isOlder := later[of]
		if !isOlder {
			later[of] = m
		}
		if m.State != croft.MergeDone || m.Status != croft.MergePending {
			continue
		}
		switch {
		case isOlder && last.Status == croft.MergeMerged:
			out[i].Became = croft.BecameMerged
		case isOlder && last.Status == croft.MergeReverted:
			out[i].Became = croft.BecameReverted
		case isDiscarded[m.Workspace]:
			out[i].Became = croft.BecameDiscarded
		case isOlder:
			out[i].Became = croft.BecameSubmitted
		case !isLive[m.Workspace]:
			out[i].Became = croft.BecameRemoved
		}
	}
	return nil
}
