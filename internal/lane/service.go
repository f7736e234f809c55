// Package lane brings the work of workspaces into their targets.
//
// A target is a branch, and has one lane: merges wait in it and land one after the other,
// each as a result that was merged in memory, checked in fresh trees, and published by
// compare-and-swap. What conflicts, fails or brings nothing is turned back and hinders
// nobody behind it. What landed can be reverted through the same lane. Checks run only if a
// person has approved their commands for the project.
//
// A lane is driven by the processes that wait for its merges, one at a time, whichever holds
// its lock; if it dies, the next one goes on where the journal says. A publication that was
// begun is finished by whoever comes next. A target that somebody moves otherwise is
// followed if that lost nothing, and held for a person if it did.
//
// It owns the merges in the journal, the target branches, and the check caches and logs. Of a
// workspace it commits what is uncommitted, through package work; where a target's branch is
// checked out in the project itself, it brings that checkout along.
package lane

import (
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/removal"
	"github.com/croft-sh/croft/internal/rules"
	"github.com/croft-sh/croft/internal/work"
	"github.com/croft-sh/croft/internal/workspace"
)

// Lanes brings work into targets.
type Lanes struct {
	*project.Projects
	Commits    *work.Commits         // required
	Workspaces *workspace.Workspaces // required
	Removals   *removal.Removals     // required
	Rules      *rules.Rules          // required

	drivers laneDrivers
}
