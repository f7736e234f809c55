package results

import (
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/wording"
	"github.com/croft-sh/croft/internal/screen"
)

// flaky is what is said of a check that passed when it was run again.
const flaky = "passed at the second try: flaky"

// Tries are the runs of a check's command on the same tree, in the order in which they began.
func Tries(m croft.Merge, of croft.Check) []croft.Check {
	var tries []croft.Check
	for _, attempt := range m.Attempts {
		for _, c := range attempt.Checks {
			if c.Command == of.Command && c.Tree == of.Tree && !slices.ContainsFunc(tries, func(o croft.Check) bool { return o.ID == c.ID }) {
				tries = append(tries, c)
			}
		}
	}
	return tries
}

// IsSecondTry reports whether a check of a merge is run because it failed on the same tree.
func IsSecondTry(m croft.Merge, c croft.Check) bool {
	tries := Tries(m, c)
	return len(tries) > 1 && tries[0].ID != c.ID
}

// TryText says which run of its command a check is, or nothing if there was one only, and whether the other
// went otherwise.
func TryText(m croft.Merge, c croft.Check) string {
	isFlaky := slices.ContainsFunc(m.Checks, func(o croft.Check) bool { return o.IsFlaky && o.Command == c.Command && o.Tree == c.Tree })
	tries := Tries(m, c)
	switch {
	case isFlaky && c.Passed:
		return ", " + strings.TrimPrefix(flaky, "passed ")
	case isFlaky:
		return ", " + flaky
	case len(tries) < 2:
		return ""
	case tries[0].ID == c.ID:
		return ", first try"
	}
	return ", second try"
}

// CheckText says how a check went that failed at least once, and nothing of others.
func CheckText(m croft.Merge, c croft.Check) string {
	switch {
	case c.IsFlaky:
		return flaky
	case c.Passed || c.State == croft.TryRunning || c.State == croft.TryStopped:
		return ""
	}
	text := "failed"
	if len(Tries(m, c)) > 1 {
		text = "failed twice"
	}
	return text + AloneText(m, AloneChecks(m), c.Command)
}

// FailedText says how the tries of a check went that all failed, and for how long they ran.
func FailedText(tries ...croft.Check) string {
	took, text := time.Duration(0), "failed, "
	for _, c := range tries {
		took += time.Duration(c.Took)
	}
	if len(tries) > 1 {
		text = "failed twice, "
	}
	return text + wording.Took(took)
}

// AloneChecks are the checks of the target itself, which are run after a failure to find out whose
// it is.
func AloneChecks(m croft.Merge) []croft.Check {
	for _, attempt := range slices.Backward(m.Attempts) {
		if IsLastBatch(m, attempt) && attempt.Merges == 0 {
			return attempt.Checks
		}
	}
	return nil
}

// IsLastBatch reports whether an attempt is one of those that a merge was tried in last.
func IsLastBatch(m croft.Merge, a croft.Attempt) bool {
	return a.Batch == m.Attempts[len(m.Attempts)-1].Batch
}

// AloneText says how a check that failed went on the target alone, if it was run there.
func AloneText(m croft.Merge, alone []croft.Check, command string) string {
	for _, c := range slices.Backward(alone) {
		switch {
		case c.Command != command || c.State == croft.TryRunning || c.State == croft.TryStopped:
		case c.Passed:
			return "; passes on " + m.Target + " alone"
		default:
			return "; fails on " + m.Target + " alone, too"
		}
	}
	return ""
}

// FlakyLines say of merges that have ended which of their checks passed at the second try only. Merges that
// were checked together share a line.
func FlakyLines(to screen.Stream, merges []croft.Merge) []screen.Cell {
	type found struct {
		id      croft.ID
		command string
		names   []string
	}
	var all []found
	for _, m := range merges {
		for _, c := range m.Checks {
			if !c.IsFlaky {
				continue
			}
			at := slices.IndexFunc(all, func(f found) bool { return f.id == c.ID && f.command == c.Command })
			if at < 0 {
				at, all = len(all), append(all, found{id: c.ID, command: c.Command})
			}
			all[at].names = append(all[at].names, m.WorkspaceName)
		}
	}
	var lines []screen.Cell
	for _, f := range all {
		command := screen.CutEnd(screen.Printable(f.command), mostCommand, to.Signs().Cut)
		lines = append(lines, screen.Cell{
			{Text: "  "},
			MarkSpan(to, screen.Look),
			{Text: " " + command + gap},
			{Text: flaky + ", with " + screen.Printable(wording.FewNames(f.names)), Style: screen.Dim},
		})
	}
	return lines
}

// mostCommand is how many columns the command of a check has beside what is said of it.
const mostCommand = 40
