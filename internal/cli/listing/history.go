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
	return verb + " " + wording.FewNames(names) + whereText(op)
}

// whereText says in which branch a merge or a revert was done, and as what commit.
func whereText(op croft.Operation) string {
	if op.Target == "" {
		return ""
	}
	into := " into "
	switch op.Kind {
	case "revert":
		into = " in "
	case "apply":
		into = " to "
	}
	if op.Commit == "" {
		return into + op.Target
	}
	return into + op.Target + " as " + wording.ShortCommit(op.Commit)
}

// isTakenBack reports whether nothing of an act is in force any more.
func isTakenBack(op croft.Operation) bool { return op.State == "undone" || op.IsReverted }

// AgainText is what is done again by taking back an undo.
func AgainText(undo croft.Operation, known []croft.Operation) string {
	at := slices.IndexFunc(known, func(o croft.Operation) bool { return o.ID == undo.Undoes })
	if at < 0 {
		return strings.TrimSpace("an act on " + wording.FewNames(strings.Fields(undo.WorkspaceName)))
	}
	return ActText(known[at], slices.Delete(slices.Clone(known), at, at+1))
}

// History are acts as sentences, below a heading. more are acts that the undos among them took back.
func History(list, more []croft.Operation, to screen.Stream, now time.Time) []string {
	var ids []croft.ID
	for _, op := range list {
		ids = append(ids, op.ID)
	}
	short := wording.ShortIDs(ids)
	const colWhen, colWho, colWhat = "WHEN", "WHO", "WHAT"
	t := &screen.Table{Columns: []screen.Column{
		{Key: colMark, IsClose: true}, {Key: "ID", Heading: "ID"}, {Key: colWhen, Heading: colWhen, IsRight: true}, {Key: colWho, Heading: colWho}, {Key: colWhat, Heading: colWhat},
	}}
	known := slices.Concat(list, more)
	for _, op := range list {
		kind, style := screen.Done, screen.Plain
		if !op.IsUndoable {
			kind, style = screen.Nothing, screen.Dim
		}
		text := ActText(op, known)
		if isTakenBack(op) {
			text += ", taken back"
		}
		t.Rows = append(t.Rows, []screen.Cell{
			append(screen.Cell{{Text: "  "}}, results.MarkSpan(to, kind)),
			{{Text: short[op.ID], Style: style.And(screen.Bold)}},
			screen.Text(wording.Since(now, op.StartedAt), screen.Dim), screen.Text(screen.Printable(op.Actor), style), screen.Text(screen.Printable(text), style),
		})
	}
	sign := to.Signs().Cut
	end := func(text string, room int) string { return screen.CutEnd(text, room, sign) }
	word := func(text string, room int) string { // no hash is cut
		cut := end(text, room)
		if at := strings.LastIndexByte(cut, ' '); cut != text && at > room/2 {
			return cut[:at+1] + sign
		}
		return cut
	}
	t.Fit(to.Width, screen.Shrink(colWhat, 24, word), screen.Shrink(colWho, 8, end), screen.Drop(colWho), screen.Shrink(colWhat, 8, end))
	return append([]string{t.Heading(to)}, t.Body(to)...)
}
