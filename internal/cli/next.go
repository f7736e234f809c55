package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/croft-sh/croft"
)

// nextFor says what a workspace needs next and the command for it. A state
// that prevents every other step comes first.
func nextFor(ws *croft.Workspace, now time.Time) croft.Next {
	name := shellWord(ws.Name)
	switch {
	case ws.State == croft.Creating && ws.Fault == croft.FaultRewinding && ws.FaultReason != "":
		return croft.Next{What: "its files could not be put back yet", Command: "croft doctor --fix"}
	case ws.State == croft.Creating && ws.Fault == croft.FaultRewinding:
		return croft.Next{What: "its files are being put back"}
	case ws.State == croft.Creating:
		return croft.Next{What: "being made"}
	case ws.State == croft.Trashed && ws.KeptUntil.IsZero():
		return croft.Next{What: "gone"}
	case ws.State == croft.Trashed:
		return croft.Next{What: "in the trash", Command: "croft restore " + name}
	case ws.State == croft.Broken:
		return nextForBroken(ws)
	case ws.IsLocked && ws.LockReason != "":
		return croft.Next{What: "locked: " + ws.LockReason}
	case ws.IsLocked:
		return croft.Next{What: "locked"}
	case ws.Lease != nil && (ws.Lease.Term == croft.TermProcess || ws.Lease.ExpiresAt.After(now)):
		return croft.Next{What: "in use"}
	case ws.MergeStatus == croft.MergeMerged && ws.MergeMessage != "":
		return croft.Next{What: ws.MergeMessage, Command: "croft merge " + name}
	case ws.MergeStatus == croft.MergeMerged:
		return croft.Next{What: "merged", Command: "croft remove " + name}
	case ws.Mode == croft.ModeLegacy:
		return croft.Next{What: "works in the project itself", Command: "croft sh " + name}
	case ws.Label == "presenter":
		return croft.Next{What: "to be reviewed", Command: "croft review " + name}
	case ws.Round > 0 && !ws.IsRoundOver:
		return croft.Next{What: fmt.Sprintf("in round %d", ws.Round), Command: "croft round end --session " + ws.Session}
	case ws.Head == ws.Base && ws.BaseRef == "":
		return croft.Next{What: "imported, what it started from is not known", Command: "croft sh " + name}
	case ws.Head == ws.Base:
		return croft.Next{What: "no commits yet", Command: "croft sh " + name}
	case ws.MergeStatus == croft.MergePending:
		return nextForPending(ws, name)
	case ws.MergeStatus == croft.MergeReverted:
		return croft.Next{What: "reverted", Command: "croft merge " + name}
	case ws.Target == "":
		return croft.Next{What: "has commits and no target; croft merge --into BRANCH " + name + " merges them", Command: "croft sh " + name}
	default:
		return croft.Next{What: "has commits", Command: "croft merge " + name}
	}
}

// nextForPending returns the next step for a workspace whose merge is pending.
func nextForPending(ws *croft.Workspace, name string) croft.Next {
	what := "pending"
	if ws.MergeMessage != "" {
		what += ", " + ws.MergeMessage
	}
	switch ws.MergeReason {
	case croft.Conflict:
		return croft.Next{What: what, Command: "croft merge --resolve " + name}
	case croft.InProgress:
		return croft.Next{What: "resolve its conflicts and git add them, then croft merge " + name, Command: "croft sh " + name}
	case croft.CheckFailed:
		return croft.Next{What: what, Command: "croft sh " + name}
	case croft.ChecksUntrusted:
		return croft.Next{What: what, Command: trustCommand + " --target " + shellWord(ws.Target)}
	}
	return croft.Next{What: what, Command: "croft merge " + name}
}

// trustCommand approves checks. It is refused inside a workspace. The target is named,
// because the project may have another branch checked out, or none.
const trustCommand = "croft config trust"

// nextForBroken says what a broken workspace needs. If Croft does
// not know where its directory is, only `croft doctor` without --fix is recommended.
func nextForBroken(ws *croft.Workspace) croft.Next {
	switch ws.Fault {
	case croft.FaultMissing:
		return croft.Next{What: "directory not found", Command: "croft doctor"}
	case croft.FaultMoved:
		return croft.Next{What: "moved", Command: "croft doctor --fix"}
	case croft.FaultTaken:
		return croft.Next{What: "something else at its path", Command: "croft doctor"}
	}
	return croft.Next{What: "needs repair", Command: "croft doctor --fix"}
}

// withNext fills in what each workspace needs next, in place.
func (a *app) withNext(workspaces []croft.Workspace) []croft.Workspace {
	now := a.env.Now()
	named := map[string]int{}
	for i := range workspaces {
		named[workspaces[i].Name]++
	}
	for i := range workspaces {
		ws := &workspaces[i]
		next := nextFor(ws, now)
		if named[ws.Name] > 1 && ws.State == croft.Trashed && next.Command != "" {
			next.Command = "croft restore " + string(ws.ID) // by its name another one is meant
		}
		if strings.HasPrefix(next.Command, trustCommand+" ") && a.env.Dir != ws.Repo {
			next.Command = "cd " + shellWord(ws.Repo) + " && " + next.Command
		}
		ws.Next = &next
	}
	if workspaces == nil {
		return []croft.Workspace{} // no workspaces is [] in JSON
	}
	return workspaces
}

// workspacesResult is the JSON object that new and list print.
type workspacesResult struct {
	Workspaces []croft.Workspace `json:"workspaces"`
	Worktrees  *[]croft.Worktree `json:"worktrees,omitempty"` // with list --all: git's worktrees that are not Croft's
	Cursor     croft.Cursor      `json:"cursor,omitempty"`    // with list: for events --after
}
