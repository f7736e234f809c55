package view

import (
	"context"
	"slices"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/git/odb"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/merge"
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
	for _, t := range targets {
		if ancestry.Has(t.tip) {
			t.line = ancestry.LineOf(t.tip)
			l.compare(ctx, ancestry, t)
		}
	}
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
		s.reverts = RevertsOf(onTarget(landed[w.ID], w.Target))
		if l.isAtTip(i, tip) {
			continue
		}
		s.tip = tip
		if l.recall(l.compared, i, tip) {
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
	l.sights[i].setCompared(false, false)
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

// compare compares the workspaces of one target with it.
func (l *looker) compare(ctx context.Context, known *mergetree.Ancestry, t *target) {
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
		if from := l.comparedFrom(ctx, i); from != "" && (s.work.Ahead > 0 || from != s.fork) {
			spans, of = append(spans, odb.Span{From: from, To: head}), append(of, i)
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
		isTakenBack := false
		if err == nil && !isIn && len(s.reverts) > 0 && l.list[i].Head != l.records[i].Workspace.Base {
			isTakenBack, err = merge.Trial(l.session, time.Now).Brings(ctx, t.tip, l.itemOf(i, l.list[i].Head))
		}
		if err != nil {
			return
		}
		s.setCompared(isIn, isTakenBack)
		l.keep(l.compared, i, t.tip, isIn, isTakenBack)
	})
}

// comparedFrom returns the commit that the lines of a workspace are counted from: where its history leaves that of its
// target, without work that was taken back. The commit may be only in the session.
func (l *looker) comparedFrom(ctx context.Context, i int) string {
	s := &l.sights[i]
	if len(s.reverts) == 0 || s.fork == "" {
		return s.fork
	}
	tip, err := l.refs.Ref("refs/heads/" + l.list[i].Target)
	if err != nil {
		return s.fork
	}
	base, err := merge.Trial(l.session, time.Now).Base(ctx, tip, l.itemOf(i, l.list[i].Head))
	if err != nil || base == "" {
		return s.fork
	}
	return base
}

// itemOf is a commit of a workspace as something to merge.
func (l *looker) itemOf(i int, commit string) merge.Item {
	return merge.Item{Kind: croft.KindMerge, Head: commit, Reverts: l.sights[i].reverts}
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
	if len(l.sights[i].reverts) > 0 {
		return l.isBack(ctx, t, i)
	}
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

// isBack reports whether a target has work that was taken back, by another way.
func (l *looker) isBack(ctx context.Context, t *target, i int) (bool, error) {
	stack := merge.Trial(l.session, time.Now)
	for _, tip := range l.tipsOf(i) {
		if l.records[i].Workspace.PullRequest.Proves(tip) {
			continue
		}
		if is, err := stack.IsBack(ctx, t.tip, l.itemOf(i, tip)); err != nil || !is {
			return false, err
		}
	}
	return true, nil
}
