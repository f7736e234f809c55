// Package workspace makes workspaces and looks after them while agents use them:
// creation and its undoing, roles, leases, locks, scratch directories, and mounts.
//
// A creation of several workspaces succeeds or fails as one. It is planned without a
// write, its intent is in the journal before its first effect, and after a crash the
// next process undoes it: until it was done, no caller was told of the workspaces. An
// existing path is never used, and an existing branch only if the request names it.
//
// The package owns the leases and the scratch archives. It writes below the paths that
// it has made, and refs of its own workspaces; it never removes a workspace that was
// handed out.
package workspace

import (
	"context"

	"github.com/croft-sh/croft/internal/pool"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/view"
	"github.com/croft-sh/croft/internal/work"
)

// Stock has checkouts that were made in advance.
type Stock interface {
	// Take returns one with the files of a commit, or nil, and why.
	Take(ctx context.Context, r *project.Project, want pool.Wanted) (*pool.Taken, string)
}

// Workspaces makes workspaces and looks after them.
type Workspaces struct {
	*project.Projects
	Commits   *work.Commits // required
	Views     *view.Views   // required
	Snapshots SnapshotSaver // required
	Reaper    Reaper        // required
	Equipment Equipment     // required
	Targets   Targets       // required
	Pool      Stock         // required

	leases ownLeases
}
