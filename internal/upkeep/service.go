// Package upkeep tidies: it removes workspaces whose work has landed or whose owner is gone,
// deletes what no record speaks of any more, and joins git's small packs.
//
// It removes a workspace only through package removal, with all of that package's guards, and
// only what is integrated, orphaned, or agreed to. What cannot be removed is named with the
// reason. Everything that it does can be interrupted and done again.
package upkeep

import (
	"github.com/croft-sh/croft/internal/lane"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/removal"
	"github.com/croft-sh/croft/internal/review"
	"github.com/croft-sh/croft/internal/round"
	"github.com/croft-sh/croft/internal/trash"
	"github.com/croft-sh/croft/internal/workspace"
)

// Upkeep tidies.
type Upkeep struct {
	*project.Projects
	Workspaces *workspace.Workspaces // required
	Removals   *removal.Removals     // required
	Trash      *trash.Trash          // required
	Lanes      *lane.Lanes           // required
	Reviews    *review.Reviews       // required
	Rounds     *round.Rounds         // required
}
