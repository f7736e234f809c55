// Package doctor looks for what is wrong with a project, mends what can be mended without
// losing anything, and finds again what the state has lost.
//
// It never deletes work: it registers, binds and follows what was moved, brings back what
// interrupted operations left, and imports workspaces that only git still knows of. What it
// would change is shown first; what only a user can decide is named with the command for it.
package doctor

import (
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/rewind"
	"github.com/croft-sh/croft/internal/trash"
	"github.com/croft-sh/croft/internal/work"
)

// Doctor examines projects.
type Doctor struct {
	*project.Projects
	Commits *work.Commits   // required
	Trash   *trash.Trash    // required
	Rewinds *rewind.Rewinds // required
}
