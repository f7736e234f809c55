package attempt

import (
	"fmt"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
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
	err := &croft.Error{Code: croft.MergeHeld, Message: "the merge is held", Hint: "croft queue release " + m.WorkspaceName}
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
