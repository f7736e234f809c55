package git

import (
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/git/watch"
)

// Moment is one look at all checkouts of a repository. What it has found out of a ref, or of whether a checkout was
// touched, it does not find out again: an answer is about any time between its beginning and the end of the call that
// looks. It is for showing, and may be used by several goroutines.
type Moment struct {
	Refs *refs.Reader

	watched *watch.Moment
}

// Moment begins one.
func (r *Repository) Moment() *Moment {
	return &Moment{Refs: r.RefMoment(), watched: r.Git.Options.Watches.Moment()}
}

// Untouched is [Worktree.Untouched], as it was found first.
func (m *Moment) Untouched(w *Worktree) uint64 { return m.watched.Since(watchedAt(w)) }
