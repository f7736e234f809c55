package cli

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/results"
	"github.com/croft-sh/croft/internal/cli/wording"
	"github.com/croft-sh/croft/internal/screen"
)

// outcome is what became of one thing that was asked for.
type outcome = results.Outcome

// printOutcomes prints a line for each, with names and words in columns.
func (a *app) printOutcomes(list ...outcome) {
	for _, line := range results.Lines(a.stdout(), list...) {
		a.printLine(line)
	}
}

// tellMerges says what became of merges: on a terminal a line for each, and below a single one what led to it and what
// can be done next.
func (a *app) tellMerges(merges []croft.Merge, works map[croft.ID]*croft.Work) {
	if !a.isShown() {
		a.showMerges(merges)
		return
	}
	if len(merges) == 0 {
		return
	}
	if len(merges) == 1 {
		a.tellMerge(merges[0], works[merges[0].Workspace], "")
		return
	}
	var list []outcome
	for _, m := range merges {
		o := results.OfMerge(m, works[m.Workspace], a.stdout().Signs(), "")
		if m.State == croft.MergeDone && m.Reason != "" {
			o.Detail = []screen.Span{command(a.fromHere(nextOfMerge(m)))}
		}
		list = append(list, o)
	}
	a.printOutcomes(list...)
	a.remarkSteps(a.remarkRests(slices.DeleteFunc(slices.Clone(merges), func(m croft.Merge) bool { return m.State != croft.MergeDone })))
}

// tellMerge prints on a terminal what became of one merge. tip is where its target is, if that is known.
func (a *app) tellMerge(m croft.Merge, work *croft.Work, tip string) {
	a.printOutcomes(results.OfMerge(m, work, a.stdout().Signs(), tip))
	if m.Reason != "" || m.State != croft.MergeDone {
		a.remarkMerge(m)
	} else {
		a.remarkRest(m)
	}
}

func mergeWord(m croft.Merge) string { return results.MergeWord(m) }

// prose is text of a remark, and command is what can be run.
func prose(format string, args ...any) screen.Span { return results.Prose(format, args...) }
func command(text string) screen.Span              { return results.Command(text) }

// remarkText makes an indented remark of several lines, if it is long: spans in the style of
// commands are whole.
func (a *app) remarkText(spans ...screen.Span) { a.remarkIndented(2, spans...) }

func (a *app) remarkIndented(indent int, spans ...screen.Span) {
	to := a.stderr()
	room := math.MaxInt
	if to.IsTerminal() {
		room = min(to.Width, widestProse) - indent
	}
	for i := range spans {
		spans[i].Text = printable(to.Signs().Spell(spans[i].Text))
	}
	for _, line := range screen.WrapSpans(spans, room, to.Signs().Cut) {
		a.remark(append([]screen.Span{{Text: strings.Repeat(" ", indent)}}, line...)...)
	}
}

// hint says what to run next.
func (a *app) hint(text string) {
	if text != "" {
		a.remark(screen.Span{Text: "hint: ", Style: styleBold.And(styleCyan)}, command(printable(a.fromHere(text))))
	}
}

// fromHere is a command without the way to the directory in which the user is: what is approved is named with its project.
func (a *app) fromHere(text string) string {
	return strings.TrimPrefix(text, "cd "+shellWord(a.env.Dir)+" && ")
}

// croftHere is how a command begins that is about the project of this one.
func (a *app) croftHere() string {
	if a.repo == "" {
		return "croft "
	}
	return "croft -C " + shellWord(a.repo) + " "
}

// remarkMerge says below a result what led to it, and what can be done next.
func (a *app) remarkMerge(m croft.Merge) {
	switch {
	case m.State != croft.MergeDone:
		if m.Message != "" {
			a.remarkText(prose("%s", m.Message))
		}
		if m.Hold != nil {
			a.remarkText(prose("%s", results.HoldText(*m.Hold, a.env.Now())))
		}
		return
	case m.Reason == croft.Conflict:
		a.remarkConflicts(m.Conflicts)
	case len(results.ChangesInTheWay(m)) > 0:
		a.remarkText(prose("commit or stash it (git stash -u), then: "), command(nextOfMerge(m)))
	case m.Reason != "" && m.Reason != croft.CheckFailed:
		a.remarkText(prose("%s", printable(m.Message)))
		a.noteLines(personalDetails(m))
	}
	a.remarkRest(m)
	if m.Reason != "" && len(results.ChangesInTheWay(m)) == 0 {
		a.hint(nextOfMerge(m))
	}
}

// personalDetails are the details of a merge without the hash by which programs approve checks: the hint has the
// command for a person.
func personalDetails(m croft.Merge) string {
	if m.Reason != croft.ChecksUntrusted {
		return m.Details
	}
	text, _, _ := strings.Cut(m.Details, "\nCROFT_TRUST=")
	return text
}

// remarkConflicts names paths in conflict, a line for each that fits into one.
func (a *app) remarkConflicts(list []croft.ConflictedPath) {
	for _, c := range list {
		spans := results.ConflictSpans(c, a.env.Now(), a.stderr().Signs())
		if to := a.stderr(); to.IsTerminal() && screen.Cell(spans).Width()+2 > to.Width {
			a.remarkText(spans...)
			continue
		}
		a.remark(append([]screen.Span{{Text: "  "}}, spans...)...)
	}
}

// remarkRest says what else is worth knowing about a merge that has ended.
func (a *app) remarkRest(m croft.Merge) {
	if m.Moved != "" {
		a.remarkText(prose("%s", printable(m.Moved)))
	}
	if len(m.HeldBack) > 0 {
		a.remarkHeldBack(m.HeldBack)
	}
	if m.Kept != nil {
		a.remarkText(prose("the workspace stays: %s", printable(m.Kept.Message)))
		a.noteLines(m.Kept.Details)
		if hint := askingHint(*m.Kept); hint != "" {
			a.remarkNext(a.fromHere(hint))
		}
	}
}

// remarkHeldBack names what was not committed.
func (a *app) remarkHeldBack(paths []string) {
	if len(paths) > 0 {
		a.remarkText(prose("%s", printable(heldBackText(paths))))
	}
}

func heldBackText(paths []string) string {
	return "not committed, because they look like secrets, are large or hidden: " + wording.Paths(paths)
}

// remarkNext says what can be run next: one thing, or another.
func (a *app) remarkNext(text string) {
	a.remarkText(append([]screen.Span{{Text: "next: ", Style: styleDim}}, results.Sentence(printable(text))...)...)
}

// remarkCommand says which command can be run next, of croft or not.
func (a *app) remarkCommand(text string) {
	a.remarkText(screen.Span{Text: "next: ", Style: styleDim}, command(text))
}

// remarkStep says what a workspace needs next: a hint where it is stuck.
func (a *app) remarkStep(ws croft.Workspace) {
	switch {
	case ws.Next == nil || ws.Next.Command == "":
	case kindOf(&ws) == screen.Stuck:
		a.hint(ws.Next.Command)
	default:
		a.remarkNext(ws.Next.Command)
	}
}

// remarkMerged says below a merge that it has moved the user's checkout, where the workspace is,
// and how the merge is taken back.
func (a *app) remarkMerged(ctx context.Context, svc merger, m croft.Merge, repo *croft.Repo, after croft.AfterMerge) {
	if repo != nil && !repo.IsBare && repo.Branch == m.Target {
		a.remarkText(prose("your checkout of %s moved along; none of your changes was touched", m.Target))
	}
	if m.Message != "" {
		a.remarkText(prose("%s", printable(m.Message)))
	}
	if !a.remarkTrashed(ctx, svc, m, after) && after == croft.AfterKeep {
		a.remarkText(prose("the workspace stays"))
	}
	a.remarkTakingBack(m)
}

// remarkTakingBack says how a merge is taken back.
func (a *app) remarkTakingBack(m croft.Merge) {
	a.remarkText(prose("to take the merge back: "), command("croft revert "+shellWord(m.WorkspaceName)))
}

// remarkTrashed says where the workspace of a merge is, if it went to the trash.
func (a *app) remarkTrashed(ctx context.Context, svc finder, m croft.Merge, after croft.AfterMerge) bool {
	gone := a.trashed(ctx, svc, m, after)
	if gone != nil {
		a.remarkText(prose("the workspace is in the trash %s: ", keptText(a.env.Now(), gone.KeptUntil)), command("croft restore "+shellWord(m.WorkspaceName)))
	}
	return gone != nil
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
