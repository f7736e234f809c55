// Package rewind saves the whole state of a workspace as a snapshot, and puts a workspace
// back to one.
//
// A snapshot holds every file that matters, also what is not committed, with the index and
// the branch. A rewind saves what the workspace is now before it changes anything, so that
// it can itself be undone. It happens in place; if it is interrupted, whoever comes next
// finishes it or brings back what was, and until then the workspace is shown as being
// rewound and nothing else acts on it. Files that an agent wrote meanwhile are set aside,
// never overwritten.
//
// It owns the snapshot refs and the directories of files that were set aside.
package rewind

import (
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/removal"
	"github.com/croft-sh/croft/internal/trash"
	"github.com/croft-sh/croft/internal/view"
)

// Rewinds saves workspaces and puts them back.
type Rewinds struct {
	*project.Projects
	Removals *removal.Removals // required
	Trash    *trash.Trash      // required
	Views    *view.Views       // required
}
