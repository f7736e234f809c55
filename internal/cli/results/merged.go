package results

import (
	"fmt"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/wording"
)

// MergeOutcomeText says what became of the work of a workspace.
func MergeOutcomeText(ws croft.Workspace) string {
	commit := wording.ShortCommit(ws.MergeCommit)
	switch {
	case ws.MergeStatus == croft.MergeMerged && commit != "":
		return fmt.Sprintf("merged as %s; croft revert %s takes it back", commit, wording.ShellWord(ws.Name))
	case ws.MergeStatus == croft.MergeReverted && commit != "":
		return fmt.Sprintf("reverted; it was merged as %s", commit)
	case ws.MergeMessage != "":
		return fmt.Sprintf("%s: %s", ws.MergeStatus, ws.MergeMessage)
	default:
		return string(ws.MergeStatus)
	}
}

// LandedBefore are those of merges that were just asked for whose work has landed already: a merge that has something to
// do has not ended when it is queued.
func LandedBefore(merges []croft.Merge) map[croft.ID]bool {
	landed := map[croft.ID]bool{}
	for _, m := range merges {
		if m.State == croft.MergeDone && m.Status == croft.MergeMerged {
			landed[m.ID] = true
		}
	}
	return landed
}

// NothingText says that a target has all of a merge.
func NothingText(m croft.Merge) string {
	if m.Commit == "" {
		return "nothing to merge: " + m.Target + " has all of it"
	}
	return "nothing to merge: it is in " + m.Target + " as " + wording.ShortCommit(m.Commit)
}
