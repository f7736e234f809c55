package dashboard

import "github.com/croft-sh/croft"

// merged tells of a merge: one entry, whatever happened to it on its way. It is about the end of the
// merge, or how far it has come.
func (s *story) merged(e *croft.Event) {
	if e.After == nil || e.After.Merge == nil {
		return
	}
	m := e.After.Merge
	it := s.merges[m.ID]
	if it == nil {
		it = s.put(&entry{act: e.Operation})
		s.merges[m.ID] = it
	}
	if it.isFinal { // its status may change, by a revert
		it.IsGone = m.Status == croft.MergeReverted
		return
	}
	*it = entry{At: e.Time, Actor: m.Actor, act: it.act}
	state := mergeState(m)
	it.Icon, it.Tone = state.Icon, state.Tone
	if e.Kind == croft.EventMergeCanceled {
		it.Icon, it.Tone, it.Actor, it.Text, it.isFinal = "x", "", e.Actor, "took it out of the queue of "+m.Target, true
		return
	}
	switch m.Kind {
	case croft.KindRevert:
		it.tellRevert(m)
	case croft.KindApply:
		it.tellMerge(m, "applied a part of it to "+m.Target)
	default:
		it.tellMerge(m, "merged it into "+m.Target)
	}
	if m.State == croft.MergeDone && m.Status == croft.MergePending && m.Reason == croft.CheckFailed {
		it.Show = s.path + "/checks"
	}
	if it.isFinal = m.State == croft.MergeDone && m.Status != croft.MergePending; it.isFinal && e.Operation != "" {
		s.over[e.Operation] = it
	}
}

// tellMerge tells of a merge that brings work to its target. done is what its actor did once it is
// there.
func (it *entry) tellMerge(m *croft.Merge, done string) {
	switch {
	case m.State != croft.MergeDone:
		it.Text = "submitted it to " + m.Target
		it.More = ", where it is " + mergeState(m).Word
	case m.Status == croft.MergeMerged, m.Status == croft.MergeReverted:
		it.Text = done
		if m.Commit != "" {
			it.Text, it.Code = done+" as", shortCommit(m.Commit)
		}
		if n := len(m.Checks); n > 0 {
			it.More = ", which " + countText(n, "check") + " passed"
		}
		it.IsGone = m.Status == croft.MergeReverted
	case m.Status == croft.MergeDiscarded:
		it.Text = "discarded it"
	case m.Status == "":
		it.Text = "submitted it to " + m.Target + "; there was nothing to merge"
	case m.Reason != "":
		it.Text, it.Quote = "submitted it to "+m.Target+", which was not touched", m.Message
	}
	// What is pending without a reason was finished and not submitted: the end of the agent tells that.
}

// tellRevert tells of a merge that takes an earlier one back.
func (it *entry) tellRevert(m *croft.Merge) {
	switch {
	case m.State != croft.MergeDone:
		it.Text = "wants its merge taken back from " + m.Target
		it.More = "; that is " + mergeState(m).Word
	case m.Status == croft.MergeMerged, m.Status == croft.MergeReverted:
		it.Icon, it.Tone = "undo", ""
		it.Text, it.Code = "took its merge back from "+m.Target+", as", shortCommit(m.Commit)
	case m.Status == croft.MergePending && m.Reason != "":
		it.Text, it.Quote = "wanted its merge taken back; "+m.Target+" was not touched", m.Message
	}
}
