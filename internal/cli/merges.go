package cli

import (
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/results"
	"github.com/croft-sh/croft/internal/cli/wording"
)

// mergesResult is what became of the work. The exit status is 0 only if all of it reached what was
// asked.
type mergesResult struct {
	Merges []croft.Merge `json:"merges"`
	Lanes  []croft.Lane  `json:"lanes,omitempty"` // in the answer of queue: those of targets that moved outside of their lanes
}

// column says which columns a table of merges has.
type column int

const (
	columnsUsual   column = iota
	columnID              // by which one of several merges of a workspace is named
	columnsDiscard        // where one that stays says only that
)

// showMerges prints merges, one line each, and notes why one stays pending. With --json it
// prints them as one JSON object.
func (a *app) showMerges(merges []croft.Merge) { a.showMergesWith(merges, columnsUsual) }

func (a *app) showMergesWith(merges []croft.Merge, more column) {
	if a.json {
		a.emit(mergesResult{Merges: merges})
		return
	}
	rows := make([][]cell, 0, len(merges))
	for _, m := range merges {
		row := []cell{plainCell(m.WorkspaceName), styledCell(mergeWord(m), mergeStyle(m)), plainCell("→ " + orDash(m.Target)), plainCell(orDash(shortCommit(m.Commit)))}
		if more == columnsDiscard && m.Reason != "" {
			row = []cell{plainCell(m.WorkspaceName), styledCell("not discarded", styleRed)}
		}
		if more == columnID {
			row = append(row, plainCell(string(m.ID)))
		}
		rows = append(rows, row)
	}
	a.printTable(rows)
	if more == columnID {
		a.explainNewest(merges)
		return
	}
	for _, m := range merges {
		a.explainMerge(m)
	}
}

// explainNewest explains the merges that wait. Of those that have ended it says in a sentence
// what became of the newest of each workspace: a command that one of them gave as its hint may
// be of no use any more, and croft list has the one that is.
func (a *app) explainNewest(merges []croft.Merge) {
	newest := map[croft.ID]croft.Merge{}
	for _, m := range merges {
		if is, ok := newest[m.Workspace]; !ok || !m.SubmittedAt.Before(is.SubmittedAt) {
			newest[m.Workspace] = m
		}
	}
	for _, m := range merges {
		switch {
		case m.State != croft.MergeDone:
			a.explainMerge(m)
		case m.Message != "" && m.Became == "" && newest[m.Workspace].ID == m.ID:
			a.note("%s: %s", results.Subject(m), m.Message)
		}
	}
}

func mergeStyle(m croft.Merge) style {
	switch {
	case m.State != croft.MergeDone:
		return styleYellow
	case m.Became != "":
		return styleNone
	case m.Reason != "":
		return styleRed
	case m.Status == croft.MergeMerged:
		return styleGreen
	}
	return styleNone
}

// explainMerge says why a merge stays pending, and what else is worth knowing.
func (a *app) explainMerge(m croft.Merge) {
	if m.Message != "" {
		a.note("%s: %s", results.Subject(m), m.Message)
	}
	if h := m.Hold; h != nil && m.State != croft.MergeDone {
		why := ""
		if h.Reason != "" {
			why = ": " + h.Reason
		}
		a.note("%s: held by %s, %s ago%s", m.WorkspaceName, h.Actor, ageText(a.env.Now(), h.At), why)
	}
	if m.Moved != "" {
		a.note("%s: %s", m.WorkspaceName, m.Moved)
	}
	for _, c := range m.Conflicts {
		line := "  " + wording.Path(c.Path)
		if c.Kind != "" {
			line += " (" + c.Kind + ")"
		}
		if c.Against != "" {
			line += " against " + nameOrHash(c.Against)
		}
		a.note("%s", line)
	}
	if len(m.Conflicts) == 0 && m.Reason != "" {
		a.noteLines(m.Details)
	}
	for _, c := range m.Checks {
		switch {
		case c.IsFlaky:
			a.note("  check %s failed first and passed when it was run again", quoted(c.Command))
		case !c.Passed:
			a.note("  check %s failed; its output is in %s", quoted(c.Command), c.Log)
		}
	}
	if len(m.HeldBack) > 0 {
		a.note("%s: not committed: %s", m.WorkspaceName, strings.Join(m.HeldBack, ", "))
	}
	if m.Kept != nil {
		a.note("%s: the workspace stays: %s", m.WorkspaceName, m.Kept.Message)
		a.noteLines(m.Kept.Details)
		if m.Kept.Hint != "" {
			a.remarkNext(a.fromHere(m.Kept.Hint))
		}
	}
	if m.Hint != "" && m.Reason != "" {
		a.note("hint: %s", m.Hint)
	}
}

// noteLines remarks the lines of a text.
func (a *app) noteLines(text string) {
	for line := range strings.Lines(text) {
		a.note("  %s", strings.TrimRight(line, "\n"))
	}
}

// mergesExitStatus returns nil if every merge ended with the status want or had nothing
// to merge, and otherwise the exit status of the first that did not.
func mergesExitStatus(merges []croft.Merge, want croft.MergeStatus) error {
	for _, m := range merges {
		if m.State == croft.MergeDone && (m.Status == want || m.Status == "" && m.Reason == "") {
			continue // the latter had nothing to merge
		}
		if m.Reason != "" {
			return statusError(m.Reason.ExitCode())
		}
		return statusError(croft.ExitFailure)
	}
	return nil
}
