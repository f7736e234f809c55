package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// overviewer is the part of croft.Service that `croft list` calls.
type overviewer interface {
	lister
	Worktrees(ctx context.Context, req croft.WorktreesRequest) (*croft.List[croft.Worktree], error)
	Repos(ctx context.Context, req croft.ReposRequest) (*croft.List[croft.Repo], error)
	repoFinder
	CheckRepo(ctx context.Context, req croft.RepoRequest) (*croft.Repo, error)
	Trash(ctx context.Context, req croft.TrashRequest) (*croft.List[croft.TrashItem], error)
	History(ctx context.Context, req croft.HistoryRequest) (*croft.List[croft.Operation], error)
}

// listOptions are the flags of `croft list`.
type listOptions struct {
	filter croft.WorkspacesRequest

	isAll, isFull, isNames, isWatching bool

	conditions, recorded, meta []string
	sort                       string
	limit                      int
}

// The values of --sort.
const (
	sortKind = "kind"
	sortAge  = "age"
	sortName = "name"
)

func newListCommand(a *app) *cobra.Command {
	var o listOptions
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List workspaces and what each needs next",
		Long: `List workspaces: how each stands, why, and what it needs next. Commits and files are
looked at for 0.3 seconds, those of a few workspaces for longer if need be; --full looks
at all. What was not looked at is said, and in "unseen" with --json: uncommitted work
does not show there, and state and next go by the record and the branches. --state
looks at all, too, and --names at nothing.

On a terminal those that need you come first, and columns make room for the command.
On a pipe all columns are there, the oldest workspace first, and nothing is cut.`,
		Args: takesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.complete(a, cmd); err != nil {
				return err
			}
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
				if o.isWatching {
					return a.watchList(ctx, svc, o)
				}
				return a.runList(ctx, svc, o)
			})
		},
	}
	flags := cmd.Flags()
	addWordFlag(cmd, &o.filter.Repos, croft.ScopeAll, "all-repos", "A", "of all projects")
	flags.BoolVar(&o.isAll, "foreign", false, "also the worktrees that are not Croft's")
	formerFlag(cmd, "foreign", "all", "")
	flags.BoolVar(&o.isWatching, "watch", false, "show it anew every second and with every change, until q; with --json one object for each change")
	flags.BoolVar(&o.isNames, "names", false, "print the names alone, one on a line")
	flags.IntVarP(&o.limit, "limit", "L", 0, "show at most `N`, those that come first")
	flags.StringVar(&o.sort, "sort", "", "kind (those that need you first), age (the oldest first) or name (default: kind on a terminal, age elsewhere)")
	addWordFlag(cmd, &o.filter.Asks, croft.AsksPerson, "needs-me", "", "only those whose agent waits for a person: for an answer, a permission or a login")
	addWordFlag(cmd, &o.filter.Maker, croft.MakerCaller, "mine", "", "only those that you made or adopted; in a workspace, those that its agent made")
	flags.BoolVar(&o.isFull, "full", false, "look at the files and commits of all, however long that takes")
	flags.StringSliceVar(&o.conditions, "state", nil, "only those in these `states`, as the column says, such as conflict, check-failed, pending or merged; those that are gone too")
	flags.StringSliceVar(&o.recorded, "record", nil, "only those with these `words` in their record, such as ready, trashed, pending or discarded; those that are gone too")
	flags.StringVar(&o.filter.Session, "session", "", "only those of this session")
	flags.StringVar(&o.filter.Role, "role", "", "only those with this role")
	flags.StringVar(&o.filter.Agent, "agent", "", "only those of this agent")
	flags.StringVar(&o.filter.Branch, "branch", "", "only those on this `branch`")
	flags.StringVar(&o.filter.Target, "target", "", "only those whose work goes to this `branch`")
	addMetaFlag(cmd, &o.meta, "only those with this `KEY=VALUE`; repeat it for more")
	registerCompletion(cmd, "agent", cobra.NoFileCompletions)
	registerCompletion(cmd, "session", a.completeSession)
	registerCompletion(cmd, "role", a.completeRole)
	completeWords(cmd, "sort", sortKind, sortAge, sortName)
	completeWords(cmd, "state", wordsOf(croft.Conditions())...)
	completeWords(cmd, "record", append(wordsOf(workspaceStates()), wordsOf(mergeStatuses())...)...)
	return cmd
}

// complete checks the flags, and makes the request of them.
func (o *listOptions) complete(a *app, cmd *cobra.Command) (err error) {
	o.filter.Repo, o.filter.Look = a.dir(), lookTime(o.isFull || o.isWatching)
	if o.isNames && o.sort != sortKind { // names do not depend on what is seen
		o.filter.Look = 0
	}
	if o.filter.Meta, err = parseMeta(cmd, o.meta); err != nil {
		return err
	}
	switch o.sort {
	case "", sortKind, sortAge, sortName:
	default:
		return usageError(cmd, "unknown order "+quoted(o.sort)+": kind, age or name")
	}
	if o.isWatching && (o.isNames || o.isAll || o.limit > 0) {
		return usageError(cmd, "--watch shows all workspaces in a table, without --names, --foreign and --limit")
	}
	if o.isWatching && !a.json && (a.env.Width == 0 || a.env.IsDumb || a.env.Size == nil) {
		return usageError(cmd, "--watch needs a terminal that can be written over; with --json it prints each change")
	}
	return chooseStates(cmd, &o.filter, o.conditions, o.recorded)
}

// lookTime is how long a list may look at files and commits. Without a look a state is that of the record and the
// branches, which is another one where work is not committed: so a program gets the same look as a person.
func lookTime(isFull bool) croft.Duration {
	const moment = croft.Duration(300 * time.Millisecond)
	if isFull {
		return croft.NoLimit
	}
	return moment
}

func workspaceStates() []croft.State {
	return []croft.State{croft.Creating, croft.Ready, croft.Stopped, croft.Broken, croft.Trashed}
}

func mergeStatuses() []croft.MergeStatus {
	return []croft.MergeStatus{croft.MergePending, croft.MergeMerged, croft.MergeDiscarded, croft.MergeReverted}
}

func wordsOf[S ~string](list []S) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}

// chooseStates puts the words of --state into the filter, and sorts those of --record into
// states of workspaces and of their work.
func chooseStates(cmd *cobra.Command, f *croft.WorkspacesRequest, conditions, recorded []string) error {
	if len(conditions) > 0 { // the words are those of workspaces that were looked at
		f.Look = croft.NoLimit
	}
	for _, word := range conditions {
		word = strings.ReplaceAll(word, " ", "-") // as the column has it
		if !slices.Contains(croft.Conditions(), croft.Condition(word)) {
			return unknownWordError(cmd, "state", "--state", word, wordsOf(croft.Conditions()))
		}
		f.Conditions = append(f.Conditions, croft.Condition(word))
	}
	for _, word := range recorded {
		switch {
		case slices.Contains(workspaceStates(), croft.State(word)):
			f.States = append(f.States, croft.State(word))
		case slices.Contains(mergeStatuses(), croft.MergeStatus(word)):
			f.MergeStatuses = append(f.MergeStatuses, croft.MergeStatus(word))
		default:
			known := append(wordsOf(workspaceStates()), wordsOf(mergeStatuses())...)
			return unknownWordError(cmd, "word", "--record", word, known)
		}
	}
	return nil
}

func (a *app) worktreeRows(worktrees []croft.Worktree) [][]cell {
	rows := [][]cell{headingRow("WORKTREE", "BRANCH", "HEAD", "NOT CROFT'S")}
	for _, wt := range worktrees {
		what := "git worktree"
		switch {
		case wt.IsMain:
			what = "main checkout"
		case wt.IsLocked && wt.LockReason != "":
			what = "git worktree, locked: " + wt.LockReason
		case wt.IsLocked:
			what = "git worktree, locked"
		}
		rows = append(rows, plainRow(a.shownPath(wt.Path), orDash(wt.Branch), orDash(shortCommit(wt.Head)), what))
	}
	return rows
}

func foreignWorktrees(ctx context.Context, svc overviewer, repo string) ([]croft.Worktree, error) {
	worktrees, err := svc.Worktrees(ctx, croft.WorktreesRequest{Repo: repo})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(worktrees.Items, func(wt croft.Worktree) bool { return wt.Workspace != "" }), nil
}
