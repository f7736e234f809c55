// Package project knows the projects that Croft works in: where each lies and what it is
// called, its git repository, its checkouts, its refs below refs/croft, the directories
// that were made for it, and the workspaces that the journal records.
//
// It is what all parts of the engine stand on, and knows none of them. It owns the table
// of open projects, the names of Croft's own refs, the pins that keep objects, the ledgers
// of made and deleted directories, and the operations' lock files. It writes refs of a
// project by compare-and-swap, registrations under the project's lock, and the journal.
//
// What a directory or a ref says is believed only as far as the journal or a ledger agrees:
// agents can write both. A directory that is absent is looked for before anything is said
// to be gone.
package project

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/config"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/lifetime"
	"github.com/croft-sh/croft/internal/oplog"
)

// Projects are all projects of one host, as one service sees them. Use New, and fill in
// what it does not.
type Projects struct {
	Dir      string           // that requests mean which name none
	From     string           // the directory of the actor; empty: Dir
	Environ  []string         // that git and checks run in
	Clock    func() time.Time // see Now
	Settings *config.Set
	Journal  *journal.Journal
	Git      *gitcmd.Git
	Host     string // the machine's name
	Who      string // acts through the service

	// Ops are the operations, which the parts of the engine recover.
	Ops *oplog.Log[*Project]
	// RoundRecovery recovers rounds whose starter has died; "": in any project. Required.
	RoundRecovery func(ctx context.Context, repo croft.ID) error
	Lifetime      *lifetime.Lifetime

	noticesMu sync.Mutex
	notices   []string

	mu     sync.Mutex
	repos  map[string]*openProject // by common directory, or by path for plain directories
	former []*Project              // that were at such a place before
}

// New knows no project yet.
func New() *Projects {
	return &Projects{repos: map[string]*openProject{}, Lifetime: lifetime.New()}
}

// openProject is a place in the table of the repositories that an engine has open.
// No file is read or written under the table's lock, Projects.mu: a goroutine that opens a
// repository, for the first time or again because it has changed, holds that repository's
// turn, and blocks no goroutine that uses another one.
type openProject struct {
	turn chan struct{} // held while the repository is opened
	r    *Project      // under Projects.mu; nil: not opened yet
}

// OpenOnce returns the repository that is known under a key, if it is still the
// one, or opens it. Of several who come at once, one does.
func (p *Projects) OpenOnce(ctx context.Context, key string, open func() (*Project, error)) (*Project, error) {
	p.mu.Lock()
	seen := p.repos[key]
	if seen == nil {
		seen = &openProject{turn: make(chan struct{}, 1)}
		p.repos[key] = seen
	}
	r := seen.r
	p.mu.Unlock()
	if r != nil && r.isCurrent() {
		return r, nil
	}
	select {
	case seen.turn <- struct{}{}:
		defer func() { <-seen.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	p.mu.Lock()
	r = seen.r
	p.mu.Unlock()
	var err error
	switch {
	case r == nil || !r.isThere():
		r, err = open()
	case r.stamp != config.StampOf(r.Path):
		r = p.withSettings(*r)
	}
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if seen.r != nil && seen.r.Git != nil && seen.r.Git != r.Git {
		p.former = append(p.former, seen.r) // a call may still use it
	}
	seen.r = r
	return r, nil
}

// isCurrent reports whether a repository is still the one that was opened, with
// the settings that it had.
func (r *Project) isCurrent() bool {
	return r.isThere() && r.stamp == config.StampOf(r.Path)
}

// isThere reports whether a repository is still the one that was opened.
func (r *Project) isThere() bool {
	return r.Git == nil || r.Identity.IsAt(r.CommonDir)
}

// withSettings is a repository with the settings that hold now. The git
// processes and the locks are the same.
func (p *Projects) withSettings(r Project) *Project {
	r.stamp = config.StampOf(r.Path) // first: what is written in between is seen next time
	r.Config = p.settingsFor(r.Path)
	return &r
}

// openedByID is a repository that this engine has open, or nil.
func (p *Projects) openedByID(id croft.ID) *Project {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, seen := range p.repos {
		if seen.r != nil && seen.r.ID == id {
			return seen.r
		}
	}
	return nil
}

// OpenedAt is a repository that this engine has open under a key, or nil.
func (p *Projects) OpenedAt(key string) *Project {
	p.mu.Lock()
	defer p.mu.Unlock()
	if seen := p.repos[key]; seen != nil {
		return seen.r
	}
	return nil
}

// EverOpened lists the repositories that this engine has or had open.
func (p *Projects) EverOpened() []*Project {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := slices.Clone(p.former)
	for _, seen := range p.repos {
		if seen.r != nil {
			list = append(list, seen.r)
		}
	}
	return slices.DeleteFunc(list, func(r *Project) bool { return r.Git == nil })
}

// ForgetOpened lets the repository of a key be opened anew.
func (p *Projects) ForgetOpened(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.repos, key)
}
