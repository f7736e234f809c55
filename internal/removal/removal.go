// Package removal takes workspaces away: into the trash, or for good where a user discards
// them.
//
// A workspace is removed only if nothing in it would be lost or its owner agreed: no lease,
// no lock of a person, no process in it, no uncommitted work, no commits that are nowhere
// else. The guards look twice, the second time when nobody can change the answer any more.
// What is removed is kept whole in the trash, with its index, its refs and its work in
// progress archived, so that a restore gives everything back.
//
// It owns the archive refs of removed workspaces, the archived secrets, and the branches
// that it deletes, by compare-and-swap only. Its operation is finished, never undone, by
// whoever comes after a crash.
package removal

import (
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/view"
)

// Removals takes workspaces away.
type Removals struct {
	*project.Projects
	Views *view.Views // required
}
