package cli

import (
	"context"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/listing"
	"github.com/croft-sh/croft/internal/cli/results"
	"github.com/croft-sh/croft/internal/screen"
)

// tellEnd says on a terminal how an agent ended, what became of its work, and what can be done next.
func (a *app) tellEnd(ctx context.Context, svc runner, ws croft.Workspace, end AgentEnd) {
	m, how := end.Merge, a.endText(end.Run)
	if m != nil && m.Status == croft.MergeMerged {
		a.remark(screen.Span{Text: printable(how)})
		a.tellMerges([]croft.Merge{*m}, map[croft.ID]*croft.Work{m.Workspace: ws.Work})
		a.remarkTrashed(ctx, svc, *m, croft.AfterTrash)
		a.remarkTakingBack(*m)
		a.noteIntrusions(end.Run)
		return
	}
	word, _ := listing.Condition(&ws)
	o := outcome{Kind: kindOf(&ws), Name: ws.Name, Word: word, Detail: []screen.Span{prose("%s", how)}}
	if spans := results.WorkSpans(ws.Work, a.stdout().Signs()); len(spans) > 0 {
		o.Detail = append(append(o.Detail, prose(": ")), spans[1:]...)
	}
	a.printOutcomes(o)
	a.noteIntrusions(end.Run)
	switch {
	case m != nil && m.Reason != "":
		a.remarkMerge(*m) // with what can be done about it
		return
	case m != nil:
		a.remarkHeldBack(m.HeldBack)
	}
	switch {
	case ws.Status == croft.ConditionPending:
		a.remarkNext("croft review " + shellWord(ws.Name) + ", or croft merge " + shellWord(ws.Name))
	case ws.Next != nil:
		a.remarkNext(ws.Next.Command)
	}
	a.noteTryAgain(ws, end)
}
