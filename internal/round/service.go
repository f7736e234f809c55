// Package round runs sessions of rounds: several agents try the same task, each in a
// workspace of its own, and one result is kept and presented.
//
// A session spans projects; each of its rounds has the same workspaces in all of them, made
// together or not at all. When a round ends, the work of every workspace is committed and
// kept under the session, what looks like a secret is archived beside it, and the
// workspaces are removed. What a round has begun and its process did not finish is undone by
// whoever comes next; what it ended is ended to the end.
//
// It owns the sessions in the journal, their directories below the state directory, and the
// homes that were made for agents.
package round

import (
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/removal"
	"github.com/croft-sh/croft/internal/view"
	"github.com/croft-sh/croft/internal/work"
	"github.com/croft-sh/croft/internal/workspace"
)

// Rounds runs sessions.
type Rounds struct {
	*project.Projects
	Commits    *work.Commits         // required
	Views      *view.Views           // required
	Workspaces *workspace.Workspaces // required
	Removals   *removal.Removals     // required
}
