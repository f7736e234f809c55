package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/listing"
	"github.com/croft-sh/croft/internal/cli/results"
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

// printCleaned says on a terminal how many workspaces were removed that nobody named, and how they come back.
func (a *app) printCleaned(ctx context.Context, svc repoFinder, r croft.CleanResult) {
	if len(r.Removed) == 1 {
		a.printRemoved(ctx, svc, r.Removed)
	} else if n := len(r.Removed); n > 0 {
		where := "in the trash: "
		if kept := a.trashTime(ctx, svc); kept != "" {
			where = "in the trash for " + kept + ": "
		}
		back := " brings all back"
		if n == 2 {
			back = " brings both back"
		}
		a.printOutcomes(outcome{
			Kind: screen.Done, Name: countNoun(n, "workspace") + " removed", Detail: []screen.Span{prose("%s", where), command("croft undo"), prose("%s", back)},
		})
	}
	if n := len(r.Branches); n > 0 {
		a.printOutcomes(outcome{Kind: screen.Done, Name: countOf(n, "branch", "branches") + " deleted", Detail: []screen.Span{prose("%s; the tips are kept", fewNames(r.Branches))}})
	}
}

// printRemoved says on a terminal where removed workspaces are.
func (a *app) printRemoved(ctx context.Context, svc repoFinder, removed []croft.Removed) {
	var list []outcome
	var gone []string
	kept := a.trashTime(ctx, svc)
	areSeveral := countIf(removed, func(r croft.Removed) bool { return r.Trash != "" }) > 1
	for _, r := range removed {
		o := outcome{Kind: screen.Done, Name: r.Name, Word: "removed", Detail: []screen.Span{{Text: "nothing was left to keep"}}}
		switch {
		case r.Trash == "":
		case areSeveral:
			o.Detail, gone = nil, append(gone, shellWord(r.Name))
		default:
			o.Detail = restorable(r.Name, kept)
		}
		list = append(list, o)
	}
	if len(list) > 0 {
		a.printOutcomes(list...)
	}
	a.remarkInTrash(gone, kept)
}

// printDiscarded says on a terminal where discarded workspaces are, and why others stay.
func (a *app) printDiscarded(ctx context.Context, svc repoFinder, merges []croft.Merge, works map[croft.ID]*croft.Work) {
	var list []outcome
	var gone []string
	kept := a.trashTime(ctx, svc)
	areSeveral := countIf(merges, func(m croft.Merge) bool { return m.Reason == "" }) > 1
	for _, m := range merges {
		o := outcome{Kind: screen.Done, Name: m.WorkspaceName, Word: mergeWord(m), Detail: results.LinesOf(works[m.Workspace], a.stdout().Signs())}
		switch {
		case m.Reason != "":
			o = outcome{Kind: screen.Stuck, Name: m.WorkspaceName, Word: "not discarded"}
		case areSeveral:
			gone = append(gone, shellWord(m.WorkspaceName))
		default:
			if len(o.Detail) > 0 {
				o.Detail = append(o.Detail, screen.Span{Text: " "})
			}
			o.Detail = append(o.Detail, restorable(m.WorkspaceName, kept)...)
		}
		list = append(list, o)
	}
	a.printOutcomes(list...)
	a.remarkInTrash(gone, kept)
	for _, m := range merges {
		if m.Reason != "" {
			a.explainMerge(m)
		}
	}
}

func countIf[T any](list []T, is func(T) bool) (n int) {
	for _, one := range list {
		if is(one) {
			n++
		}
	}
	return n
}

// remarkInTrash says below the lines of several workspaces how those come back that are in the trash.
func (a *app) remarkInTrash(gone []string, kept string) {
	if len(gone) == 0 {
		return
	}
	where := countNoun(len(gone), "workspace") + " in the trash"
	if kept != "" {
		where += " for " + kept
	}
	a.remarkText(prose("%s: ", where), command("croft restore "+strings.Join(gone, " ")))
}

// printHistory shows on a terminal what was done, as sentences.
func (a *app) printHistory(list, more []croft.Operation) {
	a.printLines(listing.History(list, more, a.stdout(), a.env.Now()))
	if slices.ContainsFunc(list, func(op croft.Operation) bool { return op.IsUndoable }) {
		err := a.stderr()
		a.remarkIndented(4,
			command("croft undo"), screen.Span{Text: " takes back the last, ", Style: styleDim}, command("croft undo ID"),
			screen.Span{Text: " any with ", Style: styleDim}, results.MarkSpan(err, screen.Done))
	}
}

// printTrash shows on a terminal what can be restored.
func (a *app) printTrash(result trashResult, show listing.ShownIDs) {
	heading, lines := listing.Trash(result.Trash, show, a.stdout(), a.env.Now())
	a.printLines(append([]string{heading}, lines...))
	total := sizeText(result.Bytes)
	if result.MaxBytes != nil {
		total += " of " + sizeText(*result.MaxBytes)
	}
	a.remarkIndented(4, screen.Span{Text: total + "; ", Style: styleDim}, command("croft restore NAME"), screen.Span{Text: " brings one back", Style: styleDim})
}

// printUndone says on a terminal how an undo is taken back; word is what was done.
func (a *app) printUndone(done *croft.Operation, short croft.ID, word string) {
	o := outcome{Kind: screen.Done, Name: word, Word: "nothing had to be changed", IsPlain: true}
	if done.IsUndoable {
		o.Word, o.Detail = "", []screen.Span{{Text: "to take that back: "}, command("croft undo " + string(short))}
	}
	a.printOutcomes(o)
}

// shortOperation is the shortest beginning of an act's ID that no other act of the history has.
func (a *app) shortOperation(ctx context.Context, svc croft.History, id croft.ID) croft.ID {
	acts, err := svc.History(ctx, croft.HistoryRequest{Repo: a.dir(), Page: croft.Page{Limit: 1000}})
	if err != nil || acts.Next != "" {
		return id
	}
	ids := []croft.ID{id}
	for _, act := range acts.Items {
		if act.ID != id {
			ids = append(ids, act.ID)
		}
	}
	return croft.ID(shortIDs(ids)[id])
}
