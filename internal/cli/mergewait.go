package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/screen"
)

// worksOf looks at workspaces before their work is merged, for a person who reads how much of it was.
func (a *app) worksOf(ctx context.Context, svc finder, refs []croft.Ref) map[croft.ID]*croft.Work {
	works := map[croft.ID]*croft.Work{}
	if a.env.Width == 0 || a.json {
		return works
	}
	for _, ref := range refs {
		ws, err := svc.Workspace(ctx, croft.WorkspaceRequest{Repo: a.dir(), Ref: ref, Look: a.lookTime(false)})
		if err == nil { // the merge itself says what is wrong
			works[ws.ID] = ws.Work
		}
	}
	return works
}

// awaitMerges waits until merges have ended, and says what became of them.
func (a *app) awaitMerges(ctx context.Context, svc merger, req croft.MergeRequest, merges []croft.Merge, works map[croft.ID]*croft.Work) error {
	l := &liveMerges{a: a, svc: svc, merges: append([]croft.Merge{}, merges...), works: works, checks: map[croft.ID][]croft.Check{}}
	var repo *croft.Repo
	if a.env.Width > 0 && !a.json {
		if found, err := svc.Repo(ctx, croft.RepoRequest{Repo: a.dir()}); err == nil {
			if repo = found; repo.Branch == merges[0].Target {
				l.tip = repo.Head
			}
		}
	}
	stop := l.follow(ctx)
	for i, m := range merges {
		if m.State == croft.MergeDone {
			continue
		}
		done, err := svc.WaitMerge(ctx, croft.WaitRequest{Merge: m.ID})
		if err != nil {
			stop()
			return a.leaveMerges(ctx, svc, merges[i:], err)
		}
		merges[i] = *done
	}
	stop()
	l.merges = merges
	if a.env.Width == 0 || a.json {
		a.showMerges(merges)
		a.noteTrashed(ctx, svc, merges, req.After)
	} else {
		l.end(ctx)
		a.showMerged(ctx, svc, l, repo, req.After)
	}
	a.startUpkeepAfter(ctx, svc)
	return mergesExitStatus(merges, croft.MergeMerged)
}

// leaveMerges says what becomes of merges that the user does not wait for any more.
func (a *app) leaveMerges(ctx context.Context, svc mergeGetter, merges []croft.Merge, err error) error {
	if ctx.Err() == nil || a.json {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	var names []string
	for _, m := range merges {
		if now, err := svc.Merge(ctx, croft.GetRequest{Repo: a.dir(), Ref: string(m.ID)}); err == nil && now.State != croft.MergeDone {
			names = append(names, shellWord(m.WorkspaceName))
		}
	}
	stay := "stays"
	switch {
	case len(names) == 0:
		a.note("no longer waiting; nothing is queued any more: croft list")
		return statusError(croft.ExitCanceled)
	case len(names) > 1:
		stay = "stay"
	}
	a.note("no longer waiting; %s %s queued: %s, or croft queue cancel %s", strings.Join(names, ", "), stay, driveCommand, strings.Join(names, " "))
	return statusError(croft.ExitCanceled)
}

// showMerged prints on a terminal what became of merges, the result of each in a line.
func (a *app) showMerged(ctx context.Context, svc merger, l *liveMerges, repo *croft.Repo, after croft.AfterMerge) {
	signs := a.stdout().Signs()
	var list []outcome
	for _, m := range l.merges {
		o := mergeOutcome(m, l.works[m.Workspace], signs, l.tip)
		if len(l.merges) > 1 && m.State == croft.MergeDone && m.Reason != "" {
			o.detail = []screen.Span{command(nextOfMerge(m))}
		}
		list = append(list, o)
	}
	a.printOutcomes(list...)
	if len(l.merges) == 1 {
		if m := l.merges[0]; m.Status == croft.MergeMerged {
			a.remarkRest(m)
			a.remarkMerged(ctx, svc, m, repo, after)
		} else {
			a.remarkMerge(m)
		}
		return
	}
	merged, kept := 0, ""
	for _, m := range l.merges {
		if m.Status == croft.MergeMerged {
			merged++
			if gone := a.trashed(ctx, svc, m, after); gone != nil {
				kept = "; their workspaces are in the trash " + keptText(a.env.Now(), gone.KeptUntil)
			}
		}
		if m.State == croft.MergeDone && m.Status == croft.MergeMerged {
			a.remarkRest(m)
		}
	}
	a.remarkText(screen.Span{Text: fmt.Sprintf("%d of %d merged%s", merged, len(l.merges), kept), Style: styleDim})
}

// nextOfMerge is the command to run after a merge that stays pending.
func nextOfMerge(m croft.Merge) string {
	switch {
	case m.Reason == croft.CheckFailed || m.Reason == croft.TargetBroken:
		return "croft logs " + shellWord(m.WorkspaceName)
	case m.Hint != "":
		return m.Hint
	}
	return "croft show " + shellWord(m.WorkspaceName)
}
