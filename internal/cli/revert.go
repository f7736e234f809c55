package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/results"
	"github.com/croft-sh/croft/internal/cli/wording"
	"github.com/croft-sh/croft/internal/screen"
	"github.com/spf13/cobra"
)

// reverter is the part of croft.Service that `croft revert` calls.
type reverter interface {
	PlanRevert(ctx context.Context, req croft.RevertRequest) (*croft.RevertPlan, error)
	SubmitRevert(ctx context.Context, req croft.RevertRequest) (*croft.Merge, error)
	ResolveRevert(ctx context.Context, req croft.RevertRequest) (*croft.Resolution, error)
	mergeWaiter
	finder
	differ
}

func newRevertCommand(a *app) *cobra.Command {
	req := croft.RevertRequest{}
	var isDryRun, isResolve bool
	cmd := &cobra.Command{
		Use:   "revert NAME or MERGE",
		Short: "Take a merge back",
		Long: `Undo a merge by a new commit on its target, through the same lane and checks.
What was merged after it stays. Merging the workspace again brings the work
back.

If files that it changed were changed since, --resolve makes a workspace revert-NAME
with the revert in progress. Once the conflicts are resolved there, merging that
workspace takes the merge back.

Of a workspace that was merged several times, NAME means its last merge that
changed anything; "croft queue --all" has the IDs of the others.`,
		Args: takesOne("merge", "the name of its workspace, or its ID"),
		RunE: a.withService(func(ctx context.Context, svc croft.Service, args []string) error {
			req.Repo, req.Ref = a.dir(), args[0]
			if isResolve {
				return a.resolveRevert(ctx, svc, req)
			}
			return a.runRevert(ctx, svc, req, isDryRun)
		}),
	}
	flags := cmd.Flags()
	flags.StringVarP(&req.Message, "message", "m", "", "the `message` of the commit")
	flags.BoolVarP(&isDryRun, "dry-run", "n", false, "only tell")
	flags.BoolVar(&isResolve, "resolve", false, "make a workspace in which its conflicts are resolved")
	cmd.MarkFlagsMutuallyExclusive("resolve", "dry-run")
	addKeyFlag(cmd, &req.Key)
	return cmd
}

func (a *app) runRevert(ctx context.Context, svc reverter, req croft.RevertRequest, isDryRun bool) error {
	if req.Key != "" && !isDryRun { // once the merge is reverted, there is nothing to plan
		return a.revert(ctx, svc, req, "")
	}
	plan, err := svc.PlanRevert(ctx, req)
	if err != nil {
		return err
	}
	if isDryRun && a.json {
		a.emit(revertPlanResult{*plan})
		return nil
	}
	if isDryRun && a.isShown() {
		a.printRevertPlan(*plan, broughtBy(ctx, svc, plan.Merge))
		return nil
	}
	if plan.Later > 0 && !a.isShown() {
		a.note("%s", countOf(plan.Later, "merge came after it, and stays", "merges came after it, and stay"))
	}
	if isDryRun {
		for _, c := range plan.Conflicts {
			a.note("  %s will be in conflict (%s)", wording.Path(c.Path), c.Kind)
		}
		a.note("would revert the merge of %s on %s (%s)", plan.Merge.WorkspaceName, plan.Branch, shortCommit(plan.Merge.Commit))
		return nil
	}
	return a.revert(ctx, svc, req, plan.Target)
}

// revert takes a merge back. tip is where its target is, if that is known.
func (a *app) revert(ctx context.Context, svc reverter, req croft.RevertRequest, tip string) error {
	m, err := a.waitFor(ctx, svc)(svc.SubmitRevert(ctx, req))
	if err != nil {
		return err
	}
	if a.isShown() {
		var work *croft.Work
		if m.State == croft.MergeDone && m.Status == croft.MergeMerged {
			work = broughtBy(ctx, svc, *m)
		}
		a.tellMerge(*m, work, tip)
	} else {
		a.showMerges([]croft.Merge{*m})
	}
	a.remarkReverted(ctx, svc, *m)
	return mergesExitStatus([]croft.Merge{*m}, croft.MergeMerged)
}

// printRevertPlan says on a terminal which merge would be reverted, and what is in the way.
func (a *app) printRevertPlan(plan croft.RevertPlan, work *croft.Work) {
	m, conflicts := plan.Merge, ", no conflict"
	signs := a.stdout().Signs()
	o := results.OfMerge(m, nil, signs, "")
	if n := len(plan.Conflicts); n > 0 {
		o.Kind, conflicts = screen.Look, ", "+countNoun(n, "file")+" in conflict"
	}
	o.Detail = []screen.Span{prose("%s  %s", shortCommit(m.Commit), whenText(a.env.Now(), m.EndedAt))}
	if spans := results.WorkSpans(work, signs); len(spans) > 0 {
		o.Detail = append(append(o.Detail, prose(", ")), spans[1:]...)
	}
	o.Detail = append(o.Detail, prose("%s", conflicts))
	a.printOutcomes(o)
	a.remarkConflicts(plan.Conflicts)
	if plan.Later > 0 {
		a.remarkText(prose("%s", printable(laterText(plan))))
	}
}

// laterText says which merges came after one that is taken back.
func laterText(plan croft.RevertPlan) string {
	const most = 5
	text, names := countOf(plan.Later, "merge came after it and stays", "merges came after it and stay"), plan.LaterNames
	if len(names) == 0 {
		return text
	}
	if len(names) > most {
		names = append(slices.Clone(names[:most]), fmt.Sprintf("and %d more", len(names)-most))
	}
	return text + ": " + strings.Join(names, ", ")
}

// remarkReverted says where the work is that was taken out of a branch.
func (a *app) remarkReverted(ctx context.Context, svc reverter, m croft.Merge) {
	if !a.isShown() || m.Status != croft.MergeMerged || m.Workspace == "" {
		return
	}
	if m.Later > 0 {
		a.remarkText(prose("%s", countOf(m.Later, "merge came after it and stays", "merges came after it and stay")))
	}
	ws, err := svc.Workspace(ctx, croft.WorkspaceRequest{Repo: a.dir(), Ref: croft.ByID(m.Workspace), Scope: croft.ScopeAll})
	switch {
	case err != nil:
	case ws.State != croft.Trashed:
		a.remarkText(prose("its workspace is still there: "), command("croft diff "+shellWord(ws.Name)))
	case !ws.KeptUntil.IsZero():
		a.remarkText(prose("its workspace comes back with "), command("croft restore "+shellWord(ws.Name)))
	}
}

// resolveRevert makes a workspace in which the conflicts of a revert are resolved.
func (a *app) resolveRevert(ctx context.Context, svc reverter, req croft.RevertRequest) error {
	out, err := svc.ResolveRevert(ctx, req)
	if err != nil {
		return err
	}
	if a.json {
		a.emit(resolutionResult{*out})
		return nil
	}
	ws := out.Workspace
	if a.isShown() {
		a.printRevertResolution(*out)
		return nil
	}
	a.printTable([][]cell{{plainCell(ws.Name), styledCell("resolving", styleYellow), plainCell(a.shownPath(ws.Path))}})
	a.note("a new workspace; %s in conflict:", countNoun(len(out.Conflicts), "file"))
	for _, c := range out.Conflicts {
		a.note("  %s", wording.Path(c.Path))
	}
	a.remarkNext(nextInConflict(ws.Name))
	return nil
}

// printRevertResolution says on a terminal which workspace was made, and what is to be resolved there.
func (a *app) printRevertResolution(out croft.Resolution) {
	a.printOutcomes(outcome{
		Kind: screen.Look, Name: out.Workspace.Name, Word: "resolving",
		Detail: []screen.Span{prose("a new workspace; %s to resolve", countNoun(len(out.Conflicts), "file"))},
	})
	a.remarkToResolve(out.Conflicts)
	a.remarkNext(nextInConflict(out.Workspace.Name))
}
