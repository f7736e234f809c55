// Package resolve brings a target's new work into a workspace, so that its agent can resolve
// the conflicts there.
//
// What is uncommitted is committed first and a snapshot is taken, so that nothing is lost if
// the merge is given up. If the process dies in between, whoever comes next puts the
// workspace back as it was, unless its agent has gone on from there.
//
// It writes the files and the branch of the one workspace that it was asked for.
package resolve

import (
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/removal"
	"github.com/croft-sh/croft/internal/rewind"
	"github.com/croft-sh/croft/internal/view"
	"github.com/croft-sh/croft/internal/work"
)

// Resolver brings targets into workspaces.
type Resolver struct {
	*project.Projects
	Commits  *work.Commits     // required
	Views    *view.Views       // required
	Removals *removal.Removals // required
	Rewinds  *rewind.Rewinds   // required
}
