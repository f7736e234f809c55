// Package writers knows which git processes of Croft's may hold locks in a
// repository, and removes the locks of those that died.
//
// A git that is killed leaves its lock files behind, and git itself never removes
// them: every process that wants the same lock fails from then on. So each git of
// Croft's that may take a lock has a [Lease]: a file in Croft's own directory that
// names those locks, locked by the kernel for as long as that git lives, whatever
// becomes of Croft. A lease that says "busy" and that no process holds is the proof
// that its git died at work, and [Repository.Sweep] may remove the locks it names.
//
// It owns the leases and the temporary directories below [Repository.Dir], and
// touches nothing else but the lock files that a dead lease names.
package writers

import "github.com/croft-sh/croft/internal/git/gitdir"

// Repository is where a repository lies, and where Croft keeps its own files about
// it.
type Repository struct {
	gitdir.Place
	Dir string // Croft's own directory for the repository, where no agent can write
}
