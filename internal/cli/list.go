package cli

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
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
}

func newListCommand(a *app) *cobra.Command {
	var filter croft.WorkspacesRequest
	var isAll, isFull bool
	var conditions, recorded, meta []string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List workspaces and what each needs next",
		Long: `List workspaces: how each stands, why, and what it needs next. On a terminal commits
and files are looked at for 0.3 seconds; what was not looked at is said. Without a
terminal the list goes by the record and the branches alone, so that uncommitted work
does not show: --full looks at all. --state looks at all, too. With --json "unseen"
has those that were not looked at.`,
		Args: takesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			filter.Repo, filter.Look = a.dir(), a.lookTime(isFull)
			var err error
			if filter.Meta, err = parseMeta(cmd, meta); err != nil {
				return err
			}
			if err := chooseStates(cmd, &filter, conditions, recorded); err != nil {
				return err
			}
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error { return a.runList(ctx, svc, filter, isAll) })
		},
	}
	flags := cmd.Flags()
	addWordFlag(cmd, &filter.Repos, croft.ScopeAll, "all-repos", "A", "of all projects")
	flags.BoolVar(&isAll, "foreign", false, "also the worktrees that are not Croft's")
	formerFlag(cmd, "foreign", "all", "")
	addWordFlag(cmd, &filter.Asks, croft.AsksPerson, "needs-me", "", "only those whose agent waits for a person: for an answer, a permission or a login")
	flags.BoolVar(&isFull, "full", false, "look at the files and commits of all, however long that takes")
	flags.StringSliceVar(&conditions, "state", nil, "only those in these `states`, as the column says, such as conflict, check-failed, pending or merged; those that are gone too")
	flags.StringSliceVar(&recorded, "record", nil, "only those with these `words` in their record, such as ready, trashed, pending or discarded; those that are gone too")
	flags.StringVar(&filter.Session, "session", "", "only those of this session")
	flags.StringVar(&filter.Role, "role", "", "only those with this role")
	flags.StringVar(&filter.Agent, "agent", "", "only those of this agent")
	flags.StringVar(&filter.Branch, "branch", "", "only those on this `branch`")
	flags.StringVar(&filter.Target, "target", "", "only those whose work goes to this `branch`")
	addMetaFlag(cmd, &meta, "only those with this `KEY=VALUE`; repeat it for more")
	for _, flag := range []string{"agent", "branch", "target"} {
		registerCompletion(cmd, flag, cobra.NoFileCompletions)
	}
	registerCompletion(cmd, "session", a.completeSession)
	registerCompletion(cmd, "role", a.completeRole)
	completeWords(cmd, "state", wordsOf(croft.Conditions())...)
	completeWords(cmd, "record", append(wordsOf(workspaceStates()), wordsOf(mergeStatuses())...)...)
	return cmd
}

// lookTime is how long a list may look at files and commits: a person at a terminal waits
// for a moment, a program that reads the list says whether it wants to.
func (a *app) lookTime(isFull bool) croft.Duration {
	const moment = croft.Duration(300 * time.Millisecond)
	switch {
	case isFull:
		return croft.NoLimit
	case a.env.Width > 0:
		return moment
	}
	return 0
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
			return usageError(cmd, "unknown state "+quoted(word)+": "+strings.Join(wordsOf(croft.Conditions()), ", "))
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
			return usageError(cmd, "unknown word "+quoted(word)+": "+strings.Join(known, ", "))
		}
	}
	return nil
}

func (a *app) runList(ctx context.Context, svc overviewer, filter croft.WorkspacesRequest, isAll bool) error {
	if filter.Asks != "" {
		if err := a.needsRecord("list"); err != nil {
			return err
		}
	}
	workspaces, err := svc.Workspaces(ctx, filter)
	if err != nil {
		return err
	}
	a.settleRuns(workspaces.Items...)
	result := workspacesResult{Workspaces: a.withCommands(workspaces.Items), Cursor: workspaces.Cursor, Unseen: workspaces.Unseen}
	if filter.Repos == croft.ScopeAll || a.repo != "" {
		nameRepos(result.Workspaces)
	}
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
	if filter.Asks != "" && len(workspaces.Items) == 0 {
		a.note("no agent waits for you, as far as agents say: croft init --claude, or --codex, has them say it")
	} else if len(workspaces.Items) == 0 && isFiltered(filter) {
		a.note("no such workspaces")
	} else if len(workspaces.Items) == 0 {
		a.note("no workspaces")
		a.note("hint: croft new NAME")
	} else {
		rows := a.workspaceRows(result.Workspaces)
		if filter.Repos == croft.ScopeAll {
			addProjects(rows, result.Workspaces)
		}
		a.printYielding(rows, yield{"BRANCH", yieldWhole}, yield{"COLLIDES WITH", yieldName}, yield{"AGE", yieldWhole},
			yield{"HEAD", yieldWhole}, yield{"WHY", yieldName}, yield{"WHY", yieldWhole}, yield{"COLLIDES WITH", yieldWhole}, yield{"NAME", yieldName})
	}
	a.noteUnseen(workspaces, filter)
	if a.isRecordHidden() {
		a.note("git knows worktrees that Croft made; isolated, adopted and finished workspaces are not listed")
	}
	if result.Worktrees != nil {
		a.printTable(a.worktreeRows(*result.Worktrees))
	}
	return nil
}

// isFiltered reports whether a request leaves workspaces out.
func isFiltered(f croft.WorkspacesRequest) bool {
	return len(f.States)+len(f.MergeStatuses)+len(f.Conditions)+len(f.Meta) > 0 ||
		strings.Join([]string{f.Session, f.Role, f.Agent, f.Branch, f.Target}, "") != ""
}

// addProjects adds a column with the project of each workspace.
func addProjects(rows [][]cell, list []croft.Workspace) {
	rows[0] = append(headingRow("PROJECT"), rows[0]...)
	for i, ws := range list {
		rows[i+1] = append(plainRow(strings.TrimSuffix(filepath.Base(ws.Repo), ".git")), rows[i+1]...)
	}
}

// nameRepos adds the project to the commands for workspaces of several projects.
func nameRepos(list []croft.Workspace) {
	for i, ws := range list {
		if ws.Next != nil && ws.Next.Command != "" {
			next := *ws.Next
			next.Command += " --repo " + shellWord(ws.Repo)
			list[i].Next = &next
		}
	}
}

// workspaceRows returns the rows of the table of workspaces. There is a column for
// collisions only if the last forecast saw one.
func (a *app) workspaceRows(workspaces []croft.Workspace) [][]cell {
	collides := slices.ContainsFunc(workspaces, func(ws croft.Workspace) bool { return len(ws.Collides) > 0 })
	names := []string{"NAME", "STATE", "WHY", "BRANCH", "HEAD", "AGE"}
	if collides {
		names = append(names, "COLLIDES WITH")
	}
	rows := [][]cell{headingRow(append(names, "NEXT")...)}
	now := a.env.Now()
	for i := range workspaces {
		ws := &workspaces[i]
		state, why := conditionCells(ws)
		row := []cell{
			plainCell(ws.Name), state, why,
			plainCell(orDash(ws.Branch)),
			plainCell(orDash(shortCommit(ws.Head))),
			plainCell(ageText(now, ws.CreatedAt)),
		}
		if collides {
			row = append(row, styledCell(orDash(fewNames(ws.Collides)), styleYellow))
		}
		rows = append(rows, append(row, nextCell(ws)))
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
	return slices.DeleteFunc(worktrees.Items, func(wt croft.Worktree) bool { return wt.Workspace != "" }), nil
}

func orDash(text string) string { return cmp.Or(text, "-") }

// noteUnseen says how many workspaces were not looked at, of which uncommitted work does not
// show.
func (a *app) noteUnseen(list *croft.List[croft.Workspace], filter croft.WorkspacesRequest) {
	if len(list.Unseen) == 0 || a.json {
		return
	}
	command := "croft list --full"
	if filter.Repos == croft.ScopeAll {
		command = "croft list -A --full"
	}
	a.note("%d not looked at: %s", len(list.Unseen), command)
}
