// Package project knows the projects that Croft works in: where each lies and what it
// is called, its git repository, its checkouts, its refs below refs/croft, the
// directories that were made for it, and the workspaces that the journal records.
//
// All parts of the engine use this package, and it uses none of them. It owns the table
// of open projects, the names of Croft's own refs, the pins that keep objects, the
// ledgers of made and deleted directories, and the operations' lock files. It writes
// refs of a project by compare-and-swap, registrations under the project's lock, and
// the journal.
//
// Agents can write directories and refs, so these are believed only as far as the
// journal or a ledger agrees. An absent directory is looked for before an error says
// that it is gone.
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
	"github.com/croft-sh/croft/internal/notice"
	"github.com/croft-sh/croft/internal/oplog"
)

// Projects are all projects of one host, as one service sees them. Use New, and set the
// exported fields.
type Projects struct {
	Dir      string           // for requests that name no directory
	From     string           // the directory of the actor; empty: Dir
	Environ  []string         // of git and of checks
	Clock    func() time.Time // see Now
	Settings *config.Current
	Journal  *journal.Journal
	Git      *gitcmd.Git
	Host     string // the machine's name
	Who      string // the name of the actor that uses the service

	// Ops is the log of operations. The parts of the engine recover them.
	Ops *oplog.Log[*Project]
	// RoundRecovery recovers rounds whose starting process died, in one project or, if
	// repo is empty, in all. Required.
	RoundRecovery func(ctx context.Context, repo croft.ID) error
	Lifetime      *lifetime.Lifetime

	notes notice.List // for the user

	mu     sync.Mutex
	repos  map[string]*openProject // by common directory, or by path for plain directories
	former []*Project              // earlier repositories at one of these paths
}

// New returns Projects with no project open.
func New() *Projects {
	return &Projects{repos: map[string]*openProject{}, Lifetime: lifetime.New()}
}

// openProject is an entry in the table of repositories that an engine has open. No file
// is read or written under the table's lock, Projects.mu: a goroutine that opens a
// repository, for the first time or again because it has changed, holds that entry's
// turn, and blocks no goroutine that uses another repository.
type openProject struct {
	turn chan struct{} // held while the repository is opened
	r    *Project      // under Projects.mu; nil: not opened yet
}

// OpenOnce returns the repository that is open under a key, or opens it if there is none
// or if it was replaced since. If only its settings were changed, it reads them again. If
// several goroutines ask at once, one of them opens it.
func (p *Projects) OpenOnce(ctx context.Context, key string, open func() (*Project, error)) (*Project, error) {
	p.mu.Lock()
	seen := p.repos[key]
	if seen == nil {
		seen = &openProject{turn: make(chan struct{}, 1)}
		p.repos[key] = seen
	}
	r := seen.r
	p.mu.Unlock()
	if r != nil && p.isCurrent(r) {
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
	case !p.hasPresentSettings(r):
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

// isCurrent reports whether a repository's directory is the one that was opened, and its
// settings have not changed since.
func (p *Projects) isCurrent(r *Project) bool { return r.isThere() && p.hasPresentSettings(r) }

// hasPresentSettings reports whether neither croft.toml nor the user's file has changed since
// the settings of a repository were read.
func (p *Projects) hasPresentSettings(r *Project) bool {
	return r.settings == p.Settings.Set() && r.stamp == config.StampOf(r.Path)
}

// isThere reports whether the directory of a repository is the one that was opened.
func (r *Project) isThere() bool {
	return r.Git == nil || r.Identity.IsAt(r.CommonDir)
}

// withSettings returns a copy of a repository with its present settings. The git
// processes and the locks are those of the original.
func (p *Projects) withSettings(r Project) *Project {
	r.stamp, r.settings = config.StampOf(r.Path), p.Settings.Set() // first, so that a later change of a file is noticed
	r.Config = p.settingsFor(r.Path)
	return &r
}

// openedByID returns the repository with an ID if this engine has it open, or nil.
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

// OpenedAt returns the repository that this engine has open under a key, or nil.
func (p *Projects) OpenedAt(key string) *Project {
	p.mu.Lock()
	defer p.mu.Unlock()
	if seen := p.repos[key]; seen != nil {
		return seen.r
	}
	return nil
}

// EverOpened lists the git repositories that this engine has or had open.
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

// DeleteOpened deletes a repository from the table of open ones, so that it is opened
// anew.
func (p *Projects) DeleteOpened(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.repos, key)
}
