package cli

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/live"
	"github.com/croft-sh/croft/internal/cli/results"
	"github.com/croft-sh/croft/internal/cli/wording"
	"github.com/croft-sh/croft/internal/screen"
	"github.com/spf13/cobra"
)

// merger is the part of croft.Service that `croft merge` calls.
type merger interface {
	repoFinder
	finder
	SubmitMerge(ctx context.Context, req croft.MergeRequest) (*croft.Merge, error)
	SubmitMerges(ctx context.Context, req croft.SubmitMergesRequest) (*croft.SubmitResult, error)
	WaitMerge(ctx context.Context, req croft.WaitRequest) (*croft.Merge, error)
	Resolve(ctx context.Context, req croft.MergeRequest) (*croft.Resolution, error)
	Diff(ctx context.Context, req croft.DiffRequest) (*croft.Review, error)
	mergeLister
	live.Getter
}

func newMergeCommand(a *app) *cobra.Command {
	var req croft.MergeRequest
	var isResolve, isQueueOnly, isDry bool
	cmd := &cobra.Command{
		Use:   "merge [NAME...]",
		Short: "Bring work to its target branch",
		Long: `Bring work to its target branch. What is not committed is committed first;
the merge is computed apart and checked; then the branch moves, and the
workspace goes to the trash.`,
		Example: `  croft merge fix-login
  croft merge --strategy squash fix-login
  croft merge --resolve fix-login`,
		ValidArgsFunction: a.completeMany,
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Repo = a.dir()
			if len(args) > 1 && req.Key+req.Head+string(req.Review) != "" {
				return usageError(cmd, "one workspace at a time has a --key, a --head or a --review")
			}
			for _, name := range []string{"head", "review"} {
				flag := cmd.Flag(name)
				if flag.Changed && (flag.Value.String() == "" || isResolve) {
					return usageError(cmd, "--"+name+" names the work that was seen, and goes with a merge only")
				}
			}
			if isDry && (isResolve || isQueueOnly || req.Key+req.Head+string(req.Review) != "") {
				return usageError(cmd, "--dry-run looks at a merge of the work as it is, and goes with names and --into")
			}
			if len(args) == 0 {
				args = []string{""}
			}
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
				if isResolve {
					if len(args) > 1 {
						return usageError(cmd, "one workspace at a time can be resolved")
					}
					req.Workspace = a.workspaceRef(args[0])
					return a.runResolve(ctx, svc, req)
				}
				if isDry {
					return a.planMerges(ctx, svc, req, a.workspaceRefs(args))
				}
				return a.runMerge(ctx, svc, req, a.workspaceRefs(args), isQueueOnly)
			})
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&isResolve, "resolve", false, "bring the target in instead, to resolve conflicts")
	addWordFlag(cmd, &req.After, croft.AfterKeep, "keep", "", "keep the workspace")
	addIntoFlag(cmd, &req.Target, "another target")
	flags.StringVar((*string)(&req.Strategy), "strategy", "", "no-ff or squash")
	flags.StringVarP(&req.Message, "message", "m", "", "of the merge")
	flags.BoolVar(&isQueueOnly, "no-wait", false, "only put it in the queue")
	flags.IntVar(&req.Priority, "priority", 0, "before merges of a lower one")
	flags.BoolVarP(&isDry, "dry-run", "n", false, "say what would happen")
	flags.StringVar(&req.Head, "head", "", "only if the workspace is at this `commit`, with nothing uncommitted")
	flags.StringVar((*string)(&req.Review), "review", "", "only if the work is that of the review with this `id`")
	addKeyFlag(cmd, &req.Key)
	cmd.Flag("key").Usage = sameCall + " merge"
	return cmd
}

func (a *app) runMerge(ctx context.Context, svc merger, req croft.MergeRequest, names []string, isQueueOnly bool) error {
	a.noteAgents(ctx, svc, names...)
	works := a.worksOf(ctx, svc, names)
	merges, err := submitAll(ctx, svc, req, names)
	if err != nil {
		return err
	}
	if isQueueOnly {
		a.tellMerges(merges, works)
		a.noteWaiting(ctx, merges)
		return nil
	}
	return a.awaitMerges(ctx, svc, req, merges, works)
}

// noteTrashed names the merged workspaces that went to the trash.
func (a *app) noteTrashed(ctx context.Context, svc finder, merges []croft.Merge, after croft.AfterMerge) {
	if a.json || after != croft.AfterTrash {
		return
	}
	for _, m := range merges {
		if m.Status != croft.MergeMerged || m.Workspace == "" || m.Kept != nil {
			continue
		}
		_, err := svc.Workspace(ctx, croft.WorkspaceRequest{Repo: a.dir(), Ref: string(m.Workspace)})
		if errors.Is(err, croft.WorktreeNotFound) {
			a.note("%s: the workspace is in the trash: croft restore %s", m.WorkspaceName, shellWord(m.WorkspaceName))
		}
	}
}

// noteWaiting says which command drives the merges that wait, unless a process does. A daemon
// drives the queues of all projects.
func (a *app) noteWaiting(ctx context.Context, merges []croft.Merge) {
	if a.json {
		return
	}
	next := ""
	release := "croft queue release"
	if len(merges) == 1 {
		release += " " + shellWord(merges[0].WorkspaceName)
	}
	for _, m := range merges {
		switch {
		case m.State == croft.MergeDone:
		case m.State != croft.MergeQueued:
			return // a process drives it
		case !m.IsHeld:
			next = driveCommand
		case next == "":
			next = release
		}
	}
	switch {
	case next == "":
	case next == driveCommand && a.hasDaemon(ctx):
		a.note("the daemon merges what waits")
	default:
		a.remarkNext(next)
	}
}

// driveCommand is the command that drives the queues of a project.
const driveCommand = "croft queue run"

// hasDaemon reports whether a daemon of the user's answers.
func (a *app) hasDaemon(ctx context.Context) bool {
	if a.env.Daemon.Status == nil {
		return false
	}
	_, err := a.env.Daemon.Status(ctx)
	return err == nil
}

// submitAll submits the work of workspaces to their lanes. If one of several does not exist, none
// is submitted: a user who misspelt a name may not want the others merged without it.
func submitAll(ctx context.Context, svc merger, req croft.MergeRequest, names []string) ([]croft.Merge, error) {
	if len(names) == 1 {
		req.Workspace = names[0]
		m, err := svc.SubmitMerge(ctx, req)
		if err != nil {
			return nil, err
		}
		return []croft.Merge{*m}, nil
	}
	res, err := svc.SubmitMerges(ctx, croft.SubmitMergesRequest{
		Repo: req.Repo, Workspaces: names, Target: req.Target, Strategy: req.Strategy, Message: req.Message, Priority: req.Priority, After: req.After,
	})
	if errors.Is(err, croft.WorktreeNotFound) {
		e := *croft.AsError("merge", err)
		e.Details = strings.TrimSpace(e.Details + "\nnothing was merged")
		e.Hint = cmp.Or(mergeOfRest(ctx, svc, req, names), e.Hint)
		return nil, &e
	}
	if err != nil {
		return nil, err
	}
	return res.Merges, nil
}

// mergeOfRest is the command that merges workspaces without those that were merged meanwhile; empty if there are no such or no
// others, or if more than names was said.
func mergeOfRest(ctx context.Context, svc finder, req croft.MergeRequest, names []string) string {
	if req.Target != "" || req.Strategy != "" || req.Message != "" || req.Priority != 0 || req.After != croft.AfterTrash {
		return ""
	}
	command, nRest := "croft merge", 0
	for _, name := range names {
		ws, err := svc.Workspace(ctx, croft.WorkspaceRequest{Repo: req.Repo, Ref: name, Scope: croft.ScopeAll})
		if err == nil && ws.State == croft.Trashed && ws.MergeStatus == croft.MergeMerged {
			continue
		}
		command += " " + shellWord(name)
		nRest++
	}
	if nRest == 0 || nRest == len(names) {
		return ""
	}
	return command
}

func (a *app) runResolve(ctx context.Context, svc merger, req croft.MergeRequest) error {
	out, err := svc.Resolve(ctx, req)
	if err != nil {
		return err
	}
	if a.json {
		a.emit(resolutionResult{*out})
		return nil
	}
	if a.isShown() {
		a.printResolution(*out)
		return nil
	}
	next := "croft merge " + shellWord(out.Workspace.Name)
	if len(out.Conflicts) == 0 {
		a.note("%s went into %s without a conflict", out.Target, out.Workspace.Name)
	} else {
		next = nextInConflict(out.Workspace.Name)
		a.note("%s in conflict in %s:", countNoun(len(out.Conflicts), "file"), a.shownPath(out.Workspace.Path))
		for _, c := range out.Conflicts {
			a.note("  %s", wording.Path(c.Path))
		}
	}
	if len(out.HeldBack) > 0 {
		a.note("%s: not committed: %s", out.Workspace.Name, wording.Paths(out.HeldBack))
	}
	a.remarkNext(next)
	return nil
}

// nextInConflict is what a person does with the files in conflict of a workspace. A merge takes only files for resolved
// that were staged.
func nextInConflict(name string) string {
	word := shellWord(name)
	return "croft sh " + word + ", edit, git add, then croft merge " + word
}

// printResolution says on a terminal what came into a workspace, and what is to be resolved there.
func (a *app) printResolution(out croft.Resolution) {
	o := outcome{Kind: screen.Look, Name: out.Workspace.Name, Word: "resolving"}
	o.Detail = []screen.Span{prose("%s@%s came in; %s to resolve", out.Target, shortCommit(out.Commit), countNoun(len(out.Conflicts), "file"))}
	next := nextInConflict(out.Workspace.Name)
	if len(out.Conflicts) == 0 {
		o.Kind, o.Word = screen.Ready, "ahead"
		o.Detail = []screen.Span{prose("%s@%s came in without a conflict", out.Target, shortCommit(out.Commit))}
		next = "croft merge " + shellWord(out.Workspace.Name)
	}
	a.printOutcomes(o)
	a.remarkToResolve(out.Conflicts)
	a.remarkHeldBack(out.HeldBack)
	a.remarkNext(next)
}

// remarkToResolve names files in conflict, with the first line of each that is.
func (a *app) remarkToResolve(conflicts []croft.ConflictedPath) {
	for _, c := range conflicts {
		a.remarkText(prose("%s", results.ConflictPlace(c)))
	}
}
