package cli

import (
	"context"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/live"
	"github.com/croft-sh/croft/internal/cli/results"
	"github.com/croft-sh/croft/internal/screen"
)

// worksOf looks at workspaces before their work is merged, for a person who reads how much of it was.
func (a *app) worksOf(ctx context.Context, svc finder, refs []croft.Ref) map[croft.ID]*croft.Work {
	works := map[croft.ID]*croft.Work{}
	if a.env.Width == 0 || a.json {
		return works
	}
	for _, ref := range refs {
		ws, err := svc.Workspace(ctx, croft.WorkspaceRequest{Repo: a.dir(), Ref: ref, Look: lookTime(false)})
		if err == nil { // the merge itself says what is wrong
			works[ws.ID] = ws.Work
		}
	}
	return works
}

// awaitMerges waits until merges have ended, and says what became of them.
func (a *app) awaitMerges(ctx context.Context, svc merger, req croft.MergeRequest, merges []croft.Merge, works map[croft.ID]*croft.Work) error {
	l := &live.Merges{On: a.liveScreen(), Repo: a.dir(), Svc: svc, Merges: append([]croft.Merge{}, merges...), Works: works}
	var repo *croft.Repo
	if a.env.Width > 0 && !a.json {
		if found, err := svc.Repo(ctx, croft.RepoRequest{Repo: a.dir()}); err == nil {
			if repo = found; repo.Branch == merges[0].Target {
				l.Tip = repo.Head
			}
		}
	}
	others := a.othersWaiting(ctx, svc, merges)
	l.Others = others
	landed := results.LandedBefore(merges)
	stop := l.Follow(ctx)
	notMerged, err := a.waitEach(ctx, svc, merges)
	stop()
	if err != nil {
		a.tellEnded(merges, works)
		return a.leaveMerges(ctx, svc, merges, err)
	}
	a.remarkOthers(ctx, svc, others)
	l.Merges = merges
	if a.env.Width == 0 || a.json {
		a.showMerges(merges)
		a.noteLanded(merges, landed)
		a.noteTrashed(ctx, svc, merges, req.After)
	} else {
		if len(merges) > 1 || !landed[merges[0].ID] { // of a merge of before, the checks are of before, too
			l.End(ctx)
		}
		a.showMerged(ctx, svc, l, repo, mergedAs{req.After, landed})
	}
	a.startUpkeepAfter(ctx, svc)
	if notMerged != nil {
		return notMerged
	}
	return mergesExitStatus(merges, croft.MergeMerged)
}

// waitEach waits for each of the merges until it has ended. One that is held, or fails, does not keep the others: the first such
// error is notMerged, if there are others. err ends the waiting for all.
func (a *app) waitEach(ctx context.Context, svc merger, merges []croft.Merge) (notMerged, err error) {
	for i, m := range merges {
		if m.State == croft.MergeDone {
			continue
		}
		done, err := svc.WaitMerge(ctx, croft.WaitRequest{Merge: m.ID})
		if err == nil {
			merges[i] = *done
			continue
		}
		now, lost := svc.Merge(ctx, croft.GetRequest{Repo: a.dir(), Ref: string(m.ID)})
		if len(merges) == 1 || lost != nil {
			return nil, err
		}
		if merges[i] = *now; notMerged == nil {
			notMerged = err
		}
	}
	return notMerged, nil
}

// tellEnded says what became of those of several merges that had ended before the waiting for all of them did.
func (a *app) tellEnded(merges []croft.Merge, works map[croft.ID]*croft.Work) {
	ended := slices.DeleteFunc(slices.Clone(merges), func(m croft.Merge) bool { return m.State != croft.MergeDone })
	if len(ended) > 0 && !a.json {
		a.tellMerges(ended, works)
	}
}

// noteLanded says of which merges nothing was left to do.
func (a *app) noteLanded(merges []croft.Merge, landed map[croft.ID]bool) {
	for _, m := range merges {
		if landed[m.ID] && !a.json {
			a.note("%s: %s", m.WorkspaceName, results.NothingText(m))
		}
	}
}

// mergedAs says what becomes of the workspaces of merges, and which of these had landed before they were asked for.
type mergedAs struct {
	after  croft.AfterMerge
	landed map[croft.ID]bool
}

// isNothing reports whether a merge had nothing to do.
func (as mergedAs) isNothing(m croft.Merge) bool {
	return m.Status == croft.MergeMerged && (as.landed[m.ID] || m.Commit == "")
}

// outcomeOfNothing says what became of a merge that had nothing to do.
func (a *app) outcomeOfNothing(ctx context.Context, svc merger, m croft.Merge, as mergedAs) outcome {
	o := outcome{Kind: screen.Nothing, Name: m.WorkspaceName, Word: "empty", Detail: []screen.Span{{Text: results.NothingText(m) + "; the workspace stays", Style: styleDim}}}
	if a.trashed(ctx, svc, m, as.after) != nil {
		o.Kind, o.Word, o.Detail = screen.Done, "merged → "+m.Target, []screen.Span{{Text: results.NothingText(m), Style: styleDim}}
	}
	return o
}

// liveScreen is where merges that go on are shown.
func (a *app) liveScreen() live.Screen {
	return live.Screen{To: a.stderr(), W: a.env.Stderr, Home: a.env.Home, IsDumb: a.env.IsDumb, IsSilent: a.quiet || a.silent || a.json}
}

// leaveMerges says what becomes of merges that the user does not wait for any more.
func (a *app) leaveMerges(ctx context.Context, svc live.Getter, merges []croft.Merge, err error) error {
	if ctx.Err() == nil || a.json {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	var left []croft.Merge
	for _, m := range merges {
		if now, err := svc.Merge(ctx, croft.GetRequest{Repo: a.dir(), Ref: string(m.ID)}); err == nil {
			left = append(left, *now)
		}
	}
	for _, text := range results.LeftText(left, a.hasDaemon(ctx)) {
		a.note("%s", text)
	}
	return statusError(croft.ExitCanceled)
}

// showMerged prints on a terminal what became of merges, the result of each in a line.
func (a *app) showMerged(ctx context.Context, svc merger, l *live.Merges, repo *croft.Repo, as mergedAs) {
	signs := a.stdout().Signs()
	var list []outcome
	for _, m := range l.Merges {
		if m.Status == croft.MergeMerged {
			l.Works[m.Workspace] = broughtBy(ctx, svc, m)
		}
		o := results.OfMerge(m, l.Works[m.Workspace], signs, l.Tip)
		if len(l.Merges) > 1 && m.State == croft.MergeDone && m.Reason != "" {
			o.Detail = []screen.Span{command(a.fromHere(nextOfMerge(m)))}
		}
		if as.isNothing(m) {
			o = a.outcomeOfNothing(ctx, svc, m, as)
		}
		list = append(list, o)
	}
	a.printOutcomes(list...)
	if len(l.Merges) == 1 {
		switch m := l.Merges[0]; {
		case as.isNothing(m):
			a.remarkRest(m)
			a.remarkTrashed(ctx, svc, m, as.after)
		case m.Status == croft.MergeMerged:
			a.remarkRest(m)
			a.remarkMerged(ctx, svc, m, repo, as.after)
		default:
			a.remarkMerge(m)
		}
		return
	}
	a.remarkSeveral(ctx, svc, l.Merges, repo, as)
}

// broughtBy is what a merge that landed changed in its target, or nil if that cannot be seen. The workspace
// may have had more, as what came in from the target.
func broughtBy(ctx context.Context, svc differ, m croft.Merge) *croft.Work {
	diff, err := svc.Diff(ctx, croft.DiffRequest{Merge: m.ID, Detail: croft.DetailStat, Page: croft.Page{Limit: 1}})
	if err != nil {
		return nil
	}
	return &croft.Work{Seen: []croft.Aspect{croft.AspectCommits}, Added: diff.Total.Added, Deleted: diff.Total.Deleted, Changed: diff.Total.Files}
}

// nextOfMerge is the command to run after a merge that stays pending.
func nextOfMerge(m croft.Merge) string {
	switch {
	case m.Reason == croft.CheckFailed || m.Reason == croft.TargetBroken:
		return "croft logs " + shellWord(m.WorkspaceName)
	case m.Reason == croft.HostDirty: // as the list has it; croft queue run would take others along
		return "croft merge " + shellWord(m.WorkspaceName)
	case m.Hint != "":
		return m.Hint
	}
	return "croft show " + shellWord(m.WorkspaceName)
}
