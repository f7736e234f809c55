// Package git is what Croft does with a repository and its checkouts. With the packages
// below it, it is the only one that spells git's arguments and reads git's files.
//
// Each package imports those above it in this list; the Repository of each embeds the one
// of the package before, so that a [Repository] has the methods of all:
//
//	gitconfig   the syntax of configuration, and which settings Croft's git uses
//	gitdir      the files of a git directory
//	writers     which git processes of Croft's may hold locks, and what a dead one left
//	gitcmd      how git is started: environment, configuration, deadline, fence
//	odb         objects, packs, the alternates stores of isolated checkouts
//	refs        reading and moving refs
//	mergetree   merges, history and patches without a checkout
//	worktree    a checkout's admin directory, its index and the lock on it
//	isolated    a checkout with a git directory of its own
//	git         making, moving, committing, fast-forwarding and removing checkouts
//
// How single objects, packs and indexes are encoded is in object and index, which know no
// repository.
package git

import (
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/isolated"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/git/odb"
	"github.com/croft-sh/croft/internal/git/refs"
)

// Repository is a repository with all operations on it and on its checkouts.
type Repository struct{ *isolated.Repository }

// Open opens the repository that a directory is in. Croft's own files about it are below
// the directory for generated configuration.
func Open(g *gitcmd.Git, dir string) (*Repository, error) {
	p, err := gitdir.Discover(dir)
	if err != nil {
		return nil, err
	}
	return At(g, p, g.DirFor(p.CommonDir)), nil
}

// At opens a repository that was discovered before. Croft's records, locks and copies for
// it are in dir, which is made when it is needed.
func At(g *gitcmd.Git, p gitdir.Place, dir string) *Repository {
	r := &Repository{Repository: isolated.New(mergetree.New(refs.New(odb.New(gitcmd.NewRepository(g, p, dir)))))}
	return r
}
