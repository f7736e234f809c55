// Package git is what Croft does with a repository and its checkouts. With the
// packages below it, it is the only one that spells git's arguments and reads git's
// files.
//
// Its rooms stand in a line, each on the one before; the Repository of each embeds the
// one below, so that a [Repository] has the methods of all:
//
//	gitconfig   the syntax of configuration, and what may become of each setting
//	gitdir      what lies in a git directory
//	writers     which gits of Croft's may hold locks, and what a dead one left
//	gitcmd      how git is started: environment, configuration, deadline, fence
//	odb         objects, packs, the stores of isolated checkouts
//	refs        reading and moving refs
//	mergetree   merges, history and patches without a checkout
//	worktree    a checkout's admin directory, its index and the lock on it
//	isolated    a checkout with a git directory of its own
//	git         making, moving, committing, fast-forwarding and removing checkouts
//
// How single objects, packs and indexes are encoded is in object and index, which
// know no repository.
package git

import (
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/isolated"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/git/odb"
	"github.com/croft-sh/croft/internal/git/refs"
)

// Repository is a repository without regard to any checkout: its refs, its
// objects, its registrations.
type Repository struct{ *isolated.Repository }

// Open opens the repository that a directory lies in. Croft's own files about it
// lie below the directory for generated configuration.
func Open(g *gitcmd.Git, dir string) (*Repository, error) {
	p, err := gitdir.Discover(dir)
	if err != nil {
		return nil, err
	}
	return At(g, p, g.DirFor(p.CommonDir)), nil
}

// At opens a repository that was discovered before. What Croft itself notes
// about it, locks it with and keeps of it lies in dir, which is made when it is
// needed.
func At(g *gitcmd.Git, p gitdir.Place, dir string) *Repository {
	r := &Repository{Repository: isolated.New(mergetree.New(refs.New(odb.New(gitcmd.NewRepository(g, p, dir)))))}
	return r
}
