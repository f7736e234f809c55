package attempt

import (
	"context"
	"fmt"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/merge"
	"github.com/croft-sh/croft/internal/shellword"
)

// usualOf is how many merges of a target, the last ones, are looked at for the usual time of a
// check.
const usualOf = 9

// Usual returns the usual times of the checks of a target by their commands: the medians of the
// last times that they passed. A command that has not passed lately has none.
func Usual(ctx context.Context, j *journal.Journal, repo croft.ID, target string) (map[string]croft.Duration, error) {
	last, err := j.Merges(ctx, repo, target, usualOf)
	if err != nil {
		return nil, err
	}
	times, seen := map[string][]croft.Duration{}, map[croft.ID]bool{}
	for _, m := range last {
		for _, c := range m.Checks {
			if !c.Passed || seen[c.ID] && c.ID != "" {
				continue // merges of one batch have the same checks
			}
			seen[c.ID] = true
			times[c.Command] = append(times[c.Command], c.Took)
		}
	}
	usual := map[string]croft.Duration{}
	for command, took := range times {
		slices.Sort(took)
		usual[command] = took[len(took)/2]
	}
	return usual, nil
}

// CheckFailedError returns the reason of a merge that breaks the checks.
func CheckFailedError(m journal.Merge, v merge.Verdict) error {
	command, tail := failedCheck(v)
	return &croft.Error{
		Code: croft.CheckFailed, Message: fmt.Sprintf("merged with %s, the check %q fails", m.Target, command), Details: tail,
		Hint: "croft logs " + shellword.Quote(m.WorkspaceName),
	}
}

// TargetBrokenError returns the reason of the merges into a target that fails its own checks.
func TargetBrokenError(target string, v merge.Verdict) error {
	command, tail := failedCheck(v)
	return &croft.Error{
		Code: croft.TargetBroken, Message: fmt.Sprintf("the check %q fails on %s itself", command, target), Details: tail,
		Hint: "git log " + shellword.Quote(target),
	}
}

func failedCheck(v merge.Verdict) (command, tail string) {
	for _, c := range v.Checks {
		if !c.Passed {
			return c.Command, c.Tail
		}
	}
	return "", ""
}
