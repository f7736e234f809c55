// Package uninstall takes Croft out of a project, or off the machine.
//
// It refuses while an isolated workspace is alive, a merge waits, an operation runs, or a
// trash directory cannot be seen; other workspaces and what is in the trash stay, and are
// named. It shows its whole plan before it acts, and deletes only what the records and
// ledgers say that Croft made. What it cannot delete or does not know is named and left. A project that is
// gone is forgotten only if a user says that it is gone for good and no process works in it.
package uninstall

import (
	"github.com/croft-sh/croft/internal/lane"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/radar"
	"github.com/croft-sh/croft/internal/trash"
	"github.com/croft-sh/croft/internal/workspace"
)

// Uninstaller takes Croft away.
type Uninstaller struct {
	*project.Projects
	Forecasts  *radar.Forecasts      // required
	Workspaces *workspace.Workspaces // required
	Trash      *trash.Trash          // required
	Lanes      *lane.Lanes           // required
}
