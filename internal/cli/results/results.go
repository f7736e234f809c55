// Package results says what became of what was asked for: a line for each thing, with what it is now.
package results

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/wording"
	"github.com/croft-sh/croft/internal/screen"
)

// gap is what stands between two texts.
const gap = "  "

// Outcome is what became of one thing that was asked for, as a line on a terminal says it.
type Outcome struct {
	Kind   screen.Kind
	Name   string
	Word   string
	Detail []screen.Span

	IsPlain bool // the word is no state
}

// Lines are a line for each, with names and words in columns.
func Lines(to screen.Stream, list ...Outcome) []string {
	t := &screen.Table{Columns: []screen.Column{{Key: "MARK", IsClose: true}, {Key: "NAME"}, {Key: "STATE"}, {Key: "DETAIL"}}}
	for _, o := range list {
		style := o.Kind.Style()
		if o.IsPlain {
			style = screen.Plain
		}
		t.Rows = append(t.Rows, []screen.Cell{
			screen.Text(to.Signs().Of(o.Kind), o.Kind.Style()), screen.Text(screen.Printable(o.Name), screen.Bold),
			screen.Text(screen.Printable(to.Signs().Spell(o.Word)), style), printable(o.Detail),
		})
	}
	if !slices.ContainsFunc(list, func(o Outcome) bool { return o.Word != "" }) {
		screen.Drop("STATE")(t, 0)
	}
	sign := to.Signs().Cut
	name := func(text string, room int) string {
		if strings.Contains(text, " ") { // it is no name
			return text
		}
		return screen.CutMiddle(text, room, sign)
	}
	t.Fit(to.Width, screen.Shrink("NAME", 16, name), screen.Below("DETAIL"),
		screen.Shrink("STATE", 16, func(text string, room int) string { return screen.CutMiddle(text, room, sign) }))
	return t.Body(to)
}

// printable is what a terminal shows and does not act upon.
func printable(spans []screen.Span) (cell screen.Cell) {
	for _, span := range spans {
		cell = append(cell, screen.Span{Text: screen.Printable(span.Text), Style: span.Style})
	}
	return cell
}

// Rows are rows of texts, indented: a name that yields, and at last what is said of it.
func Rows(to screen.Stream, rows [][]string) []string {
	if len(rows) == 0 {
		return nil
	}
	t := &screen.Table{Columns: []screen.Column{{Key: "INDENT", IsClose: true}}}
	for i := range rows[0] {
		t.Columns = append(t.Columns, screen.Column{Key: strconv.Itoa(i)})
	}
	for _, row := range rows {
		cells := []screen.Cell{screen.Text(" ", screen.Plain)}
		for _, text := range row {
			cells = append(cells, screen.Text(screen.Printable(text), screen.Plain))
		}
		t.Rows = append(t.Rows, cells)
	}
	if to.IsTerminal() {
		last := strconv.Itoa(len(rows[0]) - 1)
		t.Fit(to.Width, screen.Shrink("0", 16, func(text string, room int) string { return screen.CutMiddle(text, room, to.Signs().Cut) }), screen.Below(last))
	}
	return t.Body(to)
}

// MergeWord says in a word or two how far a merge has come.
func MergeWord(m croft.Merge) string {
	switch {
	case m.State != croft.MergeDone && m.IsHeld:
		return "held"
	case m.State != croft.MergeDone:
		return string(m.State)
	case m.Became == croft.BecameMerged || m.Became == croft.BecameReverted:
		return string(m.Became) + " later"
	case m.Became == croft.BecameSubmitted:
		return "tried again"
	case m.Became != "":
		return string(m.Became)
	case m.Kind == croft.KindRevert && m.Status == croft.MergeMerged:
		return "reverted"
	case m.Kind == croft.KindApply && m.Status == croft.MergeMerged:
		return "applied"
	case m.Status == "" && m.Target != "":
		return "empty"
	case m.Status == "":
		return "ended"
	default:
		return string(m.Status)
	}
}

// Subject names what a merge is about: a workspace, or the revert of its merge, which is not the workspace's own work.
func Subject(m croft.Merge) string {
	if m.Kind == croft.KindRevert && (m.State != croft.MergeDone || m.Status == croft.MergePending) {
		return "revert of " + m.WorkspaceName
	}
	return m.WorkspaceName
}

// OfMerge says what became of a merge. tip is where its target is, if that is known.
func OfMerge(m croft.Merge, work *croft.Work, signs screen.Signs, tip string) Outcome {
	o := Outcome{Name: m.WorkspaceName}
	if m.State != croft.MergeDone || m.Status != croft.MergePending {
		o.Kind, o.Word = MergeKind(m), MergeWord(m)
		if m.State != croft.MergeDone {
			o.Word += " → " + m.Target
		}
		switch isRevert := m.Kind == croft.KindRevert; {
		case o.Word == "merged", o.Word == "applied":
			o.Word += " → " + m.Target
			o.Detail = append([]screen.Span{{Text: wording.ShortCommit(m.Commit)}}, WorkSpans(work, signs)...)
		case o.Word == "reverted" && isRevert:
			o.Detail = []screen.Span{Prose("%s is now %s", m.Target, wording.ShortCommit(m.Commit))}
			if spans := WorkSpans(work, signs); len(spans) > 0 {
				o.Detail = append(append(o.Detail, screen.Span{Text: ", "}), spans[1:]...)
			}
		case o.Word == "reverted":
			o.Detail = []screen.Span{Prose("since; it was merged into %s as %s", m.Target, wording.ShortCommit(m.Commit))}
		case o.Word == "empty":
			o.Detail = []screen.Span{{Text: "nothing to merge; the workspace stays", Style: screen.Dim}}
		}
		return o
	}
	stays := m.Target + " did not move"
	if tip != "" {
		stays = m.Target + " stays at " + wording.ShortCommit(tip)
	}
	says := func(kind screen.Kind, word, text string) {
		o.Kind, o.Word, o.Detail = kind, word, []screen.Span{{Text: screen.Printable(text)}}
	}
	switch m.Reason {
	case "":
		says(screen.Ready, "pending → "+m.Target, "")
	case croft.Conflict:
		if m.Kind == croft.KindRevert {
			says(screen.Stuck, "conflict", fmt.Sprintf("%s changed since; %s", wording.CountOf(len(m.Conflicts), "file was", "files were"), stays))
			break
		}
		says(screen.Stuck, "conflict", fmt.Sprintf("with %s in %s; nothing was changed", m.Target, wording.CountNoun(len(m.Conflicts), "file")))
	case croft.CheckFailed:
		says(screen.Stuck, "check failed", stays)
	case croft.TargetBroken:
		says(screen.Look, "target fails", stays)
	case croft.ChecksUntrusted:
		says(screen.Look, "unapproved", stays)
	case croft.HostDirty:
		files := ChangesInTheWay(m)
		if len(files) == 0 {
			says(screen.Look, "blocked", stays)
			break
		}
		says(screen.Look, "blocked", fmt.Sprintf("your checkout of %s has changes in %s: %s", m.Target, wording.CountNoun(len(files), "file"), wording.FewNames(files)))
	case croft.Canceled:
		says(screen.Nothing, "canceled", stays)
	default:
		says(screen.Stuck, "stuck", stays)
	}
	return o
}

// ChangesInTheWay are the files of a user's checkout whose changes stop a merge; none if it is something else, which the
// merge's message says.
func ChangesInTheWay(m croft.Merge) []string {
	if m.Reason != croft.HostDirty || m.Details == "" {
		return nil
	}
	return strings.Split(m.Details, "\n")
}

// MergeKind is what a merge asks of a person.
func MergeKind(m croft.Merge) screen.Kind {
	switch {
	case m.State != croft.MergeDone && m.IsHeld:
		return screen.Look
	case m.State != croft.MergeDone:
		return screen.Going
	case m.Became != "":
		return screen.Done
	case m.Reason != "":
		return screen.Stuck
	case m.Status == croft.MergePending:
		return screen.Ready
	case m.Status == "":
		return screen.Nothing
	}
	return screen.Done
}

// WorkSpans are the lines and files of work; none if nobody looked at it.
func WorkSpans(work *croft.Work, signs screen.Signs) []screen.Span {
	if !work.Has(croft.AspectCommits) || work.Changed == 0 {
		return nil
	}
	files := wording.CountNoun(work.Changed, "file")
	lines := LinesCell(work.Added, work.Deleted, signs, screen.Plain)
	if len(lines) == 0 { // a file that is empty or is not text, or only its mode
		return []screen.Span{{Text: gap}, {Text: files}}
	}
	return append(append([]screen.Span{{Text: gap}}, lines...), screen.Span{Text: " in " + files})
}

// LinesCell are lines that were added and deleted, in their colours.
func LinesCell(added, deleted int, signs screen.Signs, style screen.Style) screen.Cell {
	var cell screen.Cell
	if added > 0 {
		cell = append(cell, screen.Span{Text: "+" + wording.Count(added), Style: style.And(screen.Green)})
	}
	if deleted > 0 {
		if len(cell) > 0 {
			cell = append(cell, screen.Span{Text: " "})
		}
		cell = append(cell, screen.Span{Text: signs.Minus + wording.Count(deleted), Style: style.And(screen.Red)})
	}
	return cell
}

// ConflictPlace is a path in conflict, with its first place.
func ConflictPlace(c croft.ConflictedPath) string {
	where := screen.Printable(wording.Path(c.Path))
	if len(c.Hunks) > 0 {
		where += fmt.Sprintf(":%d", c.Hunks[0].Line)
	}
	return where
}

// ConflictSpans name a path in conflict, with its first place, and who changed the other side, and when.
func ConflictSpans(c croft.ConflictedPath, now time.Time, signs screen.Signs) []screen.Span {
	what, by, when := cmp.Or(c.Kind, "contents"), screen.Printable(wording.NameOrHash(c.Against)), ""
	isCommit := c.Against != wording.NameOrHash(c.Against)
	if isCommit && c.Subject != "" {
		by += ` "` + screen.CutEnd(screen.Printable(c.Subject), mostSubject, signs.Cut) + `"`
	}
	if !c.At.IsZero() {
		when = ", " + wording.Ago(now, c.At)
		if !isCommit {
			when = ", merged " + wording.Ago(now, c.At)
		}
	}
	switch {
	case c.Against == "":
	case what == "contents" && isCommit:
		what = "changed by " + by + when
	case what == "contents":
		what = by + " changed the same lines" + when
	default:
		what += " against " + by + when
	}
	return []screen.Span{{Text: ConflictPlace(c) + gap}, {Text: what, Style: screen.Dim}}
}

// mostSubject is how many columns of a commit's subject are shown beside a path.
const mostSubject = 40

// Prose is text of a remark, and Command is what can be run.
func Prose(format string, args ...any) screen.Span {
	return screen.Span{Text: fmt.Sprintf(format, args...)}
}

// Command is what can be run.
func Command(text string) screen.Span { return screen.Span{Text: text, Style: screen.Cyan} }

// MarkSpan is the symbol of a kind in its colour.
func MarkSpan(to screen.Stream, k screen.Kind) screen.Span {
	return screen.Span{Text: to.Signs().Of(k), Style: k.Style()}
}

// HoldText says who holds a merge, since when and why.
func HoldText(h croft.MergeHold, now time.Time) string {
	text := fmt.Sprintf("held by %s, %s ago", h.Actor, wording.Age(now, h.At))
	if h.Reason != "" {
		text += ": " + h.Reason
	}
	return text
}

// RunningCheck is the check of a merge that runs now, if one does.
func RunningCheck(m croft.Merge) *croft.Check {
	for _, attempt := range slices.Backward(m.Attempts) {
		for _, c := range slices.Backward(attempt.Checks) {
			if c.State == croft.TryRunning {
				return &c
			}
		}
	}
	return nil
}

// RunningText says for how long a check runs, and how long it usually does.
func RunningText(c croft.Check, now time.Time) string {
	text := wording.Age(now, c.StartedAt)
	if usual := time.Duration(c.Usual); usual >= time.Second {
		text += " of about " + wording.Age(now, now.Add(-usual))
	}
	return text
}

// LinesOf are the lines of work that was looked at; none if there are none.
func LinesOf(work *croft.Work, signs screen.Signs) []screen.Span {
	if !work.Has(croft.AspectCommits) {
		return nil
	}
	return LinesCell(work.Added, work.Deleted, signs, screen.Plain)
}
