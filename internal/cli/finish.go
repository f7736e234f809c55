package cli

import (
	"context"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/results"
	"github.com/croft-sh/croft/internal/screen"
	"github.com/spf13/cobra"
)

// finisher is the part of croft.Service that `croft finish` calls.
type finisher interface {
	repoFinder
	finder
	Finish(ctx context.Context, req croft.FinishRequest) (*croft.Merge, error)
	WaitMerge(ctx context.Context, req croft.WaitRequest) (*croft.Merge, error)
}

func newFinishCommand(a *app) *cobra.Command {
	var req croft.FinishRequest
	var isMerge, isKeep bool
	cmd := &cobra.Command{
		Use:   "finish [NAME]",
		Short: "Say that an agent has ended",
		Long: `Commit what the agent left uncommitted. Where the layout says so, or with
--merge, work of an agent that succeeded goes on to its target; the rest is
pending, for "croft merge" or "croft discard".

What is committed is what "git add --all" would stage. Files that look like secrets,
are large, or are repositories of their own are not committed, and neither are edits
of files that git was told not to look at; they are named.`,
		Args:              takesOptional("workspace"),
		ValidArgsFunction: a.completeOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Repo, req.Workspace = a.dir(), a.optionalRef(args)
			switch {
			case isMerge && isKeep:
				return usageError(cmd, "either --merge or --keep")
			case isMerge:
				req.Policy = croft.MergeAlways
			case isKeep:
				req.Policy = croft.MergeNever
			}
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
				return a.runFinish(ctx, svc, req)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar((*string)(&req.Outcome), "outcome", string(croft.Succeeded), "succeeded, failed or killed")
	flags.StringVarP(&req.Message, "message", "m", "", "the `message` of the commit")
	addKeyFlag(cmd, &req.Key)
	flags.BoolVar(&isMerge, "merge", false, "merge it if it succeeded, whatever the layout says")
	flags.BoolVar(&isKeep, "no-merge", false, "do not merge it, whatever the layout says")
	formerFlag(cmd, "no-merge", "keep", "")
	return cmd
}

func (a *app) runFinish(ctx context.Context, svc finisher, req croft.FinishRequest) error {
	a.noteAgents(ctx, svc, req.Workspace)
	before := ""
	if a.isShown() {
		if ws, err := svc.Workspace(ctx, croft.WorkspaceRequest{Repo: req.Repo, Ref: req.Workspace}); err == nil { // Finish itself says what is wrong
			before = ws.Head
		}
	}
	m, err := svc.Finish(ctx, req)
	if err != nil {
		return err
	}
	if m.State == croft.MergeDone {
		a.tellFinished(ctx, svc, *m, req.Outcome, before)
		if m.Reason != "" { // the same call again returns the merge that was refused
			return mergesExitStatus([]croft.Merge{*m}, croft.MergeMerged)
		}
		return nil
	}
	if m, err = svc.WaitMerge(ctx, croft.WaitRequest{Merge: m.ID}); err != nil {
		return err
	}
	a.tellFinished(ctx, svc, *m, req.Outcome, before)
	a.startUpkeepAfter(ctx, svc)
	return mergesExitStatus([]croft.Merge{*m}, croft.MergeMerged)
}

// tellFinished says what became of the work of an agent that has ended. before is the commit of its workspace before
// the rest was committed.
func (a *app) tellFinished(ctx context.Context, svc finisher, m croft.Merge, as croft.Outcome, before string) {
	works := map[croft.ID]*croft.Work{}
	if a.isShown() && m.Workspace != "" {
		works = a.worksOf(ctx, svc, []croft.Ref{croft.ByID(m.Workspace)})
	}
	if !a.isShown() || m.Status != croft.MergePending || m.Reason != "" {
		a.tellMerges([]croft.Merge{m}, works)
		return
	}
	name, work := shellWord(m.WorkspaceName), works[m.Workspace]
	hasFailed := as == croft.Failed || as == croft.Killed
	o, next := outcome{Kind: screen.Ready, Name: m.WorkspaceName, Word: "pending → " + m.Target}, "croft review "+name+", or croft merge "+name
	if hasFailed {
		o.Kind, o.Word = screen.Look, string(as)
		next = "croft diff " + name + ", then croft discard " + name
	}
	hasNone := work.Has(croft.AspectCommits) && work.Ahead == 0
	switch {
	case hasNone && len(m.HeldBack) > 0:
		o.Kind, o.Detail = screen.Look, []screen.Span{prose("nothing was committed")}
		next = "croft sh " + name + ", to commit or to ignore them, or croft discard " + name
	case hasNone:
		o.Detail, next = []screen.Span{prose("nothing to merge; the workspace stays")}, "croft sh "+name+", or croft discard "+name
	default:
		o.Detail = a.committedSpans(m, work, before)
	}
	if hasNone && !hasFailed {
		o.Word = "empty"
		if len(m.HeldBack) > 0 {
			o.Word = "dirty"
		} else {
			o.Kind = screen.Nothing
		}
	}
	a.printOutcomes(o)
	a.remarkHeldBack(m.HeldBack)
	a.remarkNext(next)
}

// committedSpans say how much work an agent has left, and where it is.
func (a *app) committedSpans(m croft.Merge, work *croft.Work, before string) []screen.Span {
	committed := "all committed"
	if m.Head != before && before != "" {
		committed = "committed as " + shortCommit(m.Head)
	}
	spans := results.WorkSpans(work, a.stdout().Signs())
	if len(spans) > 0 {
		spans = append(spans[1:], prose(", "))
	}
	return append(spans, prose("%s", committed))
}
