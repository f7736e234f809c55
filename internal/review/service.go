// Package review shows what a workspace would bring to its target, and brings parts of it.
//
// A review is the work of a workspace at one moment, committed and uncommitted, measured from
// where it left the target. Files that look secret or are too large are left out and named in
// HeldBack. ReviewWork keeps it under a random ID; it needs the workspace no longer, and
// changes of the workspace do not reach it. ApplyParts makes one commit of chosen files and
// hunks on the review's base and queues it in the target's lane. If the target changed a
// chosen file since the review, that merge ends pending with BaseMoved; the merge of a
// workspace would be tried.
//
// It owns the refs below refs/croft/review/. It never writes a workspace, takes no lease and
// does not mind agents at work. A process that dies before the review is pinned leaves
// nothing; one that dies before its part is queued leaves a ref, which goes with the review;
// a part that is queued stays queued, and lands when the queue is next driven.
package review

import (
	"github.com/croft-sh/croft/internal/lane"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/removal"
	"github.com/croft-sh/croft/internal/work"
)

// Reviews makes reviews and applies parts of them. See croft.Reviews for what callers
// outside are promised.
type Reviews struct {
	*project.Projects
	Commits  *work.Commits     // required
	Removals *removal.Removals // required
	Lanes    *lane.Lanes       // required
}
