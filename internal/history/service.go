// Package history shows what was done in a project, by whom, and takes it back.
//
// An act is what one call did, however many operations it took. It is taken back by its
// inverse: a removal by a restore, a merge by a revert through its lane, a rewind by another
// one, a creation by a removal. The plan says every step before it is taken, and why one
// cannot be. An undo is an act of its own, which can be undone.
//
// It also streams events. What it shows is in the journal; what it does, the other rooms do,
// and it only marks acts there as reversed or in force again.
package history

import (
	"github.com/croft-sh/croft/internal/lane"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/removal"
	"github.com/croft-sh/croft/internal/rewind"
	"github.com/croft-sh/croft/internal/trash"
)

// History shows acts and takes them back.
type History struct {
	*project.Projects
	Removals *removal.Removals // required
	Trash    *trash.Trash      // required
	Rewinds  *rewind.Rewinds   // required
	Lanes    *lane.Lanes       // required
}
