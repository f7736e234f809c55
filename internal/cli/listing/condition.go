package listing

import (
	"path"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/wording"
	"github.com/croft-sh/croft/internal/screen"
)

// KindOf is what the condition of a workspace asks of a person.
func KindOf(ws *croft.Workspace) screen.Kind {
	if ws.IsUnseen() {
		return screen.Nothing
	}
	switch ws.Status {
	case croft.ConditionMissing, croft.ConditionBroken, croft.ConditionConflict, croft.ConditionCheckFailed, croft.ConditionStuck:
		return screen.Stuck
	case croft.ConditionToReview, croft.ConditionPending, croft.ConditionAhead:
		return screen.Ready
	case croft.ConditionMaking, croft.ConditionMerging, croft.ConditionChecking, croft.ConditionWorking:
		return screen.Going
	case croft.ConditionMerged:
		return screen.Done
	case croft.ConditionInPlace, croft.ConditionLocked, croft.ConditionUnseen, croft.ConditionEmpty, croft.ConditionRemoved,
		croft.ConditionDiscarded, croft.ConditionReaped, croft.ConditionUndone:
		return screen.Nothing
	case croft.ConditionWaiting, croft.ConditionQueued:
		if ws.Next == nil {
			return screen.Going // what it waits for comes by itself
		}
	}
	return screen.Look
}

// HomePath is a path with a tilde for the user's home directory.
func HomePath(path, home string) string {
	if home != "" && IsWithin(path, home) {
		return "~" + strings.TrimPrefix(path, home)
	}
	return path
}

// Condition is the condition of a workspace as people read it, and the reason. That nobody has
// looked is the condition then, and no reason.
func Condition(ws *croft.Workspace) (state, why string) {
	if ws.IsUnseen() {
		return "not looked at", "-"
	}
	return strings.ReplaceAll(string(ws.Status), "-", " "), wording.OrDash(ws.Why)
}

// TimedWhy is the reason of a condition with the time that it lasts, where that is known. The time is no part of the reason:
// it changes each second, and what follows changes would see one in each.
func TimedWhy(ws *croft.Workspace, why string, now time.Time) string {
	switch ws.Status {
	case croft.ConditionWorking:
		since := time.Time{}
		if a := ws.Activity; a != nil && (a.State == croft.AgentWorking || a.State == croft.AgentStarting) {
			since = a.Since
		}
		if r := ws.Run; r != nil && r.State != croft.RunEnded {
			since = r.StartedAt
		}
		if !since.IsZero() && why != "" {
			return why + ", " + wording.Age(now, since)
		}
	case croft.ConditionMaking:
		if why == "" {
			return wording.Age(now, ws.CreatedAt)
		}
	case croft.ConditionUnfinished:
		if ws.State == croft.Creating && why == "interrupted" && !ws.CreatedAt.IsZero() {
			return why + " " + wording.Ago(now, ws.CreatedAt)
		}
	case croft.ConditionChecking:
		if program, rest, _ := strings.Cut(why, " "); strings.HasPrefix(program, "/") {
			return strings.TrimSpace(path.Base(program) + " " + rest)
		}
	}
	return why
}

// commonTarget is the target of all workspaces that have one, if it is one and short enough for a heading.
func commonTarget(list []croft.Workspace) string {
	const longest = 10
	target := ""
	for _, ws := range list {
		switch ws.Target {
		case "", target:
		default:
			if target != "" {
				return ""
			}
			target = ws.Target
		}
	}
	if screen.Width(target) > longest {
		return ""
	}
	return target
}
