package attempt

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/shellword"
)

// CheckStrategy refuses an unknown strategy. A merge that an earlier version queued may
// have one.
func CheckStrategy(s croft.Strategy) error {
	if slices.Contains([]croft.Strategy{"", croft.StrategyNoFF, croft.StrategySquash}, s) {
		return nil
	}
	err := &croft.Error{Code: croft.InvalidRequest, Message: fmt.Sprintf("there is no strategy %q", s), Details: "no-ff, squash"}
	if s == "rebase" {
		err.Message, err.Hint = `the strategy "rebase" is gone: it lost what merge commits hold`, "--strategy squash, which gives a linear history too"
	}
	return err
}

// StillWaitsError returns the error for a call that ended before its merge did.
func StillWaitsError(m journal.Merge, code croft.Code, err error) error {
	what, state := "the merge", "it is queued for "+m.Target+", and lands when the queue is next driven"
	if m.Kind == croft.KindRevert {
		what = "the revert"
	}
	if m.State != croft.MergeQueued {
		state = "another process is at it"
	}
	return &croft.Error{
		Code: code, Workspace: m.WorkspaceName, Message: fmt.Sprintf("the waiting has ended, %s has not: %s", what, state),
		Hint: fmt.Sprintf("croft queue run, or croft queue cancel %s", m.ID), Err: err,
	}
}

// HeldError returns the error for a call that waits for a merge which is held.
func HeldError(m croft.Merge) error {
	err := &croft.Error{
		Code: croft.MergeHeld, Workspace: m.WorkspaceName, Message: "the merge is held", Hint: "croft queue release " + shellword.Quote(m.WorkspaceName),
	}
	if h := m.Hold; h != nil {
		err.Message += " by " + h.Actor
		err.Details = h.Reason
	}
	return err
}

// NothingToRevertError returns the error for a merge whose revert would change nothing.
func NothingToRevertError(m croft.Merge) error {
	return &croft.Error{
		Code: croft.NotMerged, Workspace: m.WorkspaceName,
		Message: fmt.Sprintf("taking it back would change nothing: %s has none of its changes, or had them before it", m.Target),
		Hint:    "croft queue --all",
	}
}

// ConflictError returns the error for a merge or a revert in conflict with its target.
func ConflictError(m journal.Merge, conflicts []croft.ConflictedPath) error {
	paths := make([]string, len(conflicts))
	for i, c := range conflicts {
		paths[i] = c.Path
	}
	noun, hint := "files", "croft merge --resolve "+shellword.Quote(m.WorkspaceName)
	if len(conflicts) == 1 {
		noun = "file"
	}
	switch m.Kind {
	case croft.KindMerge:
	case croft.KindRevert:
		hint = "croft revert --resolve " + shellword.Quote(m.WorkspaceName)
	default:
		hint = "croft diff " + shellword.Quote(m.WorkspaceName)
	}
	return &croft.Error{
		Code: croft.Conflict, Message: fmt.Sprintf("%d %s in conflict with %s", len(conflicts), noun, m.Target),
		Details: strings.Join(paths, "\n"), Hint: hint,
	}
}

// TargetMovedError returns the error for a target that a person has to accept as it is.
func TargetMovedError(l croft.Lane) error {
	var list []string
	for _, c := range l.Commits {
		list = append(list, fmt.Sprintf("%.7s %s: %s", c.Commit, c.Author, c.Subject))
	}
	return &croft.Error{Code: croft.TargetMoved, Message: l.Message, Details: strings.Join(list, "\n"), Hint: "croft queue accept " + shellword.Quote(l.Target)}
}

// TargetMovesError returns the error for a target that others moved during so many tries.
func TargetMovesError(target string, tries int, over time.Duration) error {
	return &croft.Error{
		Code:    croft.TargetMoved,
		Message: fmt.Sprintf("%s keeps moving: others committed to it during each of %d tries in %v", target, tries, over.Round(time.Second)),
		Details: "Nothing landed. The work is as it was submitted.",
		Hint:    "croft queue run, when no process commits to " + shellword.Quote(target),
	}
}

// MergeNotFoundError returns the error for a merge that does not exist.
func MergeNotFoundError(ref string) error {
	return &croft.Error{Code: croft.MergeNotFound, Message: fmt.Sprintf("there is no merge %q", ref), Hint: "croft queue --all"}
}

// MovedNote returns a note for an apply that landed if the target had moved since the
// review.
func MovedNote(m journal.Merge, before string) string {
	if m.Seen == "" || m.Seen == before {
		return ""
	}
	return m.Target + " has moved since the review, in other files"
}
