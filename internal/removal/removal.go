// Package removal moves workspaces to the trash. It deletes no files of a workspace: that is
// package trash.
//
// Guard decides whether a workspace may go. Every mode refuses an active lease of another
// process, a workspace that is being created, and a path where another checkout or a copy
// lies. The other protections depend on the mode:
//
//	                process inside   lock      uncommitted work   waiting merge
//	RemoveSafe      refuses          refuses   refuses            refuses
//	RemoveWithWork  refuses          refuses   goes               refuses
//	RemoveForce     refuses          goes      goes               cancelled
//	RemoveOccupied  goes             goes      goes               cancelled
//
// A waiting merge is looked at by RemoveOne, not by Guard. A merge that is being checked or
// published is not cancelled. A legacy workspace is guarded by leases and merges only.
// Commits that were not merged do not stop a removal: they are archived. A caller that wants
// them to stop it sets Spec.Head, or asks Integrated first.
//
// Guard runs once, before the operation is in the journal. Three things are looked at again
// later: waiting merges in the journal's transaction, Spec.Head under the project's lock, and
// the identity of the directory when it is moved.
//
// A removal pins the commits and the state of the index under archive refs, renames the
// directory into the trash, and then deletes the branch by compare-and-swap. A branch that
// moved or is checked out elsewhere stays, and the removal succeeds.
//
// After a crash RecoverRemove finishes the removal without asking Guard again. A removal is
// undone only if the directory was not moved: RemoveOne failed, something else lies at the
// path, or commits came after Spec.Head.
//
// The package makes the archive refs head, branch, state and own of a removed workspace.
// Package trash has the ref work, and updates own. Private files of snapshots are written by
// packages trash and rewind; this one deletes those that no pin names.
package removal

import (
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/view"
)

// Removals removes workspaces. Several processes may do so at once: the journal and the
// project's lock decide.
type Removals struct {
	*project.Projects
	Views *view.Views // required
}
