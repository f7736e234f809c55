package view

import (
	"context"
	"sync"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
)

// whyPending says why the work of a workspace stays pending, unless it has other
// commits than were tried.
func (v *view) whyPending(w croft.Workspace, tree *git.Worktree) (croft.Code, string) {
	m, ok := v.pending[w.ID]
	switch {
	case !ok || w.MergeStatus != croft.MergePending || m.Head != w.Head:
		return "", ""
	case m.Reason == croft.Conflict && tree.Progress() == "merge":
		return croft.InProgress, "its conflicts are being resolved"
	case m.Reason == croft.ChecksUntrusted && v.agreed[m.Target] != "":
		return "", v.agreed[m.Target]
	}
	return m.Reason, m.Message
}

// Approvals are what the views ask of the rules.
type Approvals interface {
	// ApprovedNow says why a target's checks hinder nothing now; "": they do, or that
	// cannot be told.
	ApprovedNow(ctx context.Context, r *project.Project, target string) string
}

// approvedSince finds the targets of merges that waited for an approval of checks and
// need wait no more, and says why. A target whose approval cannot be read counts as not
// approved.
func (svc *Views) approvedSince(ctx context.Context, r *project.Project, turned []journal.Merge) map[string]string {
	out := map[string]string{}
	for _, m := range turned {
		if _, known := out[m.Target]; !known && m.Reason == croft.ChecksUntrusted {
			out[m.Target] = svc.Approvals.ApprovedNow(ctx, r, m.Target)
		}
	}
	return out
}

// roundsOver tells whether rounds have ended, or their sessions. The sessions are read
// when the first is asked for; where they cannot be, none has ended.
func (svc *Views) roundsOver(ctx context.Context) func(session string, number int) bool {
	read := sync.OnceValues(func() ([]journal.Session, error) { return svc.Journal.Sessions(ctx, "") })
	return func(session string, number int) bool {
		sessions, err := read()
		if err != nil {
			return false
		}
		for _, ses := range sessions {
			if string(ses.ID) == session {
				t := ses.Round(number)
				return ses.State == croft.SessionEnded || t == nil || t.Ended
			}
		}
		return true
	}
}
