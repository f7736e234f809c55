package cli

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/listing"
	"github.com/croft-sh/croft/internal/screen"
)

func (a *app) runList(ctx context.Context, svc overviewer, o listOptions) error {
	if o.filter.Asks != "" || o.filter.Maker != "" {
		if err := a.needsRecord("list"); err != nil {
			return err
		}
	}
	result, err := a.readList(ctx, svc, o)
	if err != nil {
		return err
	}
	more := max(len(result.Workspaces)-o.limit, 0)
	if o.limit <= 0 {
		more = 0
	}
	result.Workspaces = result.Workspaces[:len(result.Workspaces)-more]
	if o.isAll {
		foreign, err := foreignWorktrees(ctx, svc, o.filter.Repo)
		if err != nil {
			return err
		}
		result.Worktrees = &foreign
	}
	switch {
	case a.json:
		a.emit(*result)
		return nil
	case len(result.Workspaces) == 0:
		a.noteNoWorkspaces(ctx, svc, o)
	case o.isNames:
		for _, ws := range result.Workspaces {
			a.printLine(printable(ws.Name))
		}
	case a.env.Width == 0:
		a.printPipeList(result.Workspaces, o.filter.Repos == croft.ScopeAll)
	default:
		a.printShownList(ctx, svc, result.Workspaces, o)
	}
	if more > 0 {
		a.note("and %d more: croft list", more)
	}
	if len(result.Unseen) > 0 && !o.isNames {
		a.noteUnseen(result, o.filter)
	}
	if a.isRecordHidden() {
		a.note("git knows worktrees that Croft made; isolated, adopted and finished workspaces are not listed")
	}
	if result.Worktrees != nil {
		a.printTable(a.worktreeRows(*result.Worktrees))
	}
	return nil
}

// readList asks for the workspaces, and puts them into the order in which they are printed.
func (a *app) readList(ctx context.Context, svc overviewer, o listOptions) (*workspacesResult, error) {
	list, err := svc.Workspaces(ctx, o.filter)
	if err != nil {
		return nil, err
	}
	a.settleRuns(list.Items...)
	result := workspacesResult{Workspaces: a.withCommands(list.Items), Cursor: list.Cursor, Unseen: list.Unseen}
	if o.filter.Repos == croft.ScopeAll || a.repo != "" {
		nameRepos(result.Workspaces)
	}
	switch order := o.sort; {
	case order == sortName:
		slices.SortStableFunc(result.Workspaces, func(x, y croft.Workspace) int { return cmp.Compare(x.Name, y.Name) })
	case order == sortKind, order == "" && a.env.Width > 0 && !a.json:
		slices.SortStableFunc(result.Workspaces, listing.ByKind)
	}
	return &result, nil
}

// noteNoWorkspaces says that there are none, and how one begins.
func (a *app) noteNoWorkspaces(ctx context.Context, svc overviewer, o listOptions) {
	switch {
	case o.filter.Asks != "":
		a.note("no agent waits for you, as far as agents say: croft init --claude, or --codex, has them say it")
		return
	case isFiltered(o.filter):
		a.note("no such workspaces")
		return
	case o.filter.Repos == croft.ScopeAll:
		a.note("no workspaces in any project")
		return
	}
	where := "here"
	if repo, err := svc.Repo(ctx, croft.RepoRequest{Repo: o.filter.Repo}); err == nil {
		name := cmp.Or(repo.Name, filepath.Base(repo.Path))
		where = "in " + name
		if repo.Head == "" && repo.GitDir != "" && !repo.IsBare {
			a.note("%s has no commit yet, and a workspace begins from one", name)
			if _, err := svc.CheckRepo(ctx, croft.RepoRequest{Repo: o.filter.Repo}); err != nil {
				a.remarkCommand(croft.AsError("list", err).Hint)
			}
			return
		}
	}
	if past := pastWorkspaces(ctx, svc, o.filter.Repo); past != "" {
		a.note("no workspaces %s now; %s", where, past)
		return
	}
	a.note("no workspaces %s yet", where)
	begin := "croft "
	if a.repo != "" {
		begin += "-C " + shellWord(a.repo) + " "
	}
	for _, line := range [][2]string{
		{begin + "new fix-login", "a checkout and a branch of its own, beside this one"},
		{begin + "new a b c", "three of them, or none"},
		{"croft --help", "the rest"},
	} {
		pad := strings.Repeat(" ", max(24-screen.Width(line[0]), 0))
		a.remark(screen.Span{Text: "  "}, screen.Span{Text: line[0], Style: styleCyan}, screen.Span{Text: pad + "  " + line[1], Style: styleDim})
	}
}

// pastWorkspaces says where the workspaces are that there were; empty if there never was one, or if that is not known.
func pastWorkspaces(ctx context.Context, svc overviewer, repo croft.Ref) string {
	if gone, err := svc.Trash(ctx, croft.TrashRequest{Repo: repo}); err == nil && len(gone.Items) > 0 {
		return fmt.Sprintf("%d in the trash: croft trash", len(gone.Items))
	}
	if acts, err := svc.History(ctx, croft.HistoryRequest{Repo: repo, Page: croft.Page{Limit: 1}}); err == nil && len(acts.Items) > 0 {
		return "what was done: croft history"
	}
	return ""
}

// isFiltered reports whether a request leaves workspaces out.
func isFiltered(f croft.WorkspacesRequest) bool {
	return len(f.States)+len(f.MergeStatuses)+len(f.Conditions)+len(f.Meta) > 0 ||
		strings.Join([]string{f.Session, f.Role, f.Agent, f.Branch, f.Target, string(f.Maker)}, "") != ""
}

// nameRepos adds the project to the commands for workspaces of several projects.
func nameRepos(list []croft.Workspace) {
	for i, ws := range list {
		if ws.Next != nil && ws.Next.Command != "" {
			next := *ws.Next
			next.Command += listing.RepoFlag + shellWord(ws.Repo)
			list[i].Next = &next
		}
	}
}

// printPipeList prints workspaces for a program: all columns, nothing cut.
func (a *app) printPipeList(list []croft.Workspace, areProjectsNamed bool) {
	rows := [][]cell{headingRow(listing.PipeColumns()...)}
	for i := range list {
		row := plainRow(listing.PipeRow(&list[i], a.env.Now())...)
		row[1].style = kindOf(&list[i]).Style()
		rows = append(rows, row)
	}
	if areProjectsNamed {
		rows[0] = append(headingRow("PROJECT"), rows[0]...)
		for i, ws := range list {
			rows[i+1] = append(plainRow(listing.ProjectName(ws.Repo)), rows[i+1]...)
		}
	}
	a.printTable(rows)
}

// printShownList prints workspaces on a terminal, and says how many there are of each kind.
func (a *app) printShownList(ctx context.Context, svc overviewer, list []croft.Workspace, o listOptions) {
	var repos []croft.Repo
	if o.filter.Repos == croft.ScopeAll {
		if known, err := svc.Repos(ctx, croft.ReposRequest{}); err == nil {
			repos = known.Items // without them a project has its path alone
		}
	}
	s := listing.Show(list, a.stdout(), a.listedAt())
	lines := s.Lines(a.stdout(), repos, o.filter.Repos == croft.ScopeAll)
	if o.sort == "" && o.filter.Repos != croft.ScopeAll && a.scrolls(len(lines)+len(s.CountLines(a.env.Width, ""))+promptLines) {
		slices.Reverse(list)
		lines = listing.Show(list, a.stdout(), a.listedAt()).Lines(a.stdout(), nil, false)
		lines = append(lines, lines[0])
	}
	fmt.Fprint(a.out, strings.Join(lines, "\n")+"\n") // output remembers a failure
	for _, line := range s.CountLines(a.env.Width, "") {
		a.remark(line...)
	}
	if n := countCollisions(list); n > 0 {
		a.remark(screen.Span{Text: fmt.Sprintf("    %d will collide: ", n), Style: styleDim}, screen.Span{Text: "croft conflicts", Style: styleCyan})
	}
}

// promptLines are the lines below a list: that of collisions, and the prompt.
const promptLines = 2

// scrolls reports whether so many lines are more than the terminal shows: the first ones are not seen. Then a list ends with
// what is most urgent.
func (a *app) scrolls(lines int) bool {
	if a.env.Size == nil {
		return false
	}
	_, height := a.env.Size()
	return height > 0 && lines > height
}

// countCollisions counts the workspaces that will collide with another one, which is not yet merged.
func countCollisions(list []croft.Workspace) int {
	n := 0
	for _, ws := range list {
		if slices.ContainsFunc(ws.Collides, func(name string) bool { return name != ws.Target }) {
			n++
		}
	}
	return n
}

// listedAt is where and when a list is shown.
func (a *app) listedAt() listing.At {
	return listing.At{Now: a.env.Now(), Dir: a.env.Dir, Home: a.env.Home, Repo: a.repo}
}

// noteUnseen says how many workspaces were not looked at, of which uncommitted work does not
// show. Those whose state says something else were looked at in part.
func (a *app) noteUnseen(result *workspacesResult, filter croft.WorkspacesRequest) {
	command := "croft list --full"
	if filter.Repos == croft.ScopeAll {
		command = "croft list -A --full"
	}
	nPartly := 0
	for i := range result.Workspaces {
		if ws := &result.Workspaces[i]; !ws.IsUnseen() && slices.Contains(result.Unseen, ws.ID) {
			nPartly++
		}
	}
	var texts []string
	if n := len(result.Unseen) - nPartly; n > 0 {
		texts = append(texts, fmt.Sprintf("%d not looked at", n))
	}
	if nPartly > 0 {
		texts = append(texts, fmt.Sprintf("%d looked at in part", nPartly))
	}
	a.note("%s: %s", strings.Join(texts, ", "), command)
}
