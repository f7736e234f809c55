package listing

import (
	"strings"

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
