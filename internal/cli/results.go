package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/screen"
)

// isShown reports whether results are printed for a person at a terminal.
func (a *app) isShown() bool { return a.env.Width > 0 && !a.json }

// restorable says how long a workspace can be had back, and by which command.
func restorable(name, kept string) []screen.Span {
	text := "in the trash: "
	if kept != "" {
		text = "in the trash for " + kept + ": "
	}
	return []screen.Span{{Text: text}, command("croft restore " + shellWord(name))}
}

// trashTime is how long the trash keeps something in the project.
func (a *app) trashTime(ctx context.Context, svc repoFinder) string {
	repo, err := svc.Repo(ctx, croft.RepoRequest{Repo: a.dir()})
	if err != nil {
		return ""
	}
	return a.retentionText(repo.Path)
}

// printRemoved says on a terminal where removed workspaces are.
func (a *app) printRemoved(ctx context.Context, svc repoFinder, removed []croft.Removed) {
	var list []outcome
	kept := a.trashTime(ctx, svc)
	for _, r := range removed {
		o := outcome{kind: screen.Done, name: r.Name, word: "removed", detail: []screen.Span{{Text: "nothing was left to keep"}}}
		if r.Trash != "" {
			o.detail = restorable(r.Name, kept)
		}
		list = append(list, o)
	}
	if len(list) > 0 {
		a.printOutcomes(list...)
	}
}

// printDiscarded says on a terminal where discarded workspaces are, and why others stay.
func (a *app) printDiscarded(ctx context.Context, svc repoFinder, merges []croft.Merge) {
	var list []outcome
	kept := a.trashTime(ctx, svc)
	for _, m := range merges {
		o := outcome{kind: screen.Done, name: m.WorkspaceName, word: mergeWord(m), detail: restorable(m.WorkspaceName, kept)}
		if m.Reason != "" {
			o = outcome{kind: screen.Stuck, name: m.WorkspaceName, word: "not discarded"}
		}
		list = append(list, o)
	}
	a.printOutcomes(list...)
	for _, m := range merges {
		if m.Reason != "" {
			a.explainMerge(m)
		}
	}
}

// actText is an act as a sentence without its actor.
func actText(op croft.Operation) string {
	past := map[string]string{
		"create": "made", "remove": "removed", "restore": "restored", "discard": "discarded", "merge": "merged", "revert": "reverted", "apply": "applied work of",
		"lock": "locked", "unlock": "unlocked", "clean": "cleaned away", "reap": "reaped", "adopt": "adopted", "finish": "finished", "resolve": "brought the target into",
		"save": "saved", "snapshot": "saved", "rewind": "put back", "undo": "took back", "trust": "approved checks",
	}
	verb, ok := past[op.Kind]
	if !ok {
		verb = op.Kind
	}
	names := strings.Fields(op.WorkspaceName)
	switch {
	case op.Kind == "undo" && op.Undoes != "":
		return strings.TrimSpace(verb + " " + string(op.Undoes) + " of " + fewNames(names))
	case len(names) == 0:
		return verb
	}
	return verb + " " + fewNames(names)
}

// shortIDs are the shortest beginnings that tell the IDs of a list apart, of at least four characters.
func shortIDs(ids []croft.ID) map[croft.ID]string {
	const least = 4
	short := map[croft.ID]string{}
	for _, id := range ids {
		n := least
		for n < len(id) && slices.ContainsFunc(ids, func(o croft.ID) bool { return o != id && strings.HasPrefix(string(o), string(id[:n])) }) {
			n++
		}
		short[id] = string(id[:min(n, len(id))])
	}
	return short
}

// printHistory shows on a terminal what was done, as sentences.
func (a *app) printHistory(list []croft.Operation) {
	to := a.stdout()
	var ids []croft.ID
	for _, op := range list {
		ids = append(ids, op.ID)
	}
	short := shortIDs(ids)
	const colWhen, colWho, colWhat = "WHEN", "WHO", "WHAT"
	t := &screen.Table{Columns: []screen.Column{
		{Key: colMark, IsClose: true}, {Key: "ID", Heading: "ID"}, {Key: colWhen, Heading: colWhen, IsRight: true}, {Key: colWho, Heading: colWho}, {Key: colWhat, Heading: colWhat},
	}}
	for _, op := range list {
		kind, style := screen.Done, screen.Plain
		if !op.IsUndoable {
			kind, style = screen.Nothing, screen.Dim
		}
		text := actText(op)
		if op.State == "undone" {
			text += ", taken back"
		}
		t.Rows = append(t.Rows, []screen.Cell{
			append(screen.Cell{{Text: "  "}}, markSpan(to, kind)),
			{{Text: short[op.ID], Style: style.And(screen.Bold)}},
			screen.Text(ageText(a.env.Now(), op.StartedAt), screen.Dim), screen.Text(printable(op.Actor), style), screen.Text(printable(text), style),
		})
	}
	sign := to.Signs().Cut
	end := func(text string, room int) string { return screen.CutEnd(text, room, sign) }
	t.Fit(to.Width, screen.Shrink(colWhat, 24, end), screen.Shrink(colWho, 8, end), screen.Drop(colWho), screen.Shrink(colWhat, 8, end))
	for _, line := range append([]string{t.Heading(to)}, t.Body(to)...) {
		a.printLine(line)
	}
	if slices.ContainsFunc(list, func(op croft.Operation) bool { return op.IsUndoable }) {
		err := a.stderr()
		a.remark(
			screen.Span{Text: "    "}, command("croft undo"), screen.Span{Text: " takes back the last, ", Style: styleDim}, command("croft undo ID"),
			screen.Span{Text: " any with ", Style: styleDim}, markSpan(err, screen.Done))
	}
}

// printTrash shows on a terminal what can be restored.
func (a *app) printTrash(result trashResult) {
	to, now := a.stdout(), a.env.Now()
	count := map[string]int{}
	for _, item := range result.Trash {
		count[item.Name]++
	}
	const colSize, colRemoved, colKept, colLeft = "SIZE", "REMOVED", "KEPT", "LEFT"
	t := &screen.Table{Columns: []screen.Column{
		{Key: colMark, IsClose: true},
		{Key: colName, Heading: colName},
		{Key: "ID", Heading: "ID"},
		{Key: colRemoved, Heading: colRemoved, IsRight: true},
		{Key: colWhy, Heading: colWhy},
		{Key: colLeft, Heading: colLeft},
		{Key: colSize, Heading: colSize, IsRight: true},
		{Key: colKept, Heading: colKept},
	}}
	for _, item := range result.Trash {
		id := "" // a name that is there twice needs it
		if count[item.Name] > 1 {
			id = string(item.ID)
		}
		size := ""
		if item.Left == croft.LeftDirectory || item.Left == "" {
			size = sizeText(item.Bytes)
		}
		t.Rows = append(t.Rows, []screen.Cell{
			screen.Text(" ", screen.Plain), screen.Text(printable(item.Name), screen.Bold), screen.Text(id, screen.Plain), screen.Text(ageText(now, item.RemovedAt)+" ago", screen.Dim),
			screen.Text(string(item.As), screen.Plain), screen.Text(string(item.Left), screen.Dim), screen.Text(size, screen.Plain), screen.Text(keptForText(now, item), screen.Dim),
		})
	}
	sign := to.Signs().Cut
	if !slices.ContainsFunc(result.Trash, func(i croft.TrashItem) bool { return count[i.Name] > 1 }) {
		screen.Drop("ID")(t, 0)
	}
	t.Fit(to.Width, screen.Drop(colLeft), screen.Drop(colSize), screen.Shrink(colName, leastName, func(text string, room int) string { return screen.CutMiddle(text, room, sign) }), screen.Drop(colWhy))
	for _, line := range append([]string{t.Heading(to)}, t.Body(to)...) {
		a.printLine(line)
	}
	total := sizeText(result.Bytes)
	if result.MaxBytes != nil {
		total += " of " + sizeText(*result.MaxBytes)
	}
	a.remark(screen.Span{Text: "    " + total + "; ", Style: styleDim}, command("croft restore NAME"), screen.Span{Text: " brings one back", Style: styleDim})
}

// printUndone says on a terminal how an undo is taken back.
func (a *app) printUndone(done *croft.Operation) {
	o := outcome{kind: screen.Done, name: "undone", word: "nothing had to be changed", isPlain: true}
	if done.IsUndoable {
		o.word, o.detail = "", []screen.Span{{Text: "to take that back: "}, command(fmt.Sprintf("croft undo %s", done.ID))}
	}
	a.printOutcomes(o)
}
