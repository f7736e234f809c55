package dashboard

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/croft-sh/croft"
)

// state is how a condition is shown: a word, a tone and an icon.
type state struct {
	Word string
	Tone string // a class: t-red stuck, t-amber waits for a person, t-green good, t-run goes on by itself, t-grey nothing
	Icon string
	Spin bool
}

// states says how each condition is shown. Which one a workspace has, the Service decides.
var states = map[croft.Condition]state{
	croft.ConditionMissing:     {"missing", "t-red", "broken", false},
	croft.ConditionBroken:      {"broken", "t-red", "broken", false},
	croft.ConditionMaking:      {"being made", "t-run", "working", true},
	croft.ConditionUnfinished:  {"unfinished", "t-amber", "broken", false},
	croft.ConditionMerging:     {"merging", "t-run", "working", true},
	croft.ConditionChecking:    {"checking", "t-run", "working", true},
	croft.ConditionHeld:        {"held", "t-amber", "held", false},
	croft.ConditionQueued:      {"queued", "t-run", "queued", false},
	croft.ConditionWaiting:     {"waits", "t-amber", "asks", false},
	croft.ConditionWorking:     {"working", "t-run", "working", true},
	croft.ConditionOrphan:      {"agent gone", "t-amber", "stopped", false},
	croft.ConditionResolving:   {"resolving", "t-amber", "conflict", false},
	croft.ConditionConflict:    {"conflict", "t-red", "conflict", false},
	croft.ConditionCheckFailed: {"checks failed", "t-red", "failed", false},
	croft.ConditionTargetFails: {"target fails", "t-amber", "failed", false},
	croft.ConditionUnapproved:  {"checks to allow", "t-amber", "shield", false},
	croft.ConditionBlocked:     {"checkout in the way", "t-amber", "held", false},
	croft.ConditionStuck:       {"stuck", "t-red", "failed", false},
	croft.ConditionFailed:      {"agent failed", "t-amber", "failed", false},
	croft.ConditionUnready:     {"not set up", "t-amber", "broken", false},
	croft.ConditionKilled:      {"agent killed", "t-amber", "stopped", false},
	croft.ConditionDirty:       {"uncommitted", "t-amber", "commit", false},
	croft.ConditionReverted:    {"reverted", "t-grey", "undo", false},
	croft.ConditionMerged:      {"merged", "t-green", "merged", false},
	croft.ConditionCollides:    {"collides", "t-amber", "conflict", false},
	croft.ConditionToReview:    {"to review", "t-green", "eye", false},
	croft.ConditionPending:     {"ready to merge", "t-green", "ready", false},
	croft.ConditionAhead:       {"has commits", "t-green", "ready", false},
	croft.ConditionInPlace:     {"in place", "t-grey", "folder", false},
	croft.ConditionLocked:      {"locked", "t-grey", "lock", false},
	croft.ConditionUnseen:      {"not looked at", "t-grey", "idle", false},
	croft.ConditionEmpty:       {"no work yet", "t-grey", "idle", false},
	croft.ConditionDiscarded:   {"discarded", "t-grey", "trash", false},
	croft.ConditionReaped:      {"reaped", "t-grey", "trash", false},
	croft.ConditionUndone:      {"undone", "t-grey", "undo", false},
	croft.ConditionRemoved:     {"removed", "t-grey", "trash", false},
}

// reasonText says in a sentence why a workspace is as it is. Where the reason says it all, the word of its state is left out.
func reasonText(ws *croft.Workspace) string {
	text := stateOf(ws).Word
	switch {
	case ws.Why == "" || ws.IsUnseen():
	case ws.Status == croft.ConditionAhead || ws.Status == croft.ConditionDirty:
		text = ws.Why
	default:
		text += ": " + ws.Why
	}
	first, size := utf8.DecodeRuneInString(text)
	text = string(unicode.ToUpper(first)) + text[size:]
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}

// stateOf is how a workspace is shown. An agent that asks is shown as asking, whatever else
// its workspace is like; one that nobody has looked at is not shown as one without work.
func stateOf(ws *croft.Workspace) state {
	if ws.Question != nil {
		return state{"asks you", "t-amber", "asks", false}
	}
	if ws.IsUnseen() {
		return state{"not looked at", "t-grey", "idle", false}
	}
	return conditionState(ws.Status)
}

func conditionState(c croft.Condition) state {
	if s, ok := states[c]; ok {
		return s
	}
	return state{strings.ReplaceAll(string(c), "-", " "), "t-amber", "idle", false} // of a Service that is newer
}

// group is a part of the inbox.
type group string

// The groups of the inbox, in their order, and those of the filter beside them.
const (
	groupAsks  group = "asks"  // an agent waits for an answer
	groupStuck group = "stuck" // it does not go on by itself
	groupAllow group = "allow" // a person has to allow something
	groupReady group = "ready" // it can be merged
	groupLook  group = "look"  // a person should look
	groupQueue group = "queue" // on its way to its target
	groupWork  group = "work"  // an agent is at work
	groupIdle  group = "idle"  // nothing of these
)

// groupOf sorts a workspace by what it waits for, as the Service says it.
func groupOf(ws *croft.Workspace) group {
	if ws.Question != nil {
		return groupAsks
	}
	if ws.Next != nil {
		switch ws.Next.Action {
		case croft.ActionApprove, croft.ActionAccept:
			return groupAllow
		case croft.ActionDrive, croft.ActionRepair, croft.ActionDiagnose:
			return groupStuck
		}
	}
	switch ws.Status {
	case croft.ConditionQueued, croft.ConditionMerging, croft.ConditionChecking:
		return groupQueue
	case croft.ConditionWorking, croft.ConditionMaking:
		return groupWork
	}
	if ws.Next == nil {
		return groupIdle
	}
	switch stateOf(ws).Tone {
	case "t-red":
		return groupStuck
	case "t-amber":
		return groupLook
	}
	if ws.Next.Action == croft.ActionMerge || ws.Next.Action == croft.ActionReview {
		return groupReady
	}
	return groupIdle
}

// mergeState is how a merge is shown.
func mergeState(m *croft.Merge) state {
	switch {
	case m.State == croft.MergeMerging:
		return conditionState(croft.ConditionMerging)
	case m.State == croft.MergeChecking:
		return conditionState(croft.ConditionChecking)
	case m.State == croft.MergeQueued && m.IsHeld:
		return conditionState(croft.ConditionHeld)
	case m.State == croft.MergeQueued:
		return conditionState(croft.ConditionQueued)
	case m.Kind == croft.KindRevert && m.Status == croft.MergeMerged:
		return state{"taken back", "t-grey", "undo", false}
	case m.Kind == croft.KindRevert && m.Status == croft.MergeReverted: // the undo was undone
		return state{"brought back", "t-grey", "rounds", false}
	case m.Status == croft.MergeMerged:
		return conditionState(croft.ConditionMerged)
	case m.Status == croft.MergeReverted:
		return conditionState(croft.ConditionReverted)
	case m.Status == croft.MergeDiscarded:
		return conditionState(croft.ConditionDiscarded)
	case m.Status == "":
		return state{"nothing to merge", "t-grey", "idle", false}
	}
	switch m.Became {
	case croft.BecameMerged:
		return state{"merged later", "t-grey", "merged", false}
	case croft.BecameReverted:
		return state{"reverted later", "t-grey", "undo", false}
	case croft.BecameDiscarded:
		return conditionState(croft.ConditionDiscarded)
	case croft.BecameSubmitted:
		return state{"submitted again", "t-grey", "history", false}
	case croft.BecameRemoved:
		return conditionState(croft.ConditionRemoved)
	}
	switch m.Reason {
	case "":
		return state{"not merged", "t-grey", "idle", false}
	case croft.Conflict:
		return conditionState(croft.ConditionConflict)
	case croft.CheckFailed:
		return conditionState(croft.ConditionCheckFailed)
	case croft.TargetBroken:
		return conditionState(croft.ConditionTargetFails)
	case croft.HostDirty:
		return conditionState(croft.ConditionBlocked)
	case croft.ChecksUntrusted:
		return conditionState(croft.ConditionUnapproved)
	}
	return conditionState(croft.ConditionStuck)
}
