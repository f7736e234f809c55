// Package odb reads and writes a repository's object database: single objects
// through one long-lived git, many new ones in batches without a process, packs,
// and the stores that isolated checkouts borrow objects from.
//
// It owns the objects directory of the repository, the stores below Croft's own
// directory, and the note of what was verified there. What an agent may have written
// is never believed by its name: an object whose content decides is hashed anew
// ([Repository.Rehash], [Repository.VerifyObjects]), and git reads no file beside the
// objects that says something of them.
package odb

import "github.com/croft-sh/croft/internal/git/gitcmd"

// Repository is a repository whose objects can be read and written.
type Repository struct {
	*gitcmd.Repository
	session objectSession
}

// New returns the object database of a repository.
func New(r *gitcmd.Repository) *Repository {
	db := &Repository{Repository: r}
	db.session.repo = db
	return db
}

// Close ends the git that answers questions about objects.
func (r *Repository) Close() error { return r.session.close() }
