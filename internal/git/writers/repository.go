// Package writers knows which git processes of Croft's may hold locks in a repository, and
// removes the lock files of those that died.
//
// A git that is killed leaves its lock files behind, and git itself never removes them:
// every process that wants the same lock fails from then on. So each git of Croft's that
// may take a lock has a [Lease]: a file in Croft's own directory that names those locks,
// locked by the kernel for as long as that git lives, whatever happens to Croft. A lease
// that says "busy" and that no process holds proves that its git died at work, and
// [Repository.Sweep] may remove the lock files it names.
//
// The package owns the leases and the temporary directories below [Repository.Dir], and
// touches nothing else but the lock files that a dead lease names.
package writers

import (
	"cmp"

	"github.com/croft-sh/croft/internal/git/gitdir"
)

// Repository has the path of a repository, and that of Croft's own files about it.
type Repository struct {
	gitdir.Place
	Dir string // Croft's own directory for the repository, where no agent can write
	// Scratch is where files lie that are made anew for the answers of a process which may
	// not write Dir. Default: Dir.
	Scratch string
}

// ScratchDir is the directory of files that are made for answers, and that are made anew if
// they are lost.
func (r *Repository) ScratchDir() string { return cmp.Or(r.Scratch, r.Dir) }
