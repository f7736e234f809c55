package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/results"
	"github.com/spf13/cobra"
)

// finder is the part of croft.Service that finds one workspace.
type finder interface {
	Workspace(ctx context.Context, req croft.WorkspaceRequest) (*croft.Workspace, error)
}

// inspector is the part of croft.Service that looks at one workspace.
type inspector interface {
	finder
	Status(ctx context.Context, req croft.StatusRequest) (*croft.Status, error)
}

// shower is the part of croft.Service that `croft show` calls.
type shower interface {
	inspector
	lister
	mergeLister
	differ
}

func newShowCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show [NAME]",
		Short: "Show a workspace and what it holds",
		Long: `Show a workspace and what it holds. One that was merged, discarded or removed is
shown too, with what became of its work and what brings it back.`,
		Args:              takesOptional("workspace"),
		ValidArgsFunction: a.completeOne,
		RunE: a.withService(func(ctx context.Context, svc croft.Service, args []string) error {
			req := a.workspaceRequest(args)
			req.Scope, req.Look = croft.ScopeAll, croft.NoLimit
			return a.runShow(ctx, svc, req)
		}),
	}
}

// lookAtOne returns a workspace and what it holds; nil if there are no files to look at. One that is merged or removed
// between the two looks is looked at again.
func lookAtOne(ctx context.Context, svc inspector, req croft.WorkspaceRequest) (*croft.Workspace, *croft.Status, error) {
	const most, pause = 5, 50 * time.Millisecond
	for try := 1; ; try++ {
		ws, err := svc.Workspace(ctx, req)
		if err != nil || ws.State != croft.Ready && ws.State != croft.Stopped {
			return ws, nil, err
		}
		status, err := svc.Status(ctx, croft.StatusRequest{Workspace: ws.ID})
		goes := []croft.Code{croft.WorktreeNotFound, croft.WorkspaceBroken, croft.WorkspaceBusy}
		if err == nil || try == most || !slices.Contains(goes, croft.AsError("show", err).Code) {
			return ws, status, err
		}
		req.Ref = croft.ByID(ws.ID)
		time.Sleep(pause)
	}
}

func (a *app) runShow(ctx context.Context, svc shower, req croft.WorkspaceRequest) error {
	found, status, err := lookAtOne(ctx, svc, req)
	if err != nil {
		return err
	}
	ws := a.withCommands([]croft.Workspace{*found})[0]
	a.settleRuns(ws)
	if a.json {
		a.emit(showResult{ws, status})
		return nil
	}
	rows := a.detailRows(ws, status)
	merges := mergesInto(ctx, svc, ws.Repo, ws.Target)
	for _, text := range checkTexts(ws, merges) {
		rows = append(rows, []cell{styledCell("checks", styleDim), plainCell(text)})
	}
	if text := appliedText(ctx, svc, ws, merges); text != "" {
		rows = append(rows, []cell{styledCell("applied", styleDim), plainCell(text)})
	}
	if a.env.Width > 0 {
		a.printCard(card{ws, status, conditionSince(ws, merges), shortID(ctx, svc, ws)}, rows)
		return nil
	}
	a.printSentences(rows)
	return nil
}

// mergesInto are the last merges into a target, the newest first. What is told by them is a remark beside the answer:
// if they cannot be read, there are none.
func mergesInto(ctx context.Context, svc mergeLister, repo croft.Ref, target string) []croft.Merge {
	if target == "" {
		return nil
	}
	list, err := svc.Merges(ctx, croft.MergesRequest{Repo: repo, Target: target, Scope: croft.ScopeAll})
	if err != nil {
		return nil
	}
	return list.Items
}

// checkTexts say how the checks of a workspace's last merge went, those that failed at least once.
func checkTexts(ws croft.Workspace, merges []croft.Merge) []string {
	at := slices.IndexFunc(merges, func(m croft.Merge) bool { return m.Workspace == ws.ID && m.Kind == croft.KindMerge })
	if at < 0 || ws.MergeStatus == "" {
		return nil
	}
	var texts []string
	for _, c := range merges[at].Checks {
		if text := results.CheckText(merges[at], c); text != "" {
			texts = append(texts, printable(c.Command)+" "+text)
		}
	}
	return texts
}

// leadsOn reports whether what is shown of a workspace leads on: to show it is no next step then.
func leadsOn(ws croft.Workspace) bool {
	return ws.Next != nil && ws.Next.Command != "" && ws.Next.Command != "croft show "+shellWord(ws.Name)
}

// detailRows are the lines of a workspace that apply to it.
func (a *app) detailRows(ws croft.Workspace, status *croft.Status) [][]cell {
	var rows [][]cell
	add := func(key, value string) {
		if value != "" {
			rows = append(rows, []cell{styledCell(key, styleDim), plainCell(value)})
		}
	}
	add("name", ws.Name)
	add("id", string(ws.ID))
	state, _ := conditionCells(&ws)
	rows = append(rows, []cell{styledCell("state", styleDim), state})
	if !ws.IsUnseen() {
		add("why", ws.Why)
	}
	if ws.IsLocked {
		add("locked", printable(cmp.Or(ws.LockReason, "without a reason")))
	}
	add("path", a.shownPath(ws.Path))
	add("branch", ws.Branch)
	add("head", shortCommit(ws.Head))
	add("base", strings.TrimPrefix(originText(ws), "from "))
	add("role", ws.Role)
	for _, key := range slices.Sorted(maps.Keys(ws.Meta)) {
		add("meta", metaText(key, ws.Meta[key]))
	}
	add("agent", ws.Agent)
	add("agent is", a.activityText(ws.Activity))
	for _, line := range a.runLines(ws) {
		add("its run", line)
	}
	add("session", ws.Session)
	if ws.Round > 0 {
		add("round", fmt.Sprint(ws.Round))
	}
	add("label", ws.Label)
	add("layout", ws.Layout)
	if ws.Mode != croft.ModeWorktree {
		add("mode", string(ws.Mode))
	}
	if ws.MadeWhy != "" && ws.Mode == croft.ModeWorktree {
		add("files", "written by git: "+ws.MadeWhy)
	}
	add("scratch", ws.Scratch)
	if len(ws.Ports) > 0 {
		add("ports", portsText(ws.Ports))
	}
	for _, line := range provisionLines(ws.Provision) {
		add("set up", line)
	}
	for _, step := range failedSteps(ws.Provision) {
		add("output", a.shownPath(step.Log))
	}
	add("merge", results.MergeOutcomeText(ws))
	add("pushed", a.pushText(ws.Push))
	if ws.PullRequest != nil {
		add("pull request", pullText(ws.PullRequest)+", "+printable(ws.PullRequest.URL))
	}
	if !ws.CreatedAt.IsZero() {
		add("created", fmt.Sprintf("%s (%s)", ws.CreatedAt.Format(time.RFC3339), whenText(a.env.Now(), ws.CreatedAt)))
	}
	if !ws.RemovedAt.IsZero() {
		add("removed", whenText(a.env.Now(), ws.RemovedAt))
	}
	if ws.Lease != nil {
		user := processText(*ws.Lease)
		if ws.Lease.Process == "" { // it may be on another machine
			user += " on " + ws.Lease.Owner.Host
		}
		add("in use", user)
	}
	if status != nil {
		add("changes", changesText(*status))
		add("commits", commitsText(*status, ws.Target))
	}
	if leadsOn(ws) {
		add("next", ws.Next.Command)
	}
	return rows
}

// changesText says what is not committed.
func changesText(s croft.Status) string {
	if !s.Dirty() {
		return "none"
	}
	var parts []string
	for _, part := range []struct {
		n    int
		what string
	}{{s.Staged, "staged"}, {s.Modified, "modified"}, {s.Untracked, "untracked"}, {s.Conflicted, "conflicted"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	return strings.Join(parts, ", ")
}

// commitsText says how far the workspace and its target are apart.
func commitsText(s croft.Status, target string) string {
	if target == "" {
		return ""
	}
	return fmt.Sprintf("%d not in %s, %d of %s not here", s.Ahead, target, s.Behind, target)
}
