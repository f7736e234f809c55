package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// overviewer is the part of croft.Service that `croft list` calls.
type overviewer interface {
	lister
	Worktrees(ctx context.Context, req croft.WorktreesRequest) (*croft.List[croft.Worktree], error)
}

func newListCommand(a *app) *cobra.Command {
	var filter croft.WorkspacesRequest
	var isAll bool
	var states []string
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List workspaces and what each needs next",
		Args:    takesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			filter.Repo = a.dir()
			if err := chooseStates(cmd, &filter, states); err != nil {
				return err
			}
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
				return a.runList(ctx, svc, filter, isAll)
			})
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&isAll, "all", false, "also the worktrees that are not Croft's")
	flags.StringSliceVar(&states, "state", nil, "only those in these `states`, such as ready, pending, merged or trashed; those that are gone too")
	flags.StringVar(&filter.Session, "session", "", "only those of this session")
	flags.StringVar(&filter.Role, "role", "", "only those with this role")
	registerCompletion(cmd, "session", a.completeSession)
	registerCompletion(cmd, "role", a.completeRole)
	completeWords(cmd, "state", append(wordsOf(workspaceStates()), wordsOf(mergeStatuses())...)...)
	return cmd
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

// chooseStates sorts the words of --state into states of workspaces and of their
// work.
func chooseStates(cmd *cobra.Command, f *croft.WorkspacesRequest, chosen []string) error {
	for _, word := range chosen {
		switch {
		case slices.Contains(workspaceStates(), croft.State(word)):
			f.States = append(f.States, croft.State(word))
		case slices.Contains(mergeStatuses(), croft.MergeStatus(word)):
			f.MergeStatuses = append(f.MergeStatuses, croft.MergeStatus(word))
		default:
			known := append(wordsOf(workspaceStates()), wordsOf(mergeStatuses())...)
			return usageError(cmd, "unknown state "+quoted(word)+": "+strings.Join(known, ", "))
		}
	}
	return nil
}

func (a *app) runList(ctx context.Context, svc overviewer, filter croft.WorkspacesRequest, isAll bool) error {
	workspaces, err := svc.Workspaces(ctx, filter)
	if err != nil {
		return err
	}
	result := workspacesResult{Workspaces: a.withNext(workspaces.Items), Cursor: workspaces.Cursor}
	if isAll {
		foreign, err := foreignWorktrees(ctx, svc, filter.Repo)
		if err != nil {
			return err
		}
		result.Worktrees = &foreign
	}
	if a.json {
		a.emit(result)
		return nil
	}
	if len(workspaces.Items) == 0 && len(filter.States)+len(filter.MergeStatuses) > 0 {
		a.note("no such workspaces")
	} else if len(workspaces.Items) == 0 {
		a.note("no workspaces")
		a.note("hint: croft new NAME")
	} else {
		a.printYielding(a.workspaceRows(result.Workspaces), yield{"BRANCH", yieldWhole}, yield{"COLLIDES WITH", yieldName}, yield{"NEXT", yieldText},
			yield{"AGE", yieldWhole}, yield{"HEAD", yieldWhole}, yield{"COLLIDES WITH", yieldWhole}, yield{"NAME", yieldName})
	}
	if result.Worktrees != nil {
		a.printTable(a.worktreeRows(*result.Worktrees))
	}
	return nil
}

// workspaceRows returns the rows of the table of workspaces. There is a column for
// collisions only if the last forecast saw one.
func (a *app) workspaceRows(workspaces []croft.Workspace) [][]cell {
	collides := slices.ContainsFunc(workspaces, func(ws croft.Workspace) bool { return len(ws.Collides) > 0 })
	names := []string{"NAME", "STATE", "BRANCH", "HEAD", "AGE"}
	if collides {
		names = append(names, "COLLIDES WITH")
	}
	rows := [][]cell{headingRow(append(names, "NEXT")...)}
	now := a.env.Now()
	for i := range workspaces {
		ws := &workspaces[i]
		row := []cell{
			plainCell(ws.Name),
			styledCell(stateWord(ws), stateStyle(ws.State)),
			plainCell(orDash(ws.Branch)),
			plainCell(orDash(shortCommit(ws.Head))),
			plainCell(ageText(now, ws.CreatedAt)),
		}
		if collides {
			row = append(row, styledCell(orDash(fewNames(ws.Collides)), styleYellow))
		}
		rows = append(rows, append(row, cell{text: ws.Next.What, command: ws.Next.Command}))
	}
	return rows
}

// fewNames names the first of several, and how many there are besides.
func fewNames(names []string) string {
	const shown = 2
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
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
	return nonNil(slices.DeleteFunc(worktrees.Items, func(wt croft.Worktree) bool { return wt.Workspace != "" })), nil
}

// stateWord is the word for the state of a workspace. While its files are put back, the
// state is Creating and the fault says which of the two it is.
func stateWord(ws *croft.Workspace) string {
	if ws.State == croft.Creating && ws.Fault != "" {
		return string(ws.Fault)
	}
	return string(ws.State)
}

func stateStyle(s croft.State) style {
	switch s {
	case croft.Ready:
		return styleGreen
	case croft.Broken:
		return styleRed
	case croft.Creating, croft.Stopped:
		return styleYellow
	default:
		return styleNone
	}
}

func orDash(text string) string { return cmp.Or(text, "-") }
