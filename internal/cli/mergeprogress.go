package cli

import (
	"context"
	"time"

	"github.com/croft-sh/croft"
)

// mergeLister is the part of croft.Service that says how far merges have come.
type mergeLister interface {
	Merges(ctx context.Context, req croft.MergesRequest) (*croft.List[croft.Merge], error)
}

// mergeWaiter is the part of croft.Service that waits for merges.
type mergeWaiter interface {
	mergeLister
	WaitMerge(ctx context.Context, req croft.WaitRequest) (*croft.Merge, error)
}

// waitFor returns a function that waits for the merge that was submitted, and shows on a
// terminal how far it has come.
func (a *app) waitFor(ctx context.Context, svc mergeWaiter) func(*croft.Merge, error) (*croft.Merge, error) {
	return func(m *croft.Merge, err error) (*croft.Merge, error) {
		if err != nil || m.State == croft.MergeDone {
			return m, err
		}
		defer a.startMergeProgress(ctx, svc, func(one croft.Merge) bool { return one.ID == m.ID })()
		return svc.WaitMerge(ctx, croft.WaitRequest{Merge: m.ID})
	}
}

// mergeProgressEvery is how often the queue is read while a person waits for a merge.
const mergeProgressEvery = 500 * time.Millisecond

// startMergeProgress shows on a terminal how far the first merge of the queue for which of
// is true has come, and which check runs. The returned function ends it.
func (a *app) startMergeProgress(ctx context.Context, svc mergeLister, of func(croft.Merge) bool) (stop func()) {
	stage, next := "merging", time.Time{}
	return a.startProgressOf(func() workStage {
		if now := time.Now(); now.After(next) {
			next = now.Add(mergeProgressEvery)
			// An error is not shown: the call that waits reports it, or it is gone at the next look.
			if merges, err := svc.Merges(ctx, croft.MergesRequest{Repo: a.dir()}); err == nil {
				stage = stageOf(merges.Items, of, stage)
			}
		}
		return workStage{text: stage}
	})
}

// stageOf says how far the first merge for which of is true has come. If there is none it
// is what it was.
func stageOf(merges []croft.Merge, of func(croft.Merge) bool, was string) string {
	for _, m := range merges {
		switch {
		case m.State == croft.MergeDone || !of(m):
			continue
		case m.State == croft.MergeChecking && m.Check != "":
			return m.WorkspaceName + ": checking, " + m.Check
		}
		return m.WorkspaceName + ": " + string(m.State)
	}
	return was
}
