package listing

import (
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/results"
	"github.com/croft-sh/croft/internal/cli/wording"
	"github.com/croft-sh/croft/internal/screen"
)

// ActText is an act as a sentence without its actor. What an undo took back is looked up among the known acts.
func ActText(op croft.Operation, known []croft.Operation) string {
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
		if at := slices.IndexFunc(known, func(o croft.Operation) bool { return o.ID == op.Undoes }); at >= 0 {
			rest := slices.Delete(slices.Clone(known), at, at+1)
			if undo := known[at]; undo.Kind == op.Kind && undo.Undoes != "" {
				return "did again: " + AgainText(undo, rest)
			}
			return verb + ": " + ActText(known[at], rest)
		}
		return strings.TrimSpace(verb + " an act on " + wording.FewNames(names))
	case len(names) == 0:
		return verb
	}
	return verb + " " + wording.FewNames(names)
}

// AgainText is what is done again by taking back an undo.
func AgainText(undo croft.Operation, known []croft.Operation) string {
	at := slices.IndexFunc(known, func(o croft.Operation) bool { return o.ID == undo.Undoes })
	if at < 0 {
		return strings.TrimSpace("an act on " + wording.FewNames(strings.Fields(undo.WorkspaceName)))
	}
	return ActText(known[at], slices.Delete(slices.Clone(known), at, at+1))
}

// History are acts as sentences, below a heading.
func History(list []croft.Operation, to screen.Stream, now time.Time) []string {
	var ids []croft.ID
	for _, op := range list {
		ids = append(ids, op.ID)
	}
	short := wording.ShortIDs(ids)
	const colWhen, colWho, colWhat = "WHEN", "WHO", "WHAT"
	t := &screen.Table{Columns: []screen.Column{
		{Key: colMark, IsClose: true}, {Key: "ID", Heading: "ID"}, {Key: colWhen, Heading: colWhen, IsRight: true}, {Key: colWho, Heading: colWho}, {Key: colWhat, Heading: colWhat},
	}}
	for _, op := range list {
		kind, style := screen.Done, screen.Plain
		if !op.IsUndoable {
			kind, style = screen.Nothing, screen.Dim
		}
		text := ActText(op, list)
		if op.State == "undone" {
			text += ", taken back"
		}
		t.Rows = append(t.Rows, []screen.Cell{
			append(screen.Cell{{Text: "  "}}, results.MarkSpan(to, kind)),
			{{Text: short[op.ID], Style: style.And(screen.Bold)}},
			screen.Text(wording.Age(now, op.StartedAt), screen.Dim), screen.Text(screen.Printable(op.Actor), style), screen.Text(screen.Printable(text), style),
		})
	}
	sign := to.Signs().Cut
	end := func(text string, room int) string { return screen.CutEnd(text, room, sign) }
	t.Fit(to.Width, screen.Shrink(colWhat, 24, end), screen.Shrink(colWho, 8, end), screen.Drop(colWho), screen.Shrink(colWhat, 8, end))
	return append([]string{t.Heading(to)}, t.Body(to)...)
}
