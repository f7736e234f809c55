package cli

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/screen"
)

// outcome is what became of one thing that was asked for, as a line on a terminal says it.
type outcome struct {
	kind   screen.Kind
	name   string
	word   string
	detail []screen.Span

	isPlain bool // the word is no state
}

// printOutcomes prints a line for each, with names and words in columns.
func (a *app) printOutcomes(list ...outcome) {
	to := a.stdout()
	t := &screen.Table{Columns: []screen.Column{{Key: colMark, IsClose: true}, {Key: colName}, {Key: colState}, {Key: "DETAIL"}}}
	for _, o := range list {
		style := o.kind.Style()
		if o.isPlain {
			style = styleNone
		}
		t.Rows = append(t.Rows, []screen.Cell{
			screen.Text(to.Signs().Of(o.kind), o.kind.Style()), screen.Text(printable(o.name), styleBold),
			screen.Text(printable(to.Signs().Spell(o.word)), style), screen.Cell(o.detail),
		})
	}
	if !slices.ContainsFunc(list, func(o outcome) bool { return o.word != "" }) {
		screen.Drop(colState)(t, 0)
	}
	sign := to.Signs().Cut
	t.Fit(to.Width, screen.Shrink(colName, leastName, func(text string, room int) string { return screen.CutMiddle(text, room, sign) }), screen.Below("DETAIL"))
	for _, line := range t.Body(to) {
		a.printLine(line)
	}
}

// remarkText makes an indented remark of several lines, if it is long: spans in the style of
// commands are whole.
func (a *app) remarkText(spans ...screen.Span) {
	const indent = 2
	to := a.stderr()
	room := math.MaxInt
	if to.IsTerminal() {
		room = min(to.Width, widestProse) - indent
	}
	for i := range spans {
		spans[i].Text = printable(to.Signs().Spell(spans[i].Text))
	}
	for _, line := range screen.WrapSpans(spans, room) {
		a.remark(append([]screen.Span{{Text: strings.Repeat(" ", indent)}}, line...)...)
	}
}

// prose is text of a remark, and command is what can be run.
func prose(format string, args ...any) screen.Span {
	return screen.Span{Text: fmt.Sprintf(format, args...)}
}
func command(text string) screen.Span { return screen.Span{Text: text, Style: styleCyan} }

// hint says what to run next.
func (a *app) hint(text string) {
	if text != "" {
		a.remark(screen.Span{Text: "hint: ", Style: styleBold.And(styleCyan)}, command(printable(text)))
	}
}

// mergeOutcome says what became of a merge. tip is where its target is, if that is known.
func mergeOutcome(m croft.Merge, work *croft.Work, signs screen.Signs, tip string) outcome {
	o := outcome{name: m.WorkspaceName}
	if m.State != croft.MergeDone || m.Status != croft.MergePending {
		o.kind, o.word = mergeKind(m), mergeWord(m)
		switch o.word {
		case "merged", "applied":
			o.word += " → " + m.Target
			o.detail = append([]screen.Span{{Text: shortCommit(m.Commit)}}, workSpans(work, signs)...)
		case "reverted":
			o.detail = []screen.Span{prose("%s is now %s", m.Target, shortCommit(m.Commit))}
		case "empty":
			o.detail = []screen.Span{{Text: "nothing to merge; the workspace stays", Style: styleDim}}
		}
		return o
	}
	stays := m.Target + " did not move"
	if tip != "" {
		stays = m.Target + " stays at " + shortCommit(tip)
	}
	says := func(kind screen.Kind, word, text string) {
		o.kind, o.word, o.detail = kind, word, []screen.Span{{Text: printable(text)}}
	}
	switch m.Reason {
	case "":
		says(screen.Ready, "pending → "+m.Target, "")
	case croft.Conflict:
		says(screen.Stuck, "conflict", fmt.Sprintf("with %s in %s; nothing was changed", m.Target, countNoun(len(m.Conflicts), "file")))
	case croft.CheckFailed:
		says(screen.Stuck, "check failed", stays)
	case croft.TargetBroken:
		says(screen.Look, "target fails", stays)
	case croft.ChecksUntrusted:
		says(screen.Look, "unapproved", stays)
	case croft.HostDirty:
		files := strings.Fields(m.Details)
		says(screen.Look, "blocked", fmt.Sprintf("your checkout of %s has changes in %s: %s", m.Target, countNoun(len(files), "file"), fewNames(files)))
	case croft.Canceled:
		says(screen.Nothing, "canceled", stays)
	default:
		says(screen.Stuck, "stuck", stays)
	}
	return o
}

func mergeKind(m croft.Merge) screen.Kind {
	switch {
	case m.State != croft.MergeDone && m.IsHeld:
		return screen.Look
	case m.State != croft.MergeDone:
		return screen.Going
	case m.Reason != "":
		return screen.Stuck
	case m.Status == "":
		return screen.Nothing
	}
	return screen.Done
}

// workSpans are the lines and files of work; none if nobody looked at it.
func workSpans(work *croft.Work, signs screen.Signs) []screen.Span {
	if !work.Has(croft.AspectCommits) || work.Changed == 0 {
		return nil
	}
	spans := append([]screen.Span{{Text: columnGap}}, linesCell(work.Added, work.Deleted, signs, screen.Plain)...)
	return append(spans, screen.Span{Text: " in " + countNoun(work.Changed, "file")})
}

// takenTime says how long something took.
func takenTime(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return ageText(time.Time{}.Add(time.Hour+d), time.Time{}.Add(time.Hour))
}

// keptText says for how long a workspace is in the trash.
func keptText(now, until time.Time) string {
	switch left := until.Sub(now); {
	case left > 36*time.Hour:
		return fmt.Sprintf("for %d days", int(math.Round(left.Hours()/24)))
	case left > 0:
		return "for " + ageText(until, now)
	}
	return "until the next croft gc"
}

// remarkMerge says below a result what led to it, and what can be done next.
func (a *app) remarkMerge(m croft.Merge) {
	switch {
	case m.State != croft.MergeDone:
		a.explainMerge(m)
		return
	case m.Reason == croft.Conflict:
		for _, c := range m.Conflicts {
			spans := conflictSpans(c)
			if to := a.stderr(); to.IsTerminal() && screen.Cell(spans).Width()+2 > to.Width {
				a.remarkText(spans...)
				continue
			}
			a.remark(append([]screen.Span{{Text: "  "}}, spans...)...)
		}
	case m.Reason == croft.HostDirty:
		a.remarkText(prose("commit or stash it, then: "), command(driveCommand))
	case m.Reason != "" && m.Reason != croft.CheckFailed:
		a.remarkText(prose("%s", printable(m.Message)))
		a.noteLines(m.Details)
	}
	a.remarkRest(m)
	if m.Reason != "" && m.Reason != croft.HostDirty {
		a.hint(nextOfMerge(m))
	}
}

// conflictSpans name a path in conflict, with its first place, and the other side.
func conflictSpans(c croft.ConflictedPath) []screen.Span {
	where := printable(c.Path)
	if len(c.Hunks) > 0 {
		where += fmt.Sprintf(":%d", c.Hunks[0].Line)
	}
	what := cmp.Or(c.Kind, "contents")
	switch {
	case c.Against != "" && what == "contents":
		what = printable(nameOrHash(c.Against)) + " changed the same lines"
	case c.Against != "":
		what += " against " + printable(nameOrHash(c.Against))
	}
	return []screen.Span{{Text: where + columnGap}, {Text: what, Style: styleDim}}
}

// remarkRest says what else is worth knowing about a merge that has ended.
func (a *app) remarkRest(m croft.Merge) {
	if m.Moved != "" {
		a.remarkText(prose("%s", printable(m.Moved)))
	}
	if len(m.HeldBack) > 0 {
		a.remarkText(prose("not committed, because they look like secrets, are large or hidden: %s", printable(strings.Join(m.HeldBack, ", "))))
	}
	if m.Kept != nil {
		a.remarkText(prose("the workspace stays: %s", printable(m.Kept.Message)))
		a.noteLines(m.Kept.Details)
		a.hint(m.Kept.Hint)
	}
}

// remarkMerged says below a merge that it has moved the user's checkout, where the workspace is,
// and how the merge is taken back.
func (a *app) remarkMerged(ctx context.Context, svc merger, m croft.Merge, repo *croft.Repo, after croft.AfterMerge) {
	name := shellWord(m.WorkspaceName)
	if repo != nil && !repo.IsBare && repo.Branch == m.Target {
		a.remarkText(prose("your checkout of %s moved along; none of your changes was touched", m.Target))
	}
	if gone := a.trashed(ctx, svc, m, after); gone != nil {
		a.remarkText(prose("the workspace is in the trash %s: ", keptText(a.env.Now(), gone.KeptUntil)), command("croft restore "+name))
	} else if after == croft.AfterKeep {
		a.remarkText(prose("the workspace stays"))
	}
	a.remarkText(prose("to take the merge back: "), command("croft revert "+name))
}

// trashed is the workspace of a merge, if it went to the trash.
func (a *app) trashed(ctx context.Context, svc finder, m croft.Merge, after croft.AfterMerge) *croft.Workspace {
	if after != croft.AfterTrash || m.Status != croft.MergeMerged || m.Workspace == "" || m.Kept != nil {
		return nil
	}
	ws, err := svc.Workspace(ctx, croft.WorkspaceRequest{Repo: a.dir(), Ref: croft.ByID(m.Workspace), Scope: croft.ScopeAll})
	if err != nil || ws.State != croft.Trashed || ws.KeptUntil.IsZero() {
		return nil
	}
	return ws
}
