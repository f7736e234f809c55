package engine

import (
	"context"
	"fmt"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
)

// findGone finds a workspace that was removed, by its ID or its name; of several
// that had it, the last removed.
func (e *Engine) findGone(ctx context.Context, r *repo, ref string, none error) (journal.Record, error) {
	list, err := e.journal.Removed(ctx, r.id, ref)
	if err != nil {
		return journal.Record{}, err
	}
	var last *journal.Record
	for i, rec := range list {
		if last == nil || rec.Trash != nil && (last.Trash == nil || rec.Trash.RemovedAt.After(last.Trash.RemovedAt)) {
			last = &list[i]
		}
	}
	if last == nil {
		return journal.Record{}, none
	}
	return *last, nil
}

// notLive says of what is not among the live workspaces that it was removed, and what
// brings it back, or that there is none.
func (e *Engine) notLive(ctx context.Context, r *repo, ref string) error {
	out := notFound("", ref)
	list, err := e.journal.Removed(ctx, r.id, ref)
	if list = onlyTrashed(list); err != nil || len(list) == 0 {
		return out
	}
	what := "removed"
	switch status := list[0].Workspace.MergeStatus; status {
	case croft.MergeMerged, croft.MergeDiscarded, croft.MergeReverted:
		what = string(status)
	}
	out.Message, out.Hint = fmt.Sprintf("workspace %q was %s, and is in the trash", ref, what), "croft restore "+ref
	return out
}
