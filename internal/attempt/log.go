package attempt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/shellword"
)

// maxRead is how many bytes of a log one call returns.
const maxRead = 1 << 20

// Logs reads the output of checks.
type Logs struct {
	Journal *journal.Journal
}

// Read returns a part of the output of a check.
func (l Logs) Read(ctx context.Context, req croft.CheckLogRequest) (*croft.CheckLog, error) {
	if req.Offset < 0 || req.Limit < 0 {
		return nil, &croft.Error{Code: croft.InvalidRequest, Message: "an output has no part before its beginning"}
	}
	m, err := l.Journal.Merge(ctx, req.Merge)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, MergeNotFoundError(string(req.Merge))
	}
	if err != nil {
		return nil, err
	}
	c, err := choose(m.Merge, req.Check)
	if err != nil {
		return nil, err
	}
	out := &croft.CheckLog{Merge: m.ID, Workspace: m.Workspace, WorkspaceName: m.WorkspaceName, Check: c, Offset: req.Offset}
	f, err := os.Open(c.Log)
	if errors.Is(err, os.ErrNotExist) {
		return nil, &croft.Error{
			Code: croft.CheckNotFound, Workspace: m.WorkspaceName, Message: fmt.Sprintf("the output of the check %q is not kept any more", c.Command), Details: c.Tail,
			Hint: "croft merge " + shellword.Quote(m.WorkspaceName),
		}
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	out.Size = info.Size()
	limit := int64(maxRead)
	if req.Limit > 0 {
		limit = min(limit, int64(req.Limit))
	}
	if out.Data, err = io.ReadAll(io.NewSectionReader(f, req.Offset, limit)); err != nil {
		return nil, err
	}
	out.Next = req.Offset + int64(len(out.Data))
	return out, nil
}

// choose returns the check with an ID or, without one, that which says why the merge is as
// it is: the one that runs, else the last one that failed, else the last one. Those of the target
// alone come after those of the merged result. Of a merge that landed, what failed on another tree, that of a batch with
// others, says nothing.
func choose(m croft.Merge, id croft.ID) (croft.Check, error) {
	var checks []croft.Check // the last one first
	for _, c := range slices.Backward(m.Checks) {
		checks = append(checks, c)
	}
	for _, a := range slices.Backward(m.Attempts) {
		for _, c := range slices.Backward(a.Checks) {
			if !slices.ContainsFunc(checks, func(o croft.Check) bool { return o.ID == c.ID }) {
				checks = append(checks, c)
			}
		}
	}
	slices.SortStableFunc(checks, func(x, y croft.Check) int { return alone(m, x) - alone(m, y) })
	if id != "" {
		if i := slices.IndexFunc(checks, func(c croft.Check) bool { return c.ID == id }); i >= 0 {
			return checks[i], nil
		}
		return croft.Check{}, &croft.Error{Code: croft.CheckNotFound, Workspace: m.WorkspaceName, Message: fmt.Sprintf("the merge has no check %q", id), Hint: "croft show " + shellword.Quote(m.WorkspaceName)}
	}
	for _, is := range []func(croft.Check) bool{
		func(c croft.Check) bool { return c.State == croft.TryRunning },
		func(c croft.Check) bool { return !c.Passed && c.State != croft.TryStopped && !isOfOthers(m, c) },
		func(croft.Check) bool { return true },
	} {
		if i := slices.IndexFunc(checks, is); i >= 0 {
			return lastTry(m, checks[i]), nil
		}
	}
	return croft.Check{}, &croft.Error{Code: croft.CheckNotFound, Workspace: m.WorkspaceName, Message: "no check has run on this merge", Hint: "croft show " + shellword.Quote(m.WorkspaceName)}
}

// isOfOthers reports whether a merge landed, and a check ran on another tree than what was checked of it in the end.
func isOfOthers(m croft.Merge, c croft.Check) bool {
	return m.Status == croft.MergeMerged && len(m.Checks) > 0 && c.Tree != m.Checks[len(m.Checks)-1].Tree
}

// lastTry is the last run of a check's command on the same tree that went as that did: the one that decided.
func lastTry(m croft.Merge, of croft.Check) croft.Check {
	for _, a := range slices.Backward(m.Attempts) {
		for _, c := range slices.Backward(a.Checks) {
			if c.Command == of.Command && c.Tree == of.Tree && c.Passed == of.Passed && c.State == of.State && alone(m, c) == alone(m, of) {
				return c
			}
		}
	}
	return of
}

// alone is 1 for a check of the target alone, and 0 for one of the merged result.
func alone(m croft.Merge, c croft.Check) int {
	for _, a := range m.Attempts {
		if a.Merges == 0 && slices.ContainsFunc(a.Checks, func(o croft.Check) bool { return o.ID == c.ID }) {
			return 1
		}
	}
	return 0
}
