package condition

import (
	"fmt"

	"github.com/croft-sh/croft"
)

func reverted(f *Facts) (Verdict, bool) {
	if !f.isReverted() {
		return none()
	}
	if f.IsMergeUndone {
		return f.undone()
	}
	why := ""
	if f.RevertedBy != "" {
		why = "as " + short(f.RevertedBy)
	}
	return f.verdictFor(croft.ConditionReverted, why, croft.ActionDiff)
}

// undone is about work whose merge was undone: it waits to be merged, as before.
func (f *Facts) undone() (Verdict, bool) {
	if f.Presents != "" {
		return toReview(f)
	}
	if f.Forecast.IsKnown && f.Forecast.Collides {
		return f.verdictFor(croft.ConditionCollides, f.collisionText(), croft.ActionResolve)
	}
	return f.verdictFor(croft.ConditionPending, "its merge was undone", croft.ActionMerge)
}

// isReverted reports whether the work was merged and taken back, with no commit since, and is not
// in the target by another way. The end of an agent that did no more changes nothing about that.
func (f *Facts) isReverted() bool {
	m := f.current()
	switch {
	case f.HasSeenCommits && f.Commits.IsIntegrated:
		return false
	case f.HasSeenCommits && f.Commits.IsTakenBack:
		return f.IsAsMerged || f.Commits.Ahead == 0
	case !f.HasSeenCommits && m != nil && m.Status == croft.MergeMerged && m.Commit == "": // the target had all of it by then
		return false
	case m != nil && m.Status == croft.MergeReverted:
		return true
	}
	return !f.HasSeenCommits && f.RevertedBy != "" && f.IsAsMerged
}

func merged(f *Facts) (Verdict, bool) {
	w := &f.Workspace
	if !f.isMerged() {
		return none()
	}
	action := croft.ActionRemove
	if w.IsLocked {
		action = croft.ActionUnlock
	}
	why := ""
	if w.MergeCommit != "" {
		why = "as " + short(w.MergeCommit)
	}
	if w.PullRequest.Proves(w.Head) {
		why = fmt.Sprintf("by pull request #%d", w.PullRequest.Number)
	}
	return f.verdictFor(croft.ConditionMerged, why, action)
}

// isMerged reports whether the work is in the target: by proof; by the record if nobody
// looked at the commits; or because a merge after a revert found that the target has all of
// it by another way.
func (f *Facts) isMerged() bool {
	m := f.current()
	isRecorded := m != nil && m.Status == croft.MergeMerged && f.Workspace.MergeStatus == croft.MergeMerged
	if f.Workspace.PullRequest.Proves(f.Workspace.Head) {
		return true
	}
	if f.HasSeenCommits {
		return f.Commits.IsIntegrated || isRecorded && m.Commit == "" && f.Commits.Ahead == 0
	}
	return isRecorded
}

// isAhead reports whether the workspace has commits that its target lacks. If nobody
// looked, that is so if it has commits and they were not merged, or if nobody knows what it
// started from.
func (f *Facts) isAhead() bool {
	w := &f.Workspace
	if f.HasSeenCommits {
		return f.Commits.Ahead > 0
	}
	return w.Head != "" && (w.Head != w.Base || w.BaseRef == "") && w.Mode != croft.ModeLegacy && !f.isMerged()
}

func collides(f *Facts) (Verdict, bool) {
	if !f.isAhead() || !f.Forecast.IsKnown || !f.Forecast.Collides {
		return none()
	}
	return f.verdictFor(croft.ConditionCollides, f.collisionText(), croft.ActionResolve)
}

func toReview(f *Facts) (Verdict, bool) {
	if f.Presents == "" {
		return none()
	}
	return f.verdictFor(croft.ConditionToReview, "the result of "+f.Presents, croft.ActionReview)
}

func ahead(f *Facts) (Verdict, bool) {
	w := &f.Workspace
	if !f.isAhead() {
		return none()
	}
	if !f.HasSeenCommits && w.Head == w.Base {
		return f.verdictFor(croft.ConditionAhead, "imported, what it started from is not known", croft.ActionWork)
	}
	if w.Target == "" {
		return f.verdictFor(croft.ConditionAhead, "it has commits and no target", croft.ActionWork)
	}
	if w.PullRequest != nil {
		return f.inPull(w.PullRequest)
	}
	if f.Approved != "" && f.pendingFor() != nil {
		return f.verdictFor(croft.ConditionPending, f.Approved, croft.ActionMerge)
	}
	if m := f.pendingFor(); m != nil && m.Reason == croft.Canceled {
		return f.verdictFor(croft.ConditionPending, "its merge was canceled", croft.ActionMerge)
	}
	if m := f.current(); m != nil && m.Status == croft.MergePending || w.Finished != nil && w.Finished.Head == w.Head {
		return f.verdictFor(croft.ConditionPending, "finished", croft.ActionMerge)
	}
	why := "commits"
	if f.HasSeenCommits {
		why = count(f.Commits.Ahead, "commit")
	}
	switch {
	case w.MergeStatus == croft.MergeMerged && f.current() != nil:
		why = "merged, and not in " + w.Target + " any more"
	case w.MergeStatus == croft.MergeMerged:
		why += " since it was merged"
	}
	return f.verdictFor(croft.ConditionAhead, why, croft.ActionMerge)
}

// inPull is about a workspace with commits that its target lacks, and a pull request.
func (f *Facts) inPull(p *croft.PullRequest) (Verdict, bool) {
	w := &f.Workspace
	name := fmt.Sprintf("pull request #%d", p.Number)
	isPushed := w.Push != nil && w.Push.Commit == w.Head
	switch {
	case p.State == croft.PullRequestClosed:
		return f.verdictFor(croft.ConditionAhead, name+" was closed", croft.ActionDiff)
	case p.State == croft.PullRequestIsOpen && isPushed:
		return f.verdictFor(croft.ConditionPending, name+" is open", croft.ActionFollow)
	case p.State == croft.PullRequestIsOpen:
		return f.verdictFor(croft.ConditionAhead, "commits that "+name+" lacks", croft.ActionPush)
	case p.Head != w.Head:
		return f.verdictFor(croft.ConditionAhead, "commits since "+name+" was merged", croft.ActionPush)
	}
	return f.verdictFor(croft.ConditionAhead, name+" was merged, and "+p.Base+" there lacks its content", croft.ActionDiff)
}
