package journal

import (
	"time"

	"github.com/croft-sh/croft"
)

// The states of a merge, and what leads from one to the next:
//
//	queued ──Enter, Attempt──▶ merging, checking ──┐
//	  ▲ ▲                            │             │ Land, EndMerged, EndEmpty,
//	  │ └──────────Requeue───────────┘             │ Reject, Cancel, Discard
//	  └──────────────Resubmit───────────────── done, with a status
//
// A merge that is done has an end; one that is not has neither an end nor a reason.
// Only a pending one is submitted again. Revert and Reinstate change the status of
// what has landed.

// Enter records that a lane works on the merge; state is MergeMerging or MergeChecking.
func (m *Merge) Enter(state croft.MergeState) { m.State, m.Check = state, "" }

// EnterCheck records which check runs, of a merge that is being checked.
func (m *Merge) EnterCheck(command string) { m.Check = command }

// Attempt records that a commit is about to be published. Until the merge is done it is
// unknown whether the commit was published.
func (m *Merge) Attempt(commit string) { m.State, m.Check, m.Tried = croft.MergeMerging, "", commit }

// Requeue puts a merge that a lane worked on back into the queue. Tried stays set.
func (m *Merge) Requeue() { m.Enter(croft.MergeQueued) }

// RequeueAlone puts a merge back into the queue, to be published without others.
func (m *Merge) RequeueAlone() { m.State, m.Check, m.Alone = croft.MergeQueued, "", true }

// Resubmit puts a pending merge into the queue again.
func (m *Merge) Resubmit() {
	m.State, m.EndedAt = croft.MergeQueued, time.Time{}
	m.explain(nil)
}

// Reject ends a merge that could not land. It stays pending, with the reason.
func (m *Merge) Reject(why *croft.Error, conflicts []croft.ConflictedPath, at time.Time) {
	m.end(croft.MergePending, at)
	m.explain(why)
	m.Conflicts, m.Tried = conflicts, ""
}

// Landing is the result of a publication for one merge.
type Landing struct {
	Commit, Before string // the new and the previous tip of the target
	Checks         []croft.Check
	Moved          string // how the target had moved outside of its lane
	Note           string
}

// Land ends a merge that was published.
func (m *Merge) Land(l Landing, at time.Time) {
	m.EndMerged(l.Note, at)
	m.Commit, m.Before, m.Checks, m.Moved = l.Commit, l.Before, l.Checks, l.Moved
	m.Tried, m.Alone, m.Conflicts = "", false, nil
}

// EndMerged ends a merge whose work is in the target. Its workspace is still to be
// moved to the trash, if the caller asked for that.
func (m *Merge) EndMerged(note string, at time.Time) {
	m.end(croft.MergeMerged, at)
	m.explain(nil)
	m.Message = note
	m.Untidy = m.Kind == croft.KindMerge && m.After == croft.AfterTrash
}

// EndEmpty ends the merge of a workspace that has no commits to merge. The status of the
// merge is empty.
func (m *Merge) EndEmpty(note string, at time.Time) {
	m.end("", at)
	m.Message = note
}

// Cancel ends a merge that a person took out of the queue. Its status stays unchanged.
func (m *Merge) Cancel(message, hint string, at time.Time) {
	m.end(m.Status, at)
	m.Reason, m.Message, m.Hint = croft.Canceled, message, hint
}

// Discard ends a merge whose workspace was discarded.
func (m *Merge) Discard(at time.Time) { m.end(croft.MergeDiscarded, at) }

// Revert records that a revert undid the merge.
func (m *Merge) Revert() { m.Status = croft.MergeReverted }

// Reinstate records that the revert of this merge was itself reverted.
func (m *Merge) Reinstate() { m.Status = croft.MergeMerged }

func (m *Merge) end(status croft.MergeStatus, at time.Time) {
	m.State, m.Check, m.Status, m.EndedAt = croft.MergeDone, "", status, at
}

func (m *Merge) explain(why *croft.Error) {
	if why == nil {
		why = &croft.Error{}
	}
	m.Reason, m.Message, m.Details, m.Hint = why.Code, why.Message, why.Details, why.Hint
}
