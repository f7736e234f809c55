package condition

import "github.com/croft-sh/croft"

func orphan(f *Facts) (Verdict, bool) {
	if !f.IsOrphan && !f.isRunLost() {
		return none()
	}
	action := croft.ActionDiff
	if f.HasSeenFiles && f.Files.Changed == 0 && !f.isAhead() {
		action = croft.ActionRemove
	}
	return f.verdictFor(croft.ConditionOrphan, "its agent has ended without saying how", action)
}

// isRunLost reports whether the last agent that Croft ran is gone, nobody knows how it ended, and nobody has
// said since what becomes of its work.
func (f *Facts) isRunLost() bool {
	r, end, m := f.Workspace.Run, f.Workspace.Finished, f.Merge
	return r != nil && r.How == croft.RunLost && (end == nil || end.At.Before(r.StartedAt)) && (m == nil || m.SubmittedAt.Before(r.StartedAt))
}

func ended(f *Facts) (Verdict, bool) {
	if r := f.Workspace.Run; r != nil && r.Unfinished != "" && (f.Workspace.Finished == nil || f.Workspace.Finished.At.Before(r.EndedAt)) {
		return f.verdictFor(croft.ConditionStuck, "its agent has ended, and its work could not be finished: "+r.Unfinished, croft.ActionShow)
	}
	switch end := f.Workspace.Finished; {
	case end == nil || end.Head != f.Workspace.Head:
		return none()
	case end.Outcome == croft.Failed:
		return f.verdictFor(croft.ConditionFailed, "the agent failed", croft.ActionDiff)
	case end.Outcome == croft.Killed:
		return f.verdictFor(croft.ConditionKilled, "the agent was killed", croft.ActionDiff)
	}
	return none()
}
