package git

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/odb"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/git/walk"
)

// Statuses compares the files of checkouts with their HEADs. It walks a checkout in this process,
// and starts git where that does not prove that it is clean; see package walk. It may be used by
// several goroutines.
type Statuses struct {
	repo  *Repository
	rules gitcmd.FileRules
	heads *refs.Reader
	known *statusMemory // nil: nothing is remembered
	at    *Moment       // of the look that these are a part of; nil: none
	sound func() bool   // whether git would be started in the repository, whatever the checkout

	mu    sync.Mutex
	files *object.Files
	trees map[string]string // of commits
}

// Statuses returns what compares checkouts now, and believes nothing that was found before. The
// caller closes it.
func (r *Repository) Statuses(ctx context.Context) *Statuses {
	s := &Statuses{repo: r, heads: r.RefSnapshot(), trees: map[string]string{}}
	s.sound = sync.OnceValue(func() bool {
		return r.CheckTarget(gitcmd.Target{Repo: r.Core(), GitDir: r.CommonDir}, gitcmd.Call{}) == nil
	})
	if r.HasNativeRefs() && runtime.GOOS != "windows" {
		s.rules, _ = r.FileRules(ctx) // without them git is asked, and says what is wrong
	}
	return s
}

// RememberedStatuses returns what compares checkouts now, and for a checkout in which nothing has
// changed since git was asked repeats what git said. It is for showing: an act that something may be
// lost by uses Statuses. The caller closes it, which writes down what git said.
func (r *Repository) RememberedStatuses(ctx context.Context) *Statuses {
	s := r.Statuses(ctx)
	s.known = r.readStatusMemory()
	return s
}

// RememberedStatusesAt is RememberedStatuses, as a part of a look that has begun.
func (r *Repository) RememberedStatusesAt(ctx context.Context, m *Moment) *Statuses {
	s := r.RememberedStatuses(ctx)
	s.at = m
	return s
}

// Close ends it.
func (s *Statuses) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files != nil {
		s.files.Close()
		s.files = nil
	}
	if s.known != nil {
		s.known.write()
	}
}

// Of lists the differences of a checkout from HEAD, as [Worktree.Status] does.
func (s *Statuses) Of(ctx context.Context, w *Worktree, untracked Untracked) ([]odb.StatusEntry, error) {
	if err := w.Pull(ctx); err != nil {
		return nil, err
	}
	at := checkoutAt{w.Admin, w.Path, w.Inherit}
	if entries, ok := s.watched(w, untracked); ok {
		return entries, nil
	}
	if entries, ok := s.repeated(w, untracked); ok {
		return entries, ctx.Err()
	}
	head, ok := s.headOf(w)
	if !ok || untracked == UntrackedNone {
		return s.repo.status(ctx, at, untracked, RefreshNothing)
	}
	was, isKnown := s.recall(w, untracked)
	entries, seen, ok := s.walked(ctx, w, untracked, head, was, isKnown)
	if ok {
		return entries, ctx.Err()
	}
	if s.known == nil || untracked != UntrackedAll {
		return s.repo.status(ctx, at, untracked, RefreshNothing)
	}
	return s.ask(ctx, w, at, head, seen)
}

// repeated returns the status that is remembered of a checkout, if nothing has changed since. Of what headOf examines, it
// examines what a change in the checkout would not show: git could read the rest when the status was remembered, and
// what it reads there is as it was.
func (s *Statuses) repeated(w *Worktree, untracked Untracked) ([]odb.StatusEntry, bool) {
	was, isKnown := s.recall(w, untracked)
	if !isKnown || was.Trace == "" || s.watches() != nil || !s.rules.IsKnown || w.TempGitDir != "" {
		return nil, false
	}
	if !s.rules.IsFull(w.Admin) || !s.sound() || !gitdir.LeadsTo(w.Admin, s.repo.CommonDir) {
		return nil, false
	}
	_, head, err := s.heads.Head(w.Admin)
	if err != nil || head == "" || !s.isAsRemembered(w, was, head) {
		return nil, false
	}
	return was.Entries, true
}

// walked walks a checkout, and returns its status if that is what was remembered of it, or if it is clean.
func (s *Statuses) walked(ctx context.Context, w *Worktree, untracked Untracked, head string, was statusAnswer, isKnown bool) ([]odb.StatusEntry, *walk.Seen, bool) {
	began := time.Now()
	mark := s.begin(w, untracked)
	defer mark.Drop()
	if mark == nil && isKnown && s.isAsRemembered(w, was, head) {
		return was.Entries, nil, true
	}
	req := s.requestOf(w)
	if isKnown {
		req.Ignored = was.ignoredSet()
	}
	req.Enter = mark.Enter
	seen, err := walk.Look(req)
	switch {
	case err != nil:
		return nil, nil, false
	case isKnown && seen.IsWhole && was.Key == s.keyOf(seen.Key, w, head):
		was = s.retrace(w, seen, head, began, was)
	case s.provesClean(ctx, seen, head):
		was = s.remember(w, untracked, seen, head, began, statusAnswer{})
	default:
		return nil, seen, false
	}
	s.keep(mark, w, seen, head, was)
	return was.Entries, seen, true
}

// ask asks git, and walks the checkout once more, so that what git said can be remembered. before is a walk that came before; nil:
// there was none.
func (s *Statuses) ask(ctx context.Context, w *Worktree, at checkoutAt, head string, before *walk.Seen) ([]odb.StatusEntry, error) {
	began := time.Now()
	var overlooked []index.Entry
	if before == nil || !before.IsWhole {
		overlooked = s.repo.overlookedIn(ctx, at)
	} else {
		overlooked = overlookedOf(before)
	}
	entries, ignored, err := s.repo.statusIgnoring(ctx, at, UntrackedAll, RefreshNothing, []string{"--ignored=matching"}, overlooked)
	if err != nil || s.rules.HasFilters {
		return entries, err
	}
	answer := statusAnswer{Entries: entries, Ignored: ignored}
	req := s.requestOf(w)
	req.Ignored = answer.ignoredSet()
	mark := s.begin(w, UntrackedAll)
	defer mark.Drop()
	req.Enter = mark.Enter
	seen, err := walk.Look(req)
	if now, ok := s.headOf(w); err == nil && ok && now == head {
		if answer = s.remember(w, UntrackedAll, seen, head, began, answer); answer.Key != "" { // it is about what was walked
			s.keep(mark, w, seen, head, answer)
		}
	}
	return entries, nil
}

// provesClean reports whether nothing differs: no name is unknown, or was left out by rules that may have been others, every file is as it is staged,
// and what is staged is HEAD's tree.
func (s *Statuses) provesClean(ctx context.Context, seen *walk.Seen, head string) bool {
	how := walk.Unconverted
	if s.rules.HasAttributes {
		how = walk.Converted
	}
	return seen.IsWhole && !seen.HasIgnored && len(seen.Unknown) == 0 && seen.AreAsStaged(ctx, how, s.repo.ObjectFormat()) &&
		seen.IsTree(s.treeOf(ctx, head), s.repo.ObjectFormat())
}

// headOf returns the commit that a checkout has checked out, if the checkout may be walked: git
// would be started in it, and has no settings there that others do not have.
func (s *Statuses) headOf(w *Worktree) (string, bool) {
	if !s.rules.IsKnown || w.TempGitDir != "" || !s.rules.IsFull(w.Admin) {
		return "", false
	}
	if s.repo.CheckTarget(gitcmd.Target{Repo: s.repo.Core(), GitDir: w.Admin, Work: w.Path}, gitcmd.Call{}) != nil {
		return "", false
	}
	_, head, err := s.heads.Head(w.Admin)
	return head, err == nil && head != ""
}

// treeOf returns the tree of a commit whose content matches its name, or "".
func (s *Statuses) treeOf(ctx context.Context, commit string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if tree, known := s.trees[commit]; known {
		return tree
	}
	if s.files == nil {
		files, err := s.repo.OpenObjects()
		if err != nil {
			return ""
		}
		s.files = files
	}
	tree := verifiedTree(ctx, s.files, commit)
	if tree != "" {
		s.trees[commit] = tree
	}
	return tree
}

// verifiedTree returns the tree of a commit whose content matches its name, or "".
func verifiedTree(ctx context.Context, files *object.Files, commit string) string {
	o, err := files.Verify(ctx, commit, object.KeepContents)
	if err != nil || o.Type != "commit" {
		return ""
	}
	c, err := object.ParseCommit(o)
	if err != nil {
		return ""
	}
	return c.Tree
}
