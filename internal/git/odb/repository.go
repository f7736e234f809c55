// Package odb reads and writes a repository's object database: single objects through one
// long-lived git, many new ones in batches without a process, packs, and the alternates
// stores of isolated checkouts.
//
// It owns the objects directory of the repository, the stores below Croft's own directory,
// and the record of what was verified there. An agent may have written any object, so one
// whose content matters is hashed again ([Repository.Rehash], [Repository.VerifyObjects]),
// and git does not use commit-graphs and other files that describe objects.
package odb

import "github.com/croft-sh/croft/internal/git/gitcmd"

// Repository is a repository whose objects can be read and written.
type Repository struct {
	*gitcmd.Repository
	session objectSession
}

// New returns the repository with its object database.
func New(r *gitcmd.Repository) *Repository {
	db := &Repository{Repository: r}
	db.session.repo = db
	return db
}

// Close ends the git process that reads objects.
func (r *Repository) Close() error { return r.session.close() }
