package cli

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/results"
	"github.com/croft-sh/croft/internal/cli/wording"
	"github.com/croft-sh/croft/internal/screen"
)

// mergePlanner is the part of croft.Service that `croft merge --dry-run` calls.
type mergePlanner interface {
	finder
	croft.Radar
	Checks(ctx context.Context, req croft.ChecksRequest) (*croft.CheckPlan, error)
}

// mergePlansResult says what merges would meet. Nothing is committed, submitted or checked for it.
type mergePlansResult struct {
	Plans []mergePlan `json:"plans"` // in the order of the names
}

// mergePlan says what one merge would meet, with all the work that is in the workspace now.
type mergePlan struct {
	Workspace croft.Workspace `json:"workspace"`
	Target    string          `json:"target"` // a branch
	IsEmpty   bool            `json:"empty"`  // there is nothing to merge
	// Collisions are with the target, and with workspaces that are named before it. With another target than the workspace's own,
	// those with that target are not known.
	Collisions []croft.Collision `json:"collisions"`
	Checks     []string          `json:"checks"`   // that the target asks for
	IsApproved bool              `json:"approved"` // they may run
}

func (a *app) planMerges(ctx context.Context, svc mergePlanner, req croft.MergeRequest, names []string) error {
	stop := a.startProgress("looking ahead")
	plans, err := plansOf(ctx, svc, req, names)
	stop()
	if err != nil {
		return err
	}
	if a.json {
		a.emit(mergePlansResult{plans})
		return nil
	}
	var list []outcome
	for _, p := range plans {
		list = append(list, p.outcome(a.stdout().Signs()))
	}
	if a.isShown() {
		a.printOutcomes(list...)
	} else {
		var rows [][]cell
		for _, o := range list {
			var text strings.Builder
			for _, span := range o.Detail {
				text.WriteString(span.Text)
			}
			rows = append(rows, plainRow(o.Name, o.Word, text.String()))
		}
		a.printSentences(rows)
	}
	told := map[string]bool{}
	for _, p := range plans {
		if told[p.Target] || p.IsEmpty || len(p.Checks) == 0 {
			continue
		}
		told[p.Target] = true
		if a.note("%s is checked first: %s", p.Target, printable(strings.Join(p.Checks, "; "))); !p.IsApproved {
			a.note("%s of %s would wait for your approval: croft config trust", countOf(len(p.Checks), "check", "checks"), p.Target)
		}
	}
	return nil
}

// plansOf looks at what each merge would meet.
func plansOf(ctx context.Context, svc mergePlanner, req croft.MergeRequest, names []string) ([]mergePlan, error) {
	plans := []mergePlan{}
	for _, name := range names {
		ws, err := svc.Workspace(ctx, croft.WorkspaceRequest{Repo: req.Repo, Ref: name, Look: croft.NoLimit})
		if err != nil {
			return nil, err
		}
		plans = append(plans, mergePlan{Workspace: *ws, Target: cmp.Or(req.Target, ws.Target), IsEmpty: !hasWork(ws), Collisions: []croft.Collision{}, Checks: []string{}})
	}
	forecast, err := svc.Conflicts(ctx, croft.ConflictsRequest{Repo: req.Repo})
	if err != nil {
		return nil, err
	}
	for i := range plans {
		p := &plans[i]
		for _, c := range forecast.Pairs {
			isBefore := func(id croft.ID) bool {
				return slices.ContainsFunc(plans[:i], func(other mergePlan) bool { return other.Workspace.ID == id })
			}
			switch id := p.Workspace.ID; {
			case c.AID == id && c.IsTarget && p.Target == p.Workspace.Target, c.AID == id && !c.IsTarget && isBefore(c.BID), c.BID == id && isBefore(c.AID):
				p.Collisions = append(p.Collisions, c)
			}
		}
		checks, err := svc.Checks(ctx, croft.ChecksRequest{Repo: req.Repo, Target: p.Target})
		if err != nil {
			return nil, err
		}
		p.Checks, p.IsApproved = append(p.Checks, checks.Checks...), checks.IsApproved
	}
	return plans, nil
}

// outcome says what would become of the work.
func (p mergePlan) outcome(signs screen.Signs) outcome {
	o := outcome{Kind: screen.Ready, Name: p.Workspace.Name, Word: "would merge into " + p.Target}
	switch {
	case p.IsEmpty:
		o.Kind, o.Word, o.Detail = screen.Nothing, "empty", []screen.Span{prose("nothing to merge")}
	case len(p.Collisions) > 0:
		var with []string
		for _, c := range p.Collisions {
			other := c.B
			if c.BID == p.Workspace.ID {
				other = c.A
			}
			with = append(with, "with "+other+" in "+cmp.Or(wording.Paths(c.Paths), string(c.Reason)))
		}
		o.Kind, o.Word, o.Detail = screen.Stuck, "would conflict", []screen.Span{prose("%s", strings.Join(with, "; "))}
	default:
		if spans := results.WorkSpans(p.Workspace.Work, signs); len(spans) > 0 {
			o.Detail = spans[1:] // without the gap
		}
	}
	return o
}
