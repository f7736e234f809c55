package lane

import (
	"context"
	"errors"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
)

// retryPending resubmits the merges that listRetryable lists.
func (svc *Lanes) retryPending(ctx context.Context, r *project.Project, target string) error {
	list, err := svc.listRetryable(ctx, r, target)
	if err != nil {
		return err
	}
	for _, m := range list {
		err := svc.changeMerges(ctx, []croft.ID{m.ID}, func(now *journal.Merge) bool {
			if !isStillEnded(*now, m) {
				return false
			}
			now.Resubmit()
			return true
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// RetriedReasons returns the reasons for which a merge stays pending until DriveLanes tries it again: the user's
// checkout was in the way, the target had moved, or nobody had approved the target's checks.
func RetriedReasons() []croft.Code {
	return []croft.Code{croft.HostDirty, croft.TargetMoved, croft.ChecksUntrusted}
}

// listRetryable lists the merges that are resubmitted when the queue is run: they stayed
// pending for one of RetriedReasons, and their work has not changed. One that stayed pending
// because of checks is among them once a person has approved these.
func (svc *Lanes) listRetryable(ctx context.Context, r *project.Project, target string) ([]journal.Merge, error) {
	if r.Git == nil {
		return nil, nil
	}
	var list []journal.Merge
	approved := map[string]bool{} // by target, where that was asked
	for _, reason := range RetriedReasons() {
		pending, err := svc.Journal.MergesPendingFor(ctx, r.ID, reason)
		if err != nil {
			return nil, err
		}
		for _, m := range pending {
			if target != "" && m.Target != target {
				continue
			}
			if _, known := approved[m.Target]; !known && reason == croft.ChecksUntrusted {
				approved[m.Target] = svc.Rules.ApprovedNow(ctx, r, m.Target) != ""
			}
			if reason == croft.ChecksUntrusted && !approved[m.Target] {
				continue
			}
			isSame, err := svc.isStillSubmitted(ctx, r, m)
			if err != nil {
				return nil, err
			}
			if isSame {
				list = append(list, m)
			}
		}
	}
	return list, nil
}

// isStillEnded reports whether a merge still has the end that m has, for the same
// reason.
func isStillEnded(now, m journal.Merge) bool {
	return now.State == croft.MergeDone && now.Reason == m.Reason
}

// isStillSubmitted reports whether the work of a merge is still the work that was
// submitted: its workspace is live, and its branch has not moved. An apply and a revert
// depend on neither.
func (svc *Lanes) isStillSubmitted(ctx context.Context, r *project.Project, m journal.Merge) (bool, error) {
	if m.Kind != croft.KindMerge || m.Part {
		return true, nil
	}
	rec, err := svc.Journal.Record(ctx, m.Workspace)
	if errors.Is(err, journal.ErrNotFound) || err == nil && rec.Workspace.State == croft.Trashed {
		return false, nil
	}
	if err != nil || rec.Workspace.Branch == "" {
		return err == nil, err
	}
	tip, err := r.Git.ReadRef(ctx, "refs/heads/"+rec.Workspace.Branch)
	if errors.Is(err, refs.ErrNoRef) {
		return false, nil
	}
	return err == nil && tip == m.Head, err
}
