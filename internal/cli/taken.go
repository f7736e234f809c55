package cli

import (
	"context"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/results"
)

// taken is a workspace that an act takes, and what of it.
type taken struct {
	croft.Removed
	what string
}

// takePlan lists the workspaces and branches that an act takes, and those that it
// leaves.
type takePlan struct {
	list     []taken
	withWork []croft.ID // of those
	stamps   map[croft.ID]string
	branches []string // that have no workspace any more
	kept     []croft.Kept
	unknown  []string
}

// addToPlan looks at a workspace that an act is going to take. If its status
// cannot be read, it counts as one with uncommitted work.
func (a *app) addToPlan(ctx context.Context, svc inspector, p *takePlan, r croft.Removed) {
	t := taken{r, "to the trash"}
	status, err := svc.Status(ctx, croft.StatusRequest{Workspace: r.ID})
	if err == nil && status.Stamp != "" {
		if p.stamps == nil {
			p.stamps = map[croft.ID]string{}
		}
		p.stamps[r.ID] = status.Stamp
	}
	switch {
	case err != nil:
		p.withWork = append(p.withWork, r.ID)
	case isClean(*status):
		t.what = a.finishedText(ctx, svc, r.ID, t.what)
	default:
		ws, err := svc.Workspace(ctx, croft.WorkspaceRequest{Repo: a.dir(), Ref: string(r.ID)})
		if err != nil {
			break // it has just gone
		}
		t.what = a.lossText(*ws, *status)
		if status.Dirty() {
			p.withWork = append(p.withWork, r.ID)
		}
	}
	p.list = append(p.list, t)
}

// addWorkToPlan is addToPlan for a workspace that an act takes only if the user agrees to that. Its status does not
// tell of commits in submodules.
func (a *app) addWorkToPlan(ctx context.Context, svc inspector, p *takePlan, k croft.Kept) {
	before := len(p.withWork)
	a.addToPlan(ctx, svc, p, croft.Removed{ID: k.ID, Name: k.Name})
	if len(p.withWork) == before {
		p.withWork = append(p.withWork, k.ID)
		p.list[len(p.list)-1].what = a.stderr().Signs().Spell(k.Reason.Message + " → trash")
	}
}

// finishedText says why a workspace without commits and files of its own goes, or otherwise.
func (a *app) finishedText(ctx context.Context, svc inspector, id croft.ID, otherwise string) string {
	req := croft.WorkspaceRequest{Repo: a.dir(), Ref: string(id)}
	ws, err := svc.Workspace(ctx, req)
	if err == nil && ws.Status == croft.ConditionReverted { // unless the target has it again, which takes a look
		req.Look = croft.NoLimit
		ws, err = svc.Workspace(ctx, req)
	}
	switch {
	case err != nil:
		return otherwise // it has just gone
	case ws.Status == croft.ConditionReverted:
		return a.toTrash(*ws, "work that was reverted, not in "+ws.Target)
	case ws.MergeStatus == croft.MergeMerged && ws.MergeCommit != "":
		return "merged as " + shortCommit(ws.MergeCommit) + ", clean"
	case ws.Target != "":
		return "nothing that " + ws.Target + " lacks, clean"
	}
	return otherwise
}

// agreed is what a yes to the plan agrees to.
func (p takePlan) agreed() *croft.Agreed {
	agreed := &croft.Agreed{WithWork: p.withWork, Branches: p.branches, Stamps: p.stamps}
	for _, t := range p.list {
		agreed.Workspaces = append(agreed.Workspaces, t.ID)
	}
	return agreed
}

func (p takePlan) rows() [][]cell {
	var rows [][]cell
	for _, t := range p.list {
		rows = append(rows, plainRow(t.Name, t.what))
	}
	return append(rows, branchRows(p.branches, "branch to be deleted, tip kept")...)
}

// hasAgreedToTrash shows the workspaces that go to the trash and those that stay, and
// reports whether the user agrees.
func (a *app) hasAgreedToTrash(ctx context.Context, how consent, p takePlan, nothing string) (bool, error) {
	if how == consentDryRun {
		a.showPlan(p, nothing)
		return false, nil
	}
	a.noteKept(p.kept)
	if len(p.list) == 0 {
		a.note("%s", nothing)
		return false, nil
	}
	a.noteRows(p.rows())
	question := "Move " + p.list[0].Name + " to the trash?"
	if len(p.list) > 1 {
		question = "Move " + countNoun(len(p.list), "workspace") + " to the trash?"
	}
	return a.hasAgreed(ctx, how, question)
}

// question asks about a plan for what nobody named.
func (p takePlan) question() string {
	workspaces, branches := "", ""
	if n := len(p.list); n > 0 {
		workspaces = "Move " + countNoun(n, "workspace") + " to the trash"
	}
	if n := len(p.branches); n > 0 {
		branches = "delete " + countOf(n, "branch", "branches")
	}
	switch {
	case workspaces == "":
		return "D" + strings.TrimPrefix(branches, "d") + "?"
	case branches == "":
		return workspaces + "?"
	}
	return workspaces + " and " + branches + "?"
}

// showPlan prints the plan for --dry-run.
func (a *app) showPlan(p takePlan, nothing string) {
	if a.json {
		var removed []croft.Removed
		for _, t := range p.list {
			removed = append(removed, t.Removed)
		}
		a.emit(cleanResult{
			Removed: removed, Kept: p.kept, Branches: p.branches, Unknown: p.unknown, DryRun: true,
		})
		return
	}
	if len(p.list)+len(p.branches)+len(p.unknown)+len(p.kept) == 0 {
		a.note("%s", nothing)
	}
	if a.isShown() {
		a.printLines(results.Rows(a.stdout(), textsOf(p.rows())))
	} else {
		a.printTable(p.rows())
	}
	a.noteKept(p.kept)
}

// noteKept prints on stderr which workspaces stay, and why.
func (a *app) noteKept(kept []croft.Kept) {
	for _, k := range kept {
		a.note("kept %s: %s", k.Name, k.Reason.Message)
		if k.Reason.Code == croft.WorkspaceDirty {
			a.remarkNext(a.croftHere() + "diff " + shellWord(k.Name))
		}
	}
}
