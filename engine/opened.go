package engine

import (
	"context"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/config"
)

// seenRepo is a place in the table of the repositories that an engine has open.
// Nothing is read or written under the table's lock, e.mu: whoever looks at one
// repository for the first time, or again because it has changed, has its turn
// there, and keeps nobody from another one.
type seenRepo struct {
	turn chan struct{} // held while the repository is opened
	r    *repo         // under e.mu; nil: not opened yet
}

// openOnce returns the repository that is known under a key, if it is still the
// one, or opens it. Of several who come at once, one does.
func (e *Engine) openOnce(ctx context.Context, key string, open func() (*repo, error)) (*repo, error) {
	e.mu.Lock()
	seen := e.repos[key]
	if seen == nil {
		seen = &seenRepo{turn: make(chan struct{}, 1)}
		e.repos[key] = seen
	}
	r := seen.r
	e.mu.Unlock()
	if r != nil && r.isCurrent() {
		return r, nil
	}
	select {
	case seen.turn <- struct{}{}:
		defer func() { <-seen.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	e.mu.Lock()
	r = seen.r
	e.mu.Unlock()
	var err error
	switch {
	case r == nil || !r.isThere():
		r, err = open()
	case r.stamp != config.StampOf(r.path):
		r = e.withSettings(*r)
	}
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if seen.r != nil && seen.r.git != nil && seen.r.git != r.git {
		e.former = append(e.former, seen.r) // somebody may be at work in it
	}
	seen.r = r
	return r, nil
}

// isCurrent reports whether a repository is still the one that was opened, with
// the settings that it had.
func (r *repo) isCurrent() bool {
	return r.isThere() && r.stamp == config.StampOf(r.path)
}

// isThere reports whether a repository is still the one that was opened.
func (r *repo) isThere() bool {
	return r.git == nil || r.identity.IsAt(r.common)
}

// withSettings is a repository with the settings that hold now. The git
// processes and the locks are the same.
func (e *Engine) withSettings(r repo) *repo {
	r.stamp = config.StampOf(r.path) // first: what is written in between is seen next time
	r.cfg = e.settingsFor(r.path)
	return &r
}

// opened is a repository that this engine has open, or nil.
func (e *Engine) opened(id croft.ID) *repo {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, seen := range e.repos {
		if seen.r != nil && seen.r.id == id {
			return seen.r
		}
	}
	return nil
}

// everOpened lists the repositories that this engine has or had open.
func (e *Engine) everOpened() []*repo {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := slices.Clone(e.former)
	for _, seen := range e.repos {
		if seen.r != nil {
			list = append(list, seen.r)
		}
	}
	return slices.DeleteFunc(list, func(r *repo) bool { return r.git == nil })
}

// forgetOpened lets the repository of a key be opened anew.
func (e *Engine) forgetOpened(key string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.repos, key)
}
