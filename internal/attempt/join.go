package attempt

import (
	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
)

// JoinLanded makes a merge the same as the one by which its work landed, unless that was taken
// back meanwhile. What becomes of the workspace is as the new call says.
func JoinLanded(tx *journal.Tx, m *journal.Merge, landed croft.ID) (isLanded bool, err error) {
	was, err := tx.Merge(landed)
	if err != nil || was.Status != croft.MergeMerged {
		return false, err
	}
	was.After, was.HeldBack = m.After, m.HeldBack
	was.Untidy, was.Kept = m.After == croft.AfterTrash, nil
	*m = was
	return true, nil
}

// JoinWaiting makes a merge the same as the one of its kind, workspace and target that is still
// queued, if there is one, with the new work. If a lane works on the same work, the merge is that
// one; isQueued is false then.
func JoinWaiting(tx *journal.Tx, m *journal.Merge) (isQueued bool, err error) {
	old, err := tx.WaitingOf(m.Workspace)
	if err != nil {
		return false, err
	}
	for _, o := range old {
		if o.Kind != m.Kind || o.Target != m.Target {
			continue
		}
		if o.State == croft.MergeQueued {
			m.ID, m.Act, m.SubmittedAt, m.IsHeld, m.Hold = o.ID, o.Act, o.SubmittedAt, o.IsHeld, o.Hold
			m.Priority = max(m.Priority, o.Priority)
			if o.Head == m.Head {
				m.Tried = o.Tried
			}
			return true, nil
		}
		if o.Head == m.Head && o.Strategy == m.Strategy && o.Text == m.Text {
			o.After, o.HeldBack, o.Priority = m.After, m.HeldBack, max(m.Priority, o.Priority)
			*m = o
			return false, nil
		}
	}
	return true, nil
}
