package cli

import (
	"context"
	"fmt"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/listing"
	"github.com/croft-sh/croft/internal/cli/live"
	"github.com/croft-sh/croft/internal/cli/results"
	"github.com/croft-sh/croft/internal/screen"
)

// othersWaiting are merges that nobody waits for, in the lanes of merges that are to be waited for: who drives a lane takes
// what is queued in it.
func (a *app) othersWaiting(ctx context.Context, svc mergeLister, merges []croft.Merge) []croft.Merge {
	if a.json || a.quiet || a.silent {
		return nil
	}
	own, lanes := map[croft.ID]bool{}, map[string]bool{}
	for _, m := range merges {
		own[m.ID] = true
		if m.State != croft.MergeDone {
			lanes[m.Target] = true
		}
	}
	if len(lanes) == 0 {
		return nil
	}
	list, err := svc.Merges(ctx, croft.MergesRequest{Repo: a.dir()})
	if err != nil {
		return nil // it is for a remark only
	}
	byLane := map[string][]croft.Merge{}
	for _, m := range list.Items {
		byLane[m.Target] = append(byLane[m.Target], m)
	}
	for lane := range lanes {
		if _, isDriven := listing.IsDriven(byLane[lane]); isDriven {
			delete(lanes, lane) // who drives it says what it lands
		}
	}
	var others []croft.Merge // in the order of the list
	for _, m := range list.Items {
		if lanes[m.Target] && m.State == croft.MergeQueued && !m.IsHeld && !own[m.ID] {
			others = append(others, m)
		}
	}
	return others
}

// remarkOthers says what became of merges that went along.
func (a *app) remarkOthers(ctx context.Context, getter live.Getter, others []croft.Merge) {
	var list []outcome
	for _, m := range others {
		now, err := getter.Merge(ctx, croft.GetRequest{Repo: a.dir(), Ref: string(m.ID)})
		if err != nil || now.State != croft.MergeDone {
			continue
		}
		if !a.stderr().IsTerminal() {
			a.note("%s  %s → %s  %s, it waited in the queue", now.WorkspaceName, mergeWord(*now), now.Target, orDash(shortCommit(now.Commit)))
			continue
		}
		o := results.OfMerge(*now, nil, a.stderr().Signs(), "")
		o.Detail = append(o.Detail, screen.Span{Text: ", it waited in the queue", Style: styleDim})
		list = append(list, o)
	}
	for _, line := range results.Lines(a.stderr(), list...) {
		fmt.Fprintln(a.env.Stderr, line)
	}
}
