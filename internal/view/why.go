package view

import (
	"cmp"
	"context"
	"sync"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
)

// whyPending says why the work of a workspace stays pending, unless it has commits that
// its last merge did not have. Of a workspace that was merged, it says that it has such
// commits.
func (v *view) whyPending(w croft.Workspace, tree *git.Worktree) (croft.Code, string) {
	m, ok := v.merges[w.ID]
	switch {
	case ok && w.MergeStatus == croft.MergeMerged && m.Head != "" && m.Head != w.Head:
		return "", "has commits since it was merged"
	case !ok || w.MergeStatus != croft.MergePending || m.State != croft.MergeDone || m.Status != croft.MergePending || m.Reason == "" || m.Head != w.Head:
		return "", ""
	case m.Reason == croft.Conflict && tree.Progress() == "merge":
		return croft.InProgress, "its conflicts are being resolved"
	case m.Reason == croft.ChecksUntrusted && v.agreed[m.Target] != "":
		return "", v.agreed[m.Target]
	}
	return m.Reason, m.Message
}

// Approvals answers whether the checks of a target stop a merge.
type Approvals interface {
	// ApprovedNow says why a target's checks do not stop a merge now. It returns the
	// empty string if they do, or if that cannot be found out.
	ApprovedNow(ctx context.Context, r *project.Project, target string) string
}

// approvedSince returns the targets of merges that stayed pending because checks were
// not approved, and that could be merged now, with the reason. A target whose approval
// cannot be read counts as not approved.
func (svc *Views) approvedSince(ctx context.Context, r *project.Project, merges []journal.Merge) map[string]string {
	out := map[string]string{}
	for _, m := range merges {
		if _, known := out[m.Target]; !known && m.State == croft.MergeDone && m.Reason == croft.ChecksUntrusted {
			out[m.Target] = svc.Approvals.ApprovedNow(ctx, r, m.Target)
		}
	}
	return out
}

// sessions are those that there are, read when somebody first asks for one.
type sessions func() ([]journal.Session, error)

func (svc *Views) sessions(ctx context.Context) sessions {
	return sync.OnceValues(func() ([]journal.Session, error) { return svc.Journal.Sessions(ctx, "") })
}

// isRoundOver reports whether a round or its session has ended. If the sessions cannot be read, no round has ended.
func (read sessions) isRoundOver(session string, number int) bool {
	all, err := read()
	if err != nil {
		return false
	}
	for _, ses := range all {
		if string(ses.ID) == session {
			t := ses.Round(number)
			return ses.State == croft.SessionEnded || t == nil || t.Ended
		}
	}
	return true
}

// name is what people call a session: its name, or its ID if it has none.
func (read sessions) name(session string) string {
	all, _ := read() // the ID says it, too
	for _, ses := range all {
		if string(ses.ID) == session {
			return cmp.Or(ses.Name, session)
		}
	}
	return session
}
