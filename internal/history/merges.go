package history

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/lane"
)

// isMerge reports whether an operation brought work to a target, or took it back.
func isMerge(op journal.Operation) bool {
	return op.Kind == string(croft.KindMerge) || op.Kind == string(croft.KindRevert) || op.Kind == string(croft.KindApply)
}

// mergeOf returns the merge that an operation was, or nil if that merge is no longer in
// force.
func (svc *History) mergeOf(ctx context.Context, op journal.Operation) (*journal.Merge, error) {
	var in lane.MergeInput
	if err := json.Unmarshal(op.Input, &in); err != nil {
		return nil, err
	}
	m, err := svc.Journal.Merge(ctx, in.Merge)
	if errors.Is(err, journal.ErrNotFound) || err == nil && m.Status != croft.MergeMerged {
		return nil, nil
	}
	return &m, err
}

// takesAway reports whether a merge took work out of its target: it reverts one that brought some.
func (svc *History) takesAway(ctx context.Context, m journal.Merge) (bool, error) {
	isAway := false
	for m.Kind == croft.KindRevert && m.Reverts != "" {
		isAway = !isAway
		before, err := svc.Journal.Merge(ctx, m.Reverts)
		if errors.Is(err, journal.ErrNotFound) {
			break
		}
		if err != nil {
			return false, err
		}
		m = before
	}
	return isAway, nil
}

// describe returns an act as callers see it, with what its merges did to their target. An act of several merges
// has no commit. A merge that cannot be read is left out: the act is told without it.
func (svc *History) describe(ctx context.Context, ops []journal.Operation, isUndoable bool) croft.Operation {
	out := describeAct(ops, isUndoable)
	n := 0
	for _, op := range ops {
		if !isMerge(op) {
			continue
		}
		var in lane.MergeInput
		if json.Unmarshal(op.Input, &in) != nil {
			continue
		}
		m, err := svc.Journal.Merge(ctx, in.Merge)
		if err != nil {
			continue
		}
		isReverted := m.Status == croft.MergeReverted
		if n++; n == 1 {
			out.Target, out.Commit, out.IsReverted = m.Target, m.Commit, isReverted
			continue
		}
		out.Commit, out.IsReverted = "", out.IsReverted && isReverted
		if out.Target != m.Target {
			out.Target = ""
		}
	}
	return out
}

// shortCommit abbreviates a commit for a sentence.
func shortCommit(commit string) string { return commit[:min(len(commit), 7)] }
