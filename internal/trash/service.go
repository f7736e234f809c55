// Package trash keeps what was removed, gives it back, and deletes it when its time is over.
//
// A removed workspace lies whole in a directory beside its project's workspaces. It can be
// restored there until it is purged: after its retention, or earlier where the trash is
// larger than its budget, the least costly first. Work that is in no target is announced
// before it is deleted. What cannot be read, has moved or was replaced is never deleted by
// its path: directories are known by their identity, and what is deleted is first moved
// away and written down.
//
// It owns the trash directories, what is being deleted there, and the survey of what is in the
// trash. It never touches a live workspace.
package trash

import (
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/removal"
	"github.com/croft-sh/croft/internal/workspace"
)

// Trash keeps what was removed.
type Trash struct {
	*project.Projects
	Removals   *removal.Removals     // required
	Workspaces *workspace.Workspaces // required: roles are placed again
}
