package condition

import (
	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/shellword"
)

func orphan(f *Facts) (Verdict, bool) {
	if !f.IsOrphan && !f.isRunLost() {
		return none()
	}
	action := croft.ActionDiff
	if f.HasSeenFiles && !f.hasWork() {
		action = croft.ActionRemove
	}
	return f.verdictFor(croft.ConditionOrphan, "its agent has ended without saying how", action)
}

// hasWork reports whether there is work that the target lacks, so far as somebody looked.
func (f *Facts) hasWork() bool { return f.isAhead() || f.isReverted() || f.Files.Changed > 0 }

// isRunLost reports whether the last agent that Croft ran is gone, nobody knows how it ended, and nobody has
// said since what becomes of its work.
func (f *Facts) isRunLost() bool {
	r, end, m := f.Workspace.Run, f.Workspace.Finished, f.Merge
	return r != nil && r.How == croft.RunLost && (end == nil || end.At.Before(r.StartedAt)) && (m == nil || m.SubmittedAt.Before(r.StartedAt))
}

func ended(f *Facts) (Verdict, bool) {
	if r := f.Workspace.Run; r != nil && r.Unfinished != "" && (f.Workspace.Finished == nil || f.Workspace.Finished.At.Before(r.EndedAt)) {
		return f.verdictFor(croft.ConditionStuck, "its agent has ended, and its work could not be finished: "+r.Unfinished, croft.ActionFinish)
	}
	switch end := f.Workspace.Finished; {
	case end == nil || end.Head != f.Workspace.Head || f.hasLanded():
		return none()
	case end.Outcome == croft.Failed:
		return f.verdictOf(croft.ConditionFailed, "failed", croft.RunFailed)
	case end.Outcome == croft.Killed:
		return f.verdictOf(croft.ConditionKilled, "was killed", croft.RunKilled)
	}
	return none()
}

// hasLanded reports whether all that a workspace has was merged, so that there is nothing to look at, however its agent ended.
func (f *Facts) hasLanded() bool {
	return f.IsAsMerged && f.HasSeenCommits && f.Commits.IsIntegrated && f.HasSeenFiles && f.Files.Changed == 0
}

// verdictOf says of an agent that did not succeed how it ended, and what to look at: its work, or, if Croft ran it and it has
// left none, what it printed.
func (f *Facts) verdictOf(c croft.Condition, verb string, how croft.RunEnd) (Verdict, bool) {
	r := f.Workspace.Run
	if r == nil || r.How != how || f.Workspace.Finished.At.Before(r.StartedAt) {
		return f.verdictFor(c, "the agent "+verb, croft.ActionDiff)
	}
	if f.hasWork() {
		return f.verdictFor(c, "the agent "+r.Ending(), croft.ActionDiff)
	}
	logs := croft.Next{Action: croft.ActionShow, Command: "croft logs --agent " + shellword.Quote(f.Workspace.Name)}
	return Verdict{c, "the agent " + r.Ending(), &logs}, true
}
