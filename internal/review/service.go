// Package review shows what a workspace would bring to its target, and brings parts of it.
//
// A review is kept by its hash for a while, so that parts of exactly what was seen can be
// applied, whatever the agent has done since: chosen files and hunks become a commit that
// goes through the target's lane like any other work.
//
// It owns the refs of kept reviews. It never writes a workspace.
package review

import (
	"github.com/croft-sh/croft/internal/lane"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/removal"
	"github.com/croft-sh/croft/internal/work"
)

// Reviews shows work before it is merged.
type Reviews struct {
	*project.Projects
	Commits  *work.Commits     // required
	Removals *removal.Removals // required
	Lanes    *lane.Lanes       // required
}
