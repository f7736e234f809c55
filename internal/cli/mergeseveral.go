package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/results"
)

// remarkSeveral says below the lines of several merges what is said below the line of one.
func (a *app) remarkSeveral(ctx context.Context, svc merger, merges []croft.Merge, repo *croft.Repo, as mergedAs) {
	var names, trashed []string
	kept := ""
	movesCheckout := false
	for _, m := range merges {
		if m.Status != croft.MergeMerged {
			continue
		}
		if !as.isNothing(m) {
			names = append(names, shellWord(m.WorkspaceName))
			movesCheckout = movesCheckout || repo != nil && !repo.IsBare && repo.Branch == m.Target
		}
		if gone := a.trashed(ctx, svc, m, as.after); gone != nil {
			trashed, kept = append(trashed, shellWord(m.WorkspaceName)), keptText(a.env.Now(), gone.KeptUntil)
		}
	}
	hints := a.remarkRests(slices.DeleteFunc(slices.Clone(merges), func(m croft.Merge) bool { return m.State != croft.MergeDone }))
	if movesCheckout {
		a.remarkText(prose("your checkout of %s moved along; none of your changes was touched", repo.Branch))
	}
	count := fmt.Sprintf("%d of %d merged", len(names), len(merges))
	switch {
	case len(trashed) > 1:
		a.remarkText(prose("%s; %d workspaces are in the trash %s: ", count, len(trashed), kept), command("croft restore "+strings.Join(trashed, " ")))
	case len(trashed) == 1:
		a.remarkText(prose("%s; %s is in the trash %s: ", count, trashed[0], kept), command("croft restore "+trashed[0]))
	case len(names) > 0 && as.after == croft.AfterKeep:
		a.remarkText(prose("%s; the workspaces stay", count))
	default:
		a.remarkText(prose("%s", count))
	}
	switch len(names) {
	case 0:
	case 1:
		a.remarkText(prose("to take the merge back: "), command("croft revert "+names[0]))
	default:
		a.remarkText(prose("to take a merge back: "), command("croft revert NAME"))
	}
	a.remarkSteps(hints)
}

// whyNot says why one of several merges stays pending, in a few words; empty if it does not.
func whyNot(m croft.Merge) string {
	switch m.Reason {
	case "":
		return ""
	case croft.Conflict:
		var places []string
		for _, c := range m.Conflicts {
			places = append(places, results.ConflictPlace(c))
		}
		return "in conflict with " + m.Target + " in " + fewNames(places)
	case croft.HostDirty:
		if files := results.ChangesInTheWay(m); len(files) > 0 {
			return "your checkout of " + m.Target + " has changes in " + fewNames(files) + ": commit or stash them first (git stash -u)"
		}
	}
	return m.Message
}

// remarkSteps says what can be run next for several merges that have landed.
func (a *app) remarkSteps(steps []said) {
	for _, s := range steps {
		a.remarkCommand(a.fromHere(strings.TrimSpace(s.text + " " + strings.Join(s.names, " "))))
	}
}
