package cli

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/listing"
	"github.com/croft-sh/croft/internal/cli/results"
	"github.com/croft-sh/croft/internal/screen"
)

// card is what a terminal shows of a workspace.
type card struct {
	ws     croft.Workspace
	status *croft.Status // nil: there are no files to look at
	since  time.Time     // when it became what it is; zero: that is not known, or its reason says it
	id     string        // the shortest beginning of its ID that is unique
}

// conditionSince is when a workspace became what it is: when its merge ended, or the last work in it was seen.
func conditionSince(ws croft.Workspace, merges []croft.Merge) time.Time {
	switch ws.Status {
	case croft.ConditionConflict, croft.ConditionCheckFailed, croft.ConditionTargetFails, croft.ConditionUnapproved, croft.ConditionBlocked, croft.ConditionStuck,
		croft.ConditionMerged, croft.ConditionReverted:
		for _, m := range merges { // the newest first
			if m.Workspace == ws.ID && m.State == croft.MergeDone && m.Kind != croft.KindApply {
				return m.EndedAt
			}
		}
		return time.Time{}
	case croft.ConditionOrphan, croft.ConditionResolving, croft.ConditionFailed, croft.ConditionKilled, croft.ConditionDirty, croft.ConditionCollides,
		croft.ConditionToReview, croft.ConditionPending, croft.ConditionAhead, croft.ConditionEmpty:
		if ws.Work.Has(croft.AspectFiles) {
			return ws.Work.IdleSince
		}
	}
	return time.Time{}
}

// shortID is the shortest beginning of a workspace's ID that commands accept. If the others cannot be listed, it is the
// whole ID.
func shortID(ctx context.Context, svc lister, ws croft.Workspace) string {
	req := croft.WorkspacesRequest{Repo: ws.Repo}
	if ws.State == croft.Trashed {
		req.States = []croft.State{croft.Trashed}
	}
	list, err := svc.Workspaces(ctx, req)
	if err != nil || list.Next != "" {
		return string(ws.ID)
	}
	ids := []croft.ID{ws.ID}
	for _, other := range list.Items {
		ids = append(ids, other.ID)
	}
	return shortIDs(ids)[ws.ID]
}

// printCard shows a workspace on a terminal: its row of the list, why it is so, the facts, and what to
// do.
func (a *app) printCard(c card, details [][]cell) {
	ws := c.ws
	to := a.stdout()
	signs := to.Signs()
	state, _ := conditionCells(&ws)
	kind := kindOf(&ws)
	head := outcome{Kind: kind, Name: ws.Name, Word: state.text}
	isGone := ws.State == croft.Trashed
	switch {
	case isGone && ws.MergeStatus == croft.MergeMerged:
		head.Word = "merged → " + ws.Target
		head.Detail = []screen.Span{{Text: strings.TrimSpace(shortCommit(ws.MergeCommit) + columnGap + agoText(a, ws))}}
	case isGone:
		head.Kind, head.Detail = screen.Done, []screen.Span{{Text: agoText(a, ws), Style: styleDim}}
	case !c.since.IsZero() && !ws.IsUnseen():
		head.Detail = []screen.Span{{Text: whenText(a.env.Now(), c.since), Style: styleDim}}
	}
	a.printOutcomes(head)
	if isGone {
		a.printGone(ws)
	} else if why := listing.TimedWhy(&ws, ws.Why, a.env.Now()); why != "" && !ws.IsUnseen() {
		a.printProse(2, prose("%s", printable(why)))
		if isHeldBack(ws) {
			a.printProse(2, prose("a merge does not take along what looks like a secret, is large, hidden or a repository"))
		}
	}
	rows := a.cardRows(c, details, signs)
	wide := 0
	for _, r := range rows {
		wide = max(wide, screen.Width(r.key))
	}
	for i, r := range rows {
		key := r.key
		if i > 0 && key == rows[i-1].key {
			key = ""
		}
		a.printWrapped(screen.Text("  "+key+strings.Repeat(" ", wide-screen.Width(key)), styleDim), 2+wide+len(columnGap), r.value)
	}
	if leadsOn(ws) && !isGone {
		next := []screen.Span{{Text: "next: ", Style: styleDim}, command(printable(ws.Next.Command))}
		if isHeldBack(ws) && ws.Next.Action == croft.ActionWork {
			next = append(next, prose(", to commit or to ignore them"))
		}
		a.printLine(to.Line(next...))
	}
}

// isHeldBack reports whether all that is not committed of a workspace is what Croft does not commit: other changes are
// to be read or resolved.
func isHeldBack(ws croft.Workspace) bool {
	return ws.Status == croft.ConditionDirty && ws.Work.Has(croft.AspectFiles) && ws.Work.HeldBack == ws.Work.Uncommitted
}

func agoText(a *app, ws croft.Workspace) string {
	if ws.RemovedAt.IsZero() {
		return ""
	}
	return whenText(a.env.Now(), ws.RemovedAt)
}

// printGone says what brings a removed workspace back, and its merge out again.
func (a *app) printGone(ws croft.Workspace) {
	restore := "croft restore " + shellWord(ws.Name)
	if ws.Next != nil && ws.Next.Action == croft.ActionRestore {
		restore = ws.Next.Command
	}
	if ws.KeptUntil.IsZero() {
		a.printProse(2, prose("its workspace cannot be restored any more"))
	} else {
		a.printProse(2, prose("its workspace is in the trash %s: ", keptText(a.env.Now(), ws.KeptUntil)), command(restore))
	}
	if ws.MergeStatus == croft.MergeMerged && ws.MergeCommit != "" {
		a.printProse(2, prose("to take the merge back: "), command("croft revert "+shellWord(ws.Name)))
	}
}

// fact is a line of a card.
type fact struct {
	key   string
	value []screen.Span
}

// cardRows are the facts about a workspace that a person wants to know. Those of detailRows that say
// the same are left out.
func (a *app) cardRows(c card, details [][]cell, signs screen.Signs) []fact {
	var facts []fact
	ws, status := c.ws, c.status
	if work := cardWork(ws, status, signs); len(work) > 0 {
		facts = append(facts, fact{"work", work})
	}
	said := []string{"name", "id", "state", "why", "head", "base", "changes", "commits", "created", "removed", "next", "merge", "layout", "branch", "files", "agent", "agent is"}
	for _, row := range details {
		key := row[0].text
		if slices.Contains(said, key) || key == "path" && ws.State == croft.Trashed || key == "locked" && ws.Status == croft.ConditionLocked && ws.Why != "" {
			continue
		}
		facts = append(facts, fact{key, []screen.Span{{Text: row[1].line()}}})
		if key == "path" && ws.Branch != "" {
			from := printable(strings.TrimSpace(ws.Branch + " " + originText(ws)))
			facts = append(facts, fact{"branch", []screen.Span{{Text: signs.Spell(from)}}})
		}
	}
	if text := a.agentText(ws); text != "" {
		facts = append(facts, fact{"agent", []screen.Span{{Text: text}}})
	}
	if text := results.MergeOutcomeText(ws); ws.MergeCommit != "" && ws.State != croft.Trashed {
		facts = append(facts, fact{"merge", []screen.Span{{Text: printable(text)}}})
	}
	if !ws.CreatedAt.IsZero() {
		made := whenText(a.env.Now(), ws.CreatedAt)
		if ws.Actor != "" {
			made += " by " + printable(ws.Actor)
		}
		spans := []screen.Span{{Text: made}}
		if c.id != "" {
			spans = append(spans, screen.Span{Text: ", as "}, screen.Span{Text: c.id, Style: screen.Bold})
		}
		facts = append(facts, fact{"made", spans})
	}
	return facts
}

// agentText says which agent a workspace has or had, what that does or how it ended, and who is inside. It is empty for one
// of which no agent is known.
func (a *app) agentText(ws croft.Workspace) string {
	name, did := ws.Agent, a.activityText(ws.Activity)
	if r := ws.Run; r != nil && len(r.Command) > 0 && name == "" {
		name = path.Base(r.Command[0])
	}
	isEnded := ws.Activity == nil || ws.Activity.State == croft.AgentEnded
	if f := ws.Finished; f != nil && isEnded {
		did = "ended " + whenText(a.env.Now(), f.At) + ": " + string(f.Outcome)
	}
	if name == "" && did == "" {
		return ""
	}
	text := printable(name)
	if did != "" && text != "" {
		text += ", "
	}
	text += did
	if ws.Work.Has(croft.AspectProcesses) && len(ws.Work.Inside) == 0 && did != "" && isEnded {
		text += "; nobody is inside"
	}
	return text
}

// cardWork says what is in a workspace that its target lacks.
func cardWork(ws croft.Workspace, status *croft.Status, signs screen.Signs) []screen.Span {
	if status == nil {
		return nil
	}
	var spans []screen.Span
	if w := ws.Work; w.Has(croft.AspectFiles) && w.Changed > 0 {
		if spans = results.WorkSpans(w, signs); len(spans) > 0 {
			spans = append(spans[1:], prose(", "))
		}
	}
	switch {
	case status.Dirty():
		spans = append(spans, prose("%s", changesText(*status)))
	case len(spans) > 0:
		spans = append(spans, prose("all committed"))
	default:
		spans = append(spans, prose("none"))
	}
	if ws.Target == "" || status.Ahead+status.Behind == 0 {
		return spans
	}
	text := fmt.Sprintf("; %s ahead of %s", countNoun(status.Ahead, "commit"), ws.Target)
	if status.Behind > 0 {
		text += fmt.Sprintf(", %d behind", status.Behind)
	}
	return append(spans, prose("%s", text))
}

// printProse prints an indented sentence, on several lines if it is long.
func (a *app) printProse(indent int, spans ...screen.Span) {
	a.printWrapped(nil, indent, spans)
}

// printWrapped prints a text behind a lead, on as many lines as it needs.
func (a *app) printWrapped(lead screen.Cell, indent int, spans []screen.Span) {
	to := a.stdout()
	for _, line := range screen.WrapSpans(spans, min(to.Width, widestProse)-indent, to.Signs().Cut) {
		pad := strings.Repeat(" ", max(indent-lead.Width(), 0))
		a.printLine(to.Line(append(append(slices.Clone(lead), screen.Span{Text: pad}), line...)...))
		lead = nil
	}
}
