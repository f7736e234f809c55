package view

import (
	"context"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/git/odb"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
)

// target is a target branch of workspaces that are looked at.
type target struct {
	tip   string
	line  *mergetree.Line
	of    []int           // the workspaces
	paths map[string]bool // every path that one of its commits changed
}

// lookAtCommits compares the commits of the workspaces with their targets, and finds out
// which are integrated. If git cannot be asked, or the time is over, nothing was compared.
func (l *looker) lookAtCommits(ctx context.Context) {
	landed, err := l.landed()
	if err != nil {
		return
	}
	targets, commits := l.findTargets(landed)
	if len(commits) == 0 { // all is known
		return
	}
	ancestry, err := l.session.ReadAncestry(ctx, commits)
	if err != nil {
		return
	}
	for name, t := range targets {
		if ancestry.Has(t.tip) {
			t.line = ancestry.LineOf(t.tip)
			l.compare(ctx, ancestry, t, func(id croft.ID) []journal.Merge { return RevertsInForce(onTarget(landed[id], name)) })
		}
	}
}

// isRevertedOn reports whether a revert of a workspace's work is in force on a target.
func isRevertedOn(landed []journal.Merge, target string) bool {
	return len(RevertsInForce(onTarget(landed, target))) > 0
}

// findTargets returns the targets, by name, and all commits that have to be compared. A
// workspace without a target has nothing to compare, and one that was compared before is as it was.
func (l *looker) findTargets(landed map[croft.ID][]journal.Merge) (targets map[string]*target, commits []string) {
	targets = map[string]*target{}
	for i, w := range l.list {
		s := &l.sights[i]
		if !s.isDue {
			continue
		}
		tip, err := l.refs.Ref("refs/heads/" + w.Target)
		if w.Target == "" || err != nil || w.Head == "" {
			s.isCompared = true
			continue
		}
		if l.isAtTip(i, tip) || l.recall(l.compared, i, tip, isRevertedOn(landed[w.ID], w.Target)) {
			continue
		}
		t := targets[w.Target]
		if t == nil {
			t = &target{tip: tip}
			targets[w.Target], commits = t, append(commits, tip)
		}
		t.of = append(t.of, i)
		commits = append(commits, l.tipsOf(i)...)
	}
	return targets, commits
}

// isAtTip sets what is known of a new workspace whose target has not moved, and reports whether it is one: git need
// not be asked.
func (l *looker) isAtTip(i int, tip string) bool {
	if l.records[i].Workspace.Base != tip || slices.ContainsFunc(l.tipsOf(i), func(own string) bool { return own != tip }) {
		return false
	}
	l.sights[i].fork = tip
	l.sights[i].setCompared(false)
	return true
}

// tipsOf returns the commits of a workspace that have to be in its target for its work to
// be merged: its HEAD, its recorded branch, and what an isolated one has beside it.
func (l *looker) tipsOf(i int) []string {
	rec := l.records[i]
	tips := []string{l.list[i].Head}
	if tip, err := l.refs.Ref("refs/heads/" + rec.Workspace.Branch); err == nil && tip != tips[0] {
		tips = append(tips, tip)
	}
	return append(tips, l.r.Trees.At(project.SpecOf(rec)).OwnTips()...)
}

// compare compares the workspaces of one target with it. The lines of work that was taken back are those that its merge
// brought: the target has its commits.
func (l *looker) compare(ctx context.Context, known *mergetree.Ancestry, t *target, reverts func(croft.ID) []journal.Merge) {
	var spans []odb.Span
	var of, compared []int
	for _, i := range t.of {
		s, head := &l.sights[i], l.list[i].Head
		if !known.Has(head) {
			continue
		}
		compared = append(compared, i)
		var forks []string
		s.work.Ahead, s.work.Behind, forks = t.line.Compare(head)
		for _, tip := range l.tipsOf(i)[1:] { // a HEAD that was moved away hides no commits of the branch
			if known.Has(tip) {
				ahead, _, _ := t.line.Compare(tip)
				s.work.Ahead = max(s.work.Ahead, ahead)
			}
		}
		if len(forks) == 1 {
			s.fork = forks[0]
		} else if base, err := l.r.Git.MergeBase(ctx, head, t.tip); err == nil {
			s.fork = base
		}
		if s.work.Ahead > 0 && s.fork != "" {
			spans, of = append(spans, odb.Span{From: s.fork, To: head}), append(of, i)
		} else if back := reverts(l.list[i].ID); len(back) > 0 && back[len(back)-1].Base != "" {
			last := back[len(back)-1]
			spans, of = append(spans, odb.Span{From: last.Base, To: last.Head}), append(of, i)
		}
	}
	counts, err := l.session.CountChanges(ctx, spans)
	if err != nil {
		return
	}
	paths := map[int][]string{}
	for k, i := range of {
		l.sights[i].setLines(counts[k])
		if l.sights[i].work.Ahead > 0 {
			paths[i] = counts[k].Paths
		}
	}
	if len(spans) > 0 {
		if t.paths, err = l.session.PathsOf(ctx, t.line.Commits()); err != nil {
			return
		}
	}
	l.inParallel(ctx, compared, func(i int) {
		s := &l.sights[i]
		isIn, err := l.isIntegrated(ctx, known, t, i, paths[i])
		if err != nil {
			return
		}
		s.setCompared(isIn && len(reverts(l.list[i].ID)) == 0)
		l.keep(l.compared, i, t.tip, isIn)
	})
}

// isIntegrated reports whether a workspace has commits of its own that are all in its
// target, as clean decides it. paths are those that it changed since it left the target: if
// no commit of the target has changed one of them since, the target lacks the work, and git
// need not be asked.
func (l *looker) isIntegrated(ctx context.Context, known *mergetree.Ancestry, t *target, i int, paths []string) (bool, error) {
	rec, head := l.records[i], l.list[i].Head
	if head == rec.Workspace.Base {
		return false, nil
	}
	pr := rec.Workspace.PullRequest
	for _, path := range paths {
		if !t.paths[path] && !pr.Proves(head) {
			return false, nil
		}
	}
	for _, tip := range l.tipsOf(i) {
		if pr.Proves(tip) {
			continue
		}
		if known.Has(tip) {
			if ahead, _, _ := t.line.Compare(tip); ahead == 0 {
				continue
			}
		}
		how, err := l.r.Git.Integrated(ctx, tip, t.tip)
		if err != nil || how == mergetree.NotIntegrated {
			return false, err
		}
	}
	return true, nil
}
