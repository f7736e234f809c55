package view

import (
	"context"
	"slices"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/condition"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/merge"
	"github.com/croft-sh/croft/internal/owner"
	"github.com/croft-sh/croft/internal/parallel"
	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/radar"
)

// Queues answers whether the merges that wait are being carried out.
type Queues interface {
	// IsUnrun reports whether no process drives the lane of a target. It is false if that
	// cannot be seen.
	IsUnrun(r *project.Project, target string) bool
	// IsInterrupted reports whether the driver has died that works on a merge, by its record as it was read.
	IsInterrupted(ctx context.Context, r *project.Project, m journal.Merge) bool
}

// placesIn returns the places of the merges that wait in their lanes. Held merges have
// none. It reads the lanes only if one of merges waits.
func (svc *Views) placesIn(ctx context.Context, r *project.Project, merges []journal.Merge) (map[croft.ID]condition.Queue, error) {
	if !slices.ContainsFunc(merges, func(m journal.Merge) bool { return m.State != croft.MergeDone }) {
		return nil, nil
	}
	waiting, err := svc.Journal.Waiting(ctx, r.ID, "", -1)
	if err != nil {
		return nil, err
	}
	places, isUnrun, last := map[croft.ID]condition.Queue{}, map[string]bool{}, map[string]int{}
	for _, m := range waiting {
		if m.IsHeld {
			continue
		}
		if _, known := isUnrun[m.Target]; !known {
			isUnrun[m.Target] = svc.Queues.IsUnrun(r, m.Target)
		}
		last[m.Target]++
		places[m.ID] = condition.Queue{
			Place: last[m.Target], IsUnrun: isUnrun[m.Target] && (m.State == croft.MergeQueued || svc.Queues.IsInterrupted(ctx, r, m)),
		}
	}
	return places, nil
}

// isOfRemoved reports whether a removed workspace may have a condition.
func isOfRemoved(c croft.Condition) bool {
	switch c {
	case croft.ConditionRemoved, croft.ConditionDiscarded, croft.ConditionReaped, croft.ConditionUndone, croft.ConditionMerged, croft.ConditionReverted:
		return true
	}
	return false
}

// setConditions decides what each workspace is like now, and what it waits for. A removed
// workspace whose name another removed one of the list has, too, is restored by its ID.
func (v *view) setConditions(records []journal.Record, list []croft.Workspace, sights []sight) {
	var recalled map[croft.ID]radar.Recalled
	if v.refs != nil {
		shown := list
		if !v.isListing {
			shown = slices.Clone(list) // other workspaces are not in the list
		}
		recalled = v.radar.SetCollisions(v.refs, shown)
	}
	named := map[string]int{}
	for i := range list {
		if !list[i].KeptUntil.IsZero() {
			named[list[i].Name]++
		}
	}
	parallel.Each(len(list), func(i int) {
		w := &list[i]
		f := v.factsOf(records[i], *w)
		f.IsListed = v.isListing || v.isShown || sights != nil
		last := recalled[w.ID]
		f.Forecast.Collides, f.Forecast.IsKnown = last.IsOnTarget, last.IsTargetKnown
		if sights != nil {
			f.Forecast = sights[i].settleForecast(w, f.Forecast)
		}
		if sights != nil && sights[i].isDue {
			s := &sights[i]
			w.Work = &s.work
			f.Commits, f.HasSeenCommits = s.commits, s.work.Has(croft.AspectCommits)
			f.Files, f.HasSeenFiles = s.files, s.work.Has(croft.AspectFiles)
			f.Inside = s.work.Inside
			f.InMerge = f.InMerge || f.Files.Changed > 0 && v.isInMerge(records[i])
		}
		if v.isListing && f.IsListed {
			w.Forecast = forecastOf(w, f, last)
		}
		verdict := condition.Decide(f)
		w.Status, w.Why, w.Next = verdict.Condition, verdict.Why, verdict.Next
		if w.Next != nil && w.Next.Action == croft.ActionRestore && named[w.Name] > 1 {
			w.Next.Command = "croft restore " + string(w.ID)
		}
	})
}

// forecastOf says whether the collisions of a listed workspace are all that there are.
func forecastOf(w *croft.Workspace, f condition.Facts, last radar.Recalled) croft.ForecastState {
	hasNothing := f.HasSeenCommits && f.Commits.Ahead == 0 && !f.Commits.IsTakenBack && f.HasSeenFiles && f.Files.Changed == 0
	switch {
	case w.Mode == croft.ModeLegacy || w.State != croft.Ready && w.State != croft.Stopped:
		return ""
	case hasNothing, last.AreOthers && (f.Forecast.IsKnown || w.Target == ""):
		return croft.ForecastKnown
	}
	return croft.ForecastUnknown
}

// factsOf returns what the record, the journal and the refs say of a workspace.
func (v *view) factsOf(rec journal.Record, w croft.Workspace) condition.Facts {
	f := condition.Facts{Workspace: w}
	if w.State == croft.Trashed {
		if rec.Trash != nil {
			f.RemovedAs = rec.Trash.As
		}
		return f
	}
	if w.State == croft.Creating {
		f.IsMakerDead = rec.Maker != nil && owner.Life(*rec.Maker) == proc.Dead
		return f
	}
	f.IsHalfRemoved = v.unsettled.HalfRemoved[w.ID]
	isPresenter := w.Label == presenter
	if w.Round > 0 && !w.IsRoundOver && !isPresenter {
		f.RoundOn = w.Round
	}
	if isPresenter {
		f.Presents = v.sessions.name(w.Session)
	}
	f.IsOrphan = v.isOrphan(w)
	v.setReverts(&f)
	f.InMerge = rec.TakesBack != "" && v.isInMerge(rec)
	m, ok := v.merges[w.ID]
	if !ok {
		return f
	}
	f.Merge, f.Queue = &m.Merge, v.queue[m.ID]
	if m.State == croft.MergeDone && m.Reason == croft.ChecksUntrusted {
		f.Approved = v.agreed[m.Target]
	}
	if m.State == croft.MergeDone && m.Reason == croft.TargetBroken && m.Before != "" {
		tip, err := v.refs.Ref("refs/heads/" + m.Target)
		f.TargetMoved = err == nil && tip != m.Before
	}
	if m.State == croft.MergeDone && m.Reason == croft.Conflict {
		f.InMerge = v.isInMerge(rec)
	}
	return f
}

// isInMerge reports whether a merge of another commit into a workspace is not committed yet.
func (v *view) isInMerge(rec journal.Record) bool {
	return v.r.Trees.At(project.SpecOf(rec)).Progress() == "merge"
}

// presenter is the label of the workspace that holds the result of a session.
const presenter = "presenter"

// isOrphan reports whether all leases of a workspace are over, their owners are dead, and
// none of them was taken or renewed after the last agent that said how it ended.
func (v *view) isOrphan(w croft.Workspace) bool {
	leases := v.leases[w.ID]
	if len(leases) == 0 {
		return false
	}
	isLater := w.Finished == nil
	for _, l := range leases {
		if l.ExpiresAt.After(v.now) || owner.Life(l.Owner) != proc.Dead {
			return false
		}
		isLater = isLater || l.ExpiresAt.Add(-time.Duration(l.TTL)).After(w.Finished.At)
	}
	return isLater
}

// setReverts sets which revert of a workspace's work is in force in its target, and what was merged last.
func (v *view) setReverts(f *condition.Facts) {
	w := &f.Workspace
	if w.MergeCommit == "" { // nothing of it has landed
		return
	}
	landed, err := v.landed()
	if err != nil {
		return // the status of the merge is known
	}
	on := onTarget(landed[w.ID], w.Target)
	for _, m := range on {
		if m.Kind != croft.KindRevert {
			f.IsAsMerged = m.Head == w.Head
		}
	}
	reverts := RevertsInForce(on)
	if len(reverts) == 0 {
		return
	}
	before := RevertsInForce(withoutUndone(on))
	if f.IsMergeUndone = len(before) == 0; !f.IsMergeUndone {
		reverts = before
	}
	f.RevertedBy = reverts[len(reverts)-1].Commit
}

// withoutUndone returns what landed without what an undo took back, and without those undos: of a merge that was
// undone, the workspace is what it was before it. landed is in the order of publication.
func withoutUndone(landed []journal.Merge) []journal.Merge {
	known := map[croft.ID]journal.Merge{}
	isUndone := map[croft.ID]bool{}
	for _, m := range landed {
		known[m.ID] = m
		if m.Undoes == "" {
			continue
		}
		undone := true
		of := m.Reverts
		for known[of].Undoes != "" { // the undo of an undo brings back what that took
			undone, of = !undone, known[of].Reverts
		}
		isUndone[of] = undone
	}
	return slices.DeleteFunc(slices.Clone(landed), func(m journal.Merge) bool { return m.Undoes != "" || isUndone[m.ID] })
}

// onTarget returns those of merges that landed on a target.
func onTarget(landed []journal.Merge, target string) []journal.Merge {
	var on []journal.Merge
	for _, m := range landed {
		if m.Target == target {
			on = append(on, m)
		}
	}
	return on
}

// RevertsInForce returns the reverts of a workspace's work that are in force on one target.
// landed is in the order of publication: a merge ends all reverts before it, and the revert
// of a revert ends that one.
func RevertsInForce(landed []journal.Merge) []journal.Merge {
	var reverts []journal.Merge
	for _, m := range landed {
		switch {
		case m.Kind != croft.KindRevert:
			reverts = nil
		case m.Again:
			reverts = slices.DeleteFunc(reverts, func(r journal.Merge) bool { return r.ID == m.Reverts })
		default:
			reverts = append(reverts, m)
		}
	}
	return reverts
}

// RevertsOf returns the reverts that are in force of what landed on one target, as a merge
// has to know them.
func RevertsOf(landed []journal.Merge) []merge.Revert {
	var all []merge.Revert
	for _, m := range RevertsInForce(landed) {
		first := firstOf(landed, m)
		all = append(all, merge.Revert{Commit: m.Commit, Reverted: m.Head, First: first.Commit, Before: first.Before})
	}
	return all
}

// firstOf returns the first merge of the work that a revert took back, which may have been
// merged and reverted several times.
func firstOf(landed []journal.Merge, m journal.Merge) journal.Merge {
	for m.Kind == croft.KindRevert {
		at := slices.IndexFunc(landed, func(was journal.Merge) bool { return was.ID == m.Reverts })
		if at < 0 {
			return journal.Merge{Merge: croft.Merge{Commit: m.Head}, Before: m.Base}
		}
		m, landed = landed[at], landed[:at]
	}
	for _, was := range landed {
		if was.Kind == m.Kind && was.Head == m.Head {
			return was
		}
	}
	return m
}
