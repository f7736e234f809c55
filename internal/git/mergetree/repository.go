// Package mergetree computes merges without a checkout, in a [Quarantine]: a
// directory of objects that no other process sees until they are kept.
//
// One git answers many questions: `git merge-tree --stdin` takes one merge after
// another. It answers late when its output is no terminal, so it is given one, and
// one that has served is kept idle for the next caller (idle.go); to start git for
// each pair of the radar took longer than to compute the merge. Whether work is in a
// branch already (integrated.go), which paths two sides touch (history.go) and what
// changed between two commits (patch.go) is asked here too, with the same objects.
//
// It owns its quarantines below Croft's own directory, or in memory, and moves no
// ref.
package mergetree

import "github.com/croft-sh/croft/internal/git/refs"

// Repository is a repository in which merges can be computed.
type Repository struct {
	*refs.Repository

	idle idleMergeTrees
}

// New returns the merges of a repository.
func New(r *refs.Repository) *Repository { return &Repository{Repository: r} }

// Close ends the processes that compute merges, move refs and read objects.
func (r *Repository) Close() error {
	r.idle.close()
	return r.Repository.Close()
}
