package removal

import (
	"errors"
	"fmt"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
)

// withdrawMerges sees to it that work does not land after its workspace was removed:
// a merge that waits keeps the workspace, and a forced removal takes it out of its
// lane. One that is being checked or published is not stopped by force.
func (svc *Removals) withdrawMerges(tx *journal.Tx, w croft.Workspace, mode croft.RemoveMode) error {
	waiting, err := tx.WaitingOf(w.ID)
	if err != nil {
		return err
	}
	if err := guardMerges(waiting, w, mode); err != nil {
		return err
	}
	for _, m := range waiting {
		if !bringsWhole(m) || m.State != croft.MergeQueued {
			continue
		}
		m.Cancel("its workspace was removed", "croft restore "+w.Name, svc.Now())
		if err := errors.Join(tx.PutMerge(m), tx.Emit(svc.MergeEvent(croft.EventMergeCanceled, m))); err != nil {
			return err
		}
	}
	return nil
}

// guardMerges refuses to remove a workspace whose merge has not ended, unless that
// was asked for by force.
func guardMerges(waiting []journal.Merge, w croft.Workspace, mode croft.RemoveMode) error {
	if mode == croft.RemoveForce || mode == RemoveOccupied {
		return nil
	}
	for _, m := range waiting {
		switch {
		case !bringsWhole(m):
		case m.State == croft.MergeQueued:
			return &croft.Error{
				Code: croft.WorkspaceBusy, Workspace: w.Name, Message: fmt.Sprintf("its merge into %s waits; the work would land although the workspace was removed", m.Target),
				Details: string(m.ID), Hint: "croft queue run, or croft queue cancel " + w.Name,
			}
		default:
			return &croft.Error{
				Code: croft.WorkspaceBusy, Workspace: w.Name, Message: "its work is being merged into " + m.Target, Details: string(m.ID), Hint: "croft queue",
			}
		}
	}
	return nil
}

// bringsWhole reports whether a merge brings a workspace's work as a whole. What was
// chosen of it was frozen for that, and is not withdrawn.
func bringsWhole(m journal.Merge) bool { return m.Kind == croft.KindMerge && !m.Part }
