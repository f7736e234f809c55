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
	isLive, err := svc.areLive(ctx, stayedPending(found))
	if err != nil {
		return err
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

// stayedPending lists the workspaces of merges that ended without having landed: of the others it makes no difference whether they
// are still there.
func stayedPending(found []journal.Merge) (ids []croft.ID) {
	for _, m := range found {
		if m.State == croft.MergeDone && m.Status == croft.MergePending {
			ids = append(ids, m.Workspace)
		}
	}
	return ids
}

// areLive says which workspaces are not removed. Most lists have none to ask for, and reading the records of a whole list
// costs more than the list.
func (svc *Lanes) areLive(ctx context.Context, ids []croft.ID) (map[croft.ID]bool, error) {
	isLive := map[croft.ID]bool{}
	if len(ids) == 0 {
		return isLive, nil
	}
	records, err := svc.Journal.RecordsOf(ctx, ids)
	for _, rec := range records {
		isLive[rec.Workspace.ID] = rec.Workspace.State != croft.Trashed
	}
	return isLive, err
}
