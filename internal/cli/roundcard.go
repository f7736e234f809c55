package cli

import (
	"fmt"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/screen"
)

// printRound shows a round of a session on a terminal: how it stands, and the workspace of each agent. A path is whole:
// where a line has no room for it, each has a line of its own.
func (a *app) printRound(session string, round *croft.Round) {
	away := 0
	for _, ws := range round.Workspaces {
		if ws.State == croft.Trashed {
			away++
		}
	}
	all := len(round.Workspaces)
	o := outcome{Kind: screen.Going, Name: fmt.Sprintf("round %d of %s", round.Number, session), Detail: []screen.Span{prose("%s", countNoun(all, "workspace"))}}
	switch {
	case away == all && all > 0:
		o.Kind, o.Detail = screen.Done, []screen.Span{prose("%s committed and put away", countNoun(all, "workspace"))}
	case away > 0:
		o.Kind, o.Detail = screen.Look, []screen.Span{prose("%d of %s committed and put away", away, countNoun(all, "workspace"))}
	}
	a.printOutcomes(o)
	agents, branches := 0, 0
	for _, ws := range round.Workspaces {
		agents, branches = max(agents, screen.Width(ws.Agent)), max(branches, screen.Width(ws.Branch))
	}
	var leads, wheres []string
	isWide := false
	for _, ws := range round.Workspaces {
		where := a.shownPath(ws.Path)
		if ws.State == croft.Trashed {
			where = shortCommit(ws.Head)
		}
		pad := func(text string, to int) string { return text + strings.Repeat(" ", to-screen.Width(text)) }
		leads, wheres = append(leads, "  "+printable(pad(ws.Agent, agents)+columnGap+pad(ws.Branch, branches))), append(wheres, where)
		isWide = isWide || screen.Width(leads[len(leads)-1]+columnGap+where) > a.env.Width
	}
	for i, lead := range leads {
		if isWide {
			a.printLine(strings.TrimRight(lead, " "))
			a.printLine("    " + wheres[i])
			continue
		}
		a.printLine(lead + columnGap + wheres[i])
	}
}

// remarkPresenting says how the work of an agent is taken, once all are put away. It names one that has some.
func (a *app) remarkPresenting(session string, round *croft.Round) {
	if !a.isShown() || len(round.Failed) > 0 {
		return
	}
	for _, ws := range round.Workspaces {
		if ws.State == croft.Trashed && ws.Head != ws.Base {
			a.remarkNext("croft round present " + shellWord(session) + " --winner " + shellWord(ws.Agent))
			return
		}
	}
}
