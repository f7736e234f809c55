// Package refs reads refs from git's files and moves several of them in one transaction,
// as git does: under git's own lock files, with reflogs, loose and in packed-refs, so that
// every concurrent git sees all of a transaction or nothing.
//
// Where refs are files no process is needed ([Repository.UpdateRefs]): to start git for
// each of the many refs that Croft moves costs more than the rest of a merge. Where they
// are not (reftable), and for what only git decides, one long-lived `git update-ref
// --stdin` does it. The package owns the refs, the packed-refs file and the reflogs of a
// repository, and reads only regular files there.
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
	heads   headMemory
}

// New returns the repository with its refs.
func New(db *odb.Repository) *Repository {
	r := &Repository{Repository: db}
	r.session.repo, r.writer.repo = r, r
	return r
}

// Close ends the git processes that read objects and move refs.
func (r *Repository) Close() error {
	r.writer.close()
	return errors.Join(r.session.close(), r.Repository.Close())
}
