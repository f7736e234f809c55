// Package work finds and commits what an agent has left uncommitted in a workspace.
//
// It owns the rule of what is committed: what git add -A would take, less what looks like
// a secret, what is large unless it was asked for, and what Croft put there itself. What is
// held back is named, never dropped. It also owns the look at files after a restart of the
// machine: what a crash may have emptied is not committed unasked.
//
// It reads a workspace and writes commits on its branch; it never writes its files.
package work

import "github.com/croft-sh/croft/internal/project"

// Commits finds and commits work.
type Commits struct {
	*project.Projects
}
