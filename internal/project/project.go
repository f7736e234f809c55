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
	"sync"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/config"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/lifetime"
	"github.com/croft-sh/croft/internal/oplog"
)

// Projects are all projects of one host, as one service sees them. Use New, and fill in
// what it does not.
type Projects struct {
	Dir      string           // that requests mean which name none
	From     string           // where whoever acts stands; empty: Dir
	Environ  []string         // that git and checks run in
	Clock    func() time.Time // see Now
	Settings *config.Set
	Journal  *journal.Journal
	Git      *git.Git
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
