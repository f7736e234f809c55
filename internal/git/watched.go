package git

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/git/odb"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/git/walk"
	"github.com/croft-sh/croft/internal/git/watch"
)

// watchedStatus is the status of a checkout that is watched, and what it is found again by.
type watchedStatus struct {
	of     *Worktree
	answer statusAnswer
	ref    string // what HEAD names; empty: the commit itself
	head   string
}

// watches returns what watches checkouts, if these statuses are for showing.
func (s *Statuses) watches() *watch.Watches {
	if s.known == nil {
		return nil
	}
	return s.repo.Git.Options.Watches
}

func watchedAt(w *Worktree) watch.Checkout { return watch.Checkout{Path: w.Path, Admin: w.Admin} }

// watched returns the status that a checkout had when it was walked, if nothing in it, or in its admin
// directory, was touched since. HEAD names the same branch then, which may have moved.
func (s *Statuses) watched(w *Worktree, untracked Untracked) ([]odb.StatusEntry, bool) {
	if untracked != UntrackedAll || !s.rules.IsKnown || w.TempGitDir != "" {
		return nil, false
	}
	answer, ok, heads := any(nil), false, s.heads
	if s.at != nil && s.known != nil {
		heads = s.at.Refs
		answer, ok = s.at.watched.Answer(watchedAt(w), s.rules.Digest)
	} else {
		answer, ok = s.watches().Answer(watchedAt(w), s.rules.Digest)
	}
	if !ok || !s.sound() {
		return nil, false
	}
	kept := answer.(*watchedStatus)
	if kept.ref != "" {
		if head, err := heads.Ref(kept.ref); err != nil || head != kept.head {
			return nil, false
		}
	}
	return kept.answer.Entries, true
}

// Untouched is [Moment.Untouched] of the look that the statuses are a part of; 0 for the git directory of an isolated
// checkout, which is not watched.
func (s *Statuses) Untouched(w *Worktree) uint64 {
	if s.at == nil || !s.repo.HasNativeRefs() || w.IsIsolated() {
		return 0
	}
	return s.at.Untouched(w)
}

// HeadOf returns the commit that a checkout has checked out, or "". If the checkout is untouched, its branch is what the look
// found it to be.
func (s *Statuses) HeadOf(ctx context.Context, w *Worktree) (string, error) {
	if s.Untouched(w) != 0 && s.known != nil {
		if answer, ok := s.at.watched.Answer(watchedAt(w), s.rules.Digest); ok && answer.(*watchedStatus).ref != "" {
			oid, err := s.at.Refs.Ref(answer.(*watchedStatus).ref)
			if errors.Is(err, refs.ErrNoRef) {
				err = nil
			}
			return oid, err
		}
	}
	_, oid, err := w.Head(ctx)
	return oid, err
}

// Untouched returns a number that is the same as long as it is known that nothing in a checkout, or in its admin
// directory, was touched. 0 says nothing. It is for showing.
func (w *Worktree) Untouched() uint64 { return w.Repo.Git.Options.Watches.Since(watchedAt(w)) }

// HeadRef returns the ref that HEAD names, or "" if it names a commit.
func (w *Worktree) HeadRef() (string, error) {
	b, err := gitdir.ReadRefFile(filepath.Join(w.Admin, "HEAD"))
	if err != nil {
		return "", err
	}
	_, ref := gitdir.ParseRefFile(b)
	return ref, nil
}

// begin returns what a walk of a checkout that is about to begin is watched by.
func (s *Statuses) begin(w *Worktree, untracked Untracked) *watch.Mark {
	if untracked != UntrackedAll {
		return nil
	}
	return s.watches().Begin(watchedAt(w))
}

// keep keeps the status that follows from a walk for as long as nothing is touched. What was read before
// the mark was begun is read again.
func (s *Statuses) keep(mark *watch.Mark, w *Worktree, seen *walk.Seen, head string, answer statusAnswer) {
	if mark == nil || seen.HasShared { // what is written by the other name of a file is not told
		return
	}
	for _, file := range []string{filepath.Join(w.Admin, "index"), filepath.Join(w.Admin, "HEAD"), filepath.Join(w.Path, ".git")} {
		if st, err := index.Lstat(file); err != nil || st.IsShared {
			return
		}
	}
	ref, err := w.HeadRef()
	if now, ok := s.headOf(w); ok && now == head && err == nil {
		mark.Keep(s.rules.Digest, &watchedStatus{of: w, answer: answer, ref: ref, head: head})
	}
}

// RenewWatched looks at checkouts again that were looked at longer ago, the oldest first, so that what is
// watched is known at any time: the kernel does not tell everything. It starts no git, and walks only where it is not enough to
// stat what is there ([walk.Again]).
func RenewWatched(ctx context.Context, w *watch.Watches, than time.Duration, most int) {
	byRepo := map[*Repository]*Statuses{}
	for _, old := range w.Older(than, most) {
		kept := old.(*watchedStatus)
		s := byRepo[kept.of.Repo]
		if s == nil {
			s = kept.of.Repo.RememberedStatuses(ctx)
			defer s.Close()
			byRepo[kept.of.Repo] = s
		}
		began := time.Now()
		head, ok := s.headOf(kept.of)
		switch {
		case !ok || ctx.Err() != nil:
		case s.isAsRemembered(kept.of, kept.answer, head) && w.Renew(watchedAt(kept.of), old, began): // its directories are watched still
		default:
			_, _, _ = s.walked(ctx, kept.of, UntrackedAll, head, kept.answer, true)
		}
	}
}
