// Package refs reads refs from git's files and moves them, several at once, as git
// does: under git's own lock files, with reflogs, in packed-refs and loose, so that
// every git that runs beside sees a transaction whole or not at all.
//
// Where refs are files no process is needed ([Repository.UpdateRefs]): to start git
// for each of the many refs that Croft moves costs more than the rest of a merge.
// Where they are not (reftable), and for what only git decides, one long-lived
// `git update-ref --stdin` does it. It owns the refs, the packed-refs file and the
// reflogs of a repository, and believes no file there that is not a regular one.
package refs

import (
	"errors"

	"github.com/croft-sh/croft/internal/git/odb"
)

// Repository is a repository whose refs can be read and moved.
type Repository struct {
	*odb.Repository

	session session
	writer  writer
	inPack  packedCache
}

// New returns the refs of a repository.
func New(db *odb.Repository) *Repository {
	r := &Repository{Repository: db}
	r.session.repo, r.writer.repo = r, r
	return r
}

// Close ends the processes that read objects and move refs.
func (r *Repository) Close() error {
	r.writer.close()
	return errors.Join(r.session.close(), r.Repository.Close())
}
