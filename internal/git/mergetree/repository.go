// Package mergetree computes merges without a checkout, in a [Quarantine]: an object
// directory that no other process reads until commits are kept.
//
// One git process computes many merges: `git merge-tree --stdin` takes one after another.
// It buffers its output unless that is a terminal, so it is given a pty. A process that a
// caller has finished with is kept idle for the next one (idle.go): to start git for each
// pair of the radar took longer than to compute the merge. The package also answers
// whether the changes of a branch are in a target already (integrated.go), which paths two
// sides touch (history.go), and what changed between two commits (patch.go).
//
// It owns its quarantines below Croft's own directory, or in memory, and moves no ref.
package mergetree

import "github.com/croft-sh/croft/internal/git/refs"

// Repository is a repository in which merges can be computed.
type Repository struct {
	*refs.Repository

	idle idleMergeTrees
}

// New returns the repository with its merge sessions.
func New(r *refs.Repository) *Repository { return &Repository{Repository: r} }

// Close ends the git processes that compute merges, move refs and read objects.
func (r *Repository) Close() error {
	r.idle.close()
	return r.Repository.Close()
}
