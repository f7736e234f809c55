package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/screen"
	"github.com/spf13/cobra"
)

// creator is the part of croft.Service that `croft new` calls.
type creator interface {
	CreateAll(ctx context.Context, req croft.CreateAllRequest) (*croft.CreateResult, error)
	PlanCreate(ctx context.Context, req croft.CreateAllRequest) (*croft.CreateResult, error)
	provisioner
	croft.Events
}

// layoutSwarm is the preset in which every workspace has a role.
const layoutSwarm = "swarm"

// newOptions are the flags of `croft new`.
type newOptions struct {
	part     croft.CreateRequest // what the flags say about every workspace
	meta     []string
	key      string
	pull     croft.FetchPullRequestRequest
	isDryRun bool
	setUp    setUpMode
}

// setUpMode says whether the commands of new workspaces run.
type setUpMode string

const (
	setUpNow   setUpMode = ""
	setUpLater setUpMode = "later" // croft provision runs them
)

func newNewCommand(a *app) *cobra.Command {
	var opts newOptions
	cmd := &cobra.Command{
		Use:   "new [NAME...]",
		Short: "Make workspaces, all or none",
		Long: `Make workspaces, all or none: if one cannot be made, none is, and the error
says why. Without a name one is invented.

A workspace starts from the branch that you stand on, or from its upstream
where that is strictly ahead, and its work goes back to that branch. Both are
printed.

The approved commands that set workspaces up ([[provision.step]] in croft.toml) run
before the answer, for several workspaces at a time. With --no-provision they do not:
"croft provision NAME" runs them later.`,
		Example: `  croft new fix-login
  croft new --branch feature/search
  croft new --pr 12
  croft new researcher developer reviewer`,
		RunE: func(cmd *cobra.Command, args []string) error {
			req, err := opts.request(cmd, a.dir(), args)
			if err != nil {
				return err
			}
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
				if opts.pull.Number != 0 {
					if err := a.takePullRequest(ctx, svc, opts.pull, &req.Workspaces[0]); err != nil {
						return err
					}
				}
				if opts.isDryRun {
					return a.runPlan(ctx, svc, req)
				}
				return a.runNew(ctx, svc, req, opts.setUp)
			})
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.part.Base, "base", "", "start from this `commit`, branch or tag")
	flags.StringVar(&opts.part.Branch, "branch", "", "take this `branch`, existing or new")
	flags.StringVar(&opts.part.Target, "target", "", "the `branch` that the work goes back to")
	addWordFlag(cmd, &opts.part.Fetch, croft.FetchFirst, "fresh", "", "fetch first")
	flags.IntVar(&opts.pull.Number, "pr", 0, "start from the commits of pull request `N`, and go where it goes")
	flags.StringVar(&opts.pull.Remote, "remote", "", "the `remote` of the pull request (default: origin)")
	flags.StringVar(&opts.part.Role, "role", "", "copy in the configuration of this `role`")
	addWordFlag(cmd, &opts.part.RoleFiles, croft.RoleFilesSkip, "no-role-files", "", "record the role, but copy nothing")
	flags.StringVar(&opts.part.Session, "session", "", "the undertaking that the workspaces belong to")
	flags.StringVar(&opts.part.Agent, "agent", "", "the agent that will work there")
	flags.StringVar(&opts.part.Layout, "layout", "", "where they lie and how their branches are called: a `preset`")
	flags.StringVar((*string)(&opts.part.Mode), "mode", "", "how they are kept apart: auto, worktree, isolated or legacy")
	addMetaFlag(cmd, &opts.meta, "record `KEY=VALUE` with them; repeat it for more")
	addKeyFlag(cmd, &opts.key)
	flags.BoolVarP(&opts.isDryRun, "dry-run", "n", false, "only tell what would be made: name, branch and path")
	addWordFlag(cmd, &opts.setUp, setUpLater, "no-provision", "", "do not run the commands that set them up")
	completeWords(cmd, "layout", "default", "agents", layoutSwarm, "sibling", "claude", "rounds", "massgen")
	completeWords(cmd, "mode", modeWords()...)
	registerCompletion(cmd, "session", a.completeSession)
	registerCompletion(cmd, "role", a.completeRole)
	for _, flag := range []string{"agent", "pr", "remote"} {
		registerCompletion(cmd, flag, cobra.NoFileCompletions)
	}
	return cmd
}

func modes() []croft.Mode {
	return []croft.Mode{croft.ModeAuto, croft.ModeWorktree, croft.ModeIsolated, croft.ModeLegacy}
}

func modeWords() []string { return wordsOf(modes()) }

func checkMode(cmd *cobra.Command, mode croft.Mode) error {
	if mode != "" && !slices.Contains(modes(), mode) {
		return usageError(cmd, "unknown mode "+quoted(string(mode))+": auto, worktree, isolated or legacy")
	}
	return nil
}

// request turns flags and names into a request. A workspace of the swarm is
// called like its role: a missing name is the role, and a missing role the name.
func (o newOptions) request(cmd *cobra.Command, dir string, names []string) (croft.CreateAllRequest, error) {
	req := croft.CreateAllRequest{Key: o.key, Repo: dir}
	part := o.part
	if err := checkMode(cmd, part.Mode); err != nil {
		return req, err
	}
	var err error
	if part.Meta, err = parseMeta(cmd, o.meta); err != nil {
		return req, err
	}
	if part.Branch != "" && len(names) > 1 {
		return req, usageError(cmd, "one branch cannot be checked out in "+countNoun(len(names), "workspace"))
	}
	if err := o.checkPull(cmd, names); err != nil {
		return req, err
	}
	if len(names) == 0 && o.pull.Number > 0 {
		names = []string{fmt.Sprintf("pr-%d", o.pull.Number)}
	}
	if len(names) == 0 {
		names = []string{part.Role}
	}
	for _, name := range names {
		ws := part
		ws.Name = name
		if ws.Role == "" && ws.Layout == layoutSwarm {
			ws.Role = name
		}
		req.Workspaces = append(req.Workspaces, ws)
	}
	return req, nil
}

// checkPull refuses flags that do not go with --pr.
func (o newOptions) checkPull(cmd *cobra.Command, names []string) error {
	switch {
	case !cmd.Flag("pr").Changed && o.pull.Remote != "":
		return usageError(cmd, "--remote names the remote of a --pr")
	case !cmd.Flag("pr").Changed:
		return nil
	case o.pull.Number <= 0:
		return usageError(cmd, "the number of a pull request is 1 or more")
	case o.part.Base != "" || o.part.Branch != "" || o.part.Fetch != "":
		return usageError(cmd, "--pr names what to start from, so --base, --branch and --fresh do not go with it")
	case len(names) > 1:
		return usageError(cmd, "one pull request becomes one workspace")
	}
	return nil
}

// takePullRequest fetches a pull request, and makes it the beginning of a workspace.
func (a *app) takePullRequest(ctx context.Context, svc croft.Pushes, req croft.FetchPullRequestRequest, ws *croft.CreateRequest) error {
	req.Repo = a.dir()
	stop := a.startProgress(fmt.Sprintf("fetching pull request %d", req.Number))
	pull, err := svc.FetchPullRequest(ctx, req)
	stop()
	if err != nil {
		return err
	}
	ws.Base = pull.Commit
	if ws.Target == "" {
		ws.Target = pull.Base
	}
	meta := map[string]string{"pull-request": fmt.Sprint(pull.Number)}
	maps.Copy(meta, ws.Meta)
	ws.Meta = meta
	if pull.Title != "" {
		a.note("#%d: %s", pull.Number, pull.Title)
	}
	return nil
}

func (a *app) runPlan(ctx context.Context, svc creator, req croft.CreateAllRequest) error {
	list, err := svc.PlanCreate(ctx, req)
	if err != nil {
		return err
	}
	if a.json {
		a.emit(workspacesResult{Workspaces: list.Workspaces})
		return nil
	}
	var rows [][]cell
	for _, ws := range list.Workspaces {
		rows = append(rows, plainRow(ws.Name, ws.Branch, a.shownPath(ws.Path)))
	}
	a.printTable(rows)
	a.note("nothing was made")
	return nil
}

func (a *app) runNew(ctx context.Context, svc creator, req croft.CreateAllRequest, setUp setUpMode) error {
	stop := a.startCounted(ctx, svc, "making "+countNoun(len(req.Workspaces), "workspace"), "create", len(req.Workspaces))
	workspaces, err := svc.CreateAll(ctx, req)
	stop()
	if err != nil {
		return a.withNoneMade(err, len(req.Workspaces))
	}
	var setupErr error
	if setUp == setUpNow {
		setupErr = a.setUp(ctx, svc, workspaces.Workspaces, croft.ProvisionSteps, req.Key) // they are made in any case
	}
	if a.json {
		a.emit(workspacesResult{Workspaces: a.withCommands(workspaces.Workspaces)})
	} else {
		a.printNew(workspaces.Workspaces)
	}
	a.noteWorkspaceNotes(workspaces.Workspaces...)
	if setupErr == nil {
		a.noteProvision(workspaces.Workspaces...)
	}
	if a.isShown() {
		a.remarkShell(workspaces.Workspaces)
	}
	if setupErr == nil {
		a.noteSetupNext(workspaces.Workspaces...)
	}
	if len(workspaces.Workspaces) > 0 {
		root := workspaces.Workspaces[0].Repo
		a.after = append(a.after, func() {
			a.startUpkeep(root)
			a.startFilling(root)
		})
	}
	return setupErr
}

// withNoneMade adds to an error for people that all of several workspaces are missing: they are made all or not at all.
func (a *app) withNoneMade(err error, asked int) error {
	var refused *croft.Error
	if a.json || asked < 2 || !errors.As(err, &refused) || errors.Is(err, croft.Canceled) {
		return err
	}
	told := *refused
	told.Details = strings.TrimPrefix(refused.Details+fmt.Sprintf("\nnone of the %d was made", asked), "\n")
	return &told
}

// noteWorkspaceNotes remarks what the Service noted of workspaces, once if it noted the same of several.
func (a *app) noteWorkspaceNotes(workspaces ...croft.Workspace) {
	const most = 3
	names, order := map[string][]string{}, []string{}
	for _, ws := range workspaces {
		for _, note := range ws.Notes {
			if len(names[note]) == 0 {
				order = append(order, note)
			}
			if !slices.Contains(names[note], ws.Name) {
				names[note] = append(names[note], ws.Name)
			}
		}
	}
	for _, note := range order {
		of := strings.Join(names[note], ", ")
		if n := len(names[note]); n > most {
			of = countNoun(n, "workspace")
		}
		a.note("%s: %s", of, note)
	}
}

// printNew prints where the workspaces are, and once for each starting point
// where they come from.
func (a *app) printNew(workspaces []croft.Workspace) {
	if a.env.Width > 0 {
		a.printMade(workspaces)
		return
	}
	var rows [][]cell
	var origins []string
	for _, ws := range workspaces {
		rows = append(rows, plainRow(ws.Name, ws.Branch, a.shownPath(ws.Path)))
		if from := originText(ws); from != "" && !slices.Contains(origins, from) {
			origins = append(origins, from)
		}
	}
	for _, from := range origins {
		a.note("%s", from)
	}
	a.printTable(rows)
}

// printMade says on a terminal where the workspaces are, and where they come from.
func (a *app) printMade(workspaces []croft.Workspace) {
	var list []outcome
	var origins []string
	for _, ws := range workspaces {
		detail := []screen.Span{{Text: printable(ws.Branch)}}
		list = append(list, outcome{Kind: screen.Done, Name: ws.Name, Word: a.shownPath(ws.Path), Detail: detail, IsPlain: true})
		from, _, _ := strings.Cut(originText(ws), " → ")
		if from != "" && ws.Target != "" {
			from += fmt.Sprintf(", %s work goes back to %s", map[bool]string{true: "its", false: "their"}[len(workspaces) == 1], ws.Target)
		}
		if from != "" && !slices.Contains(origins, from) {
			origins = append(origins, from)
		}
	}
	a.printOutcomes(list...)
	for _, from := range origins {
		a.remarkText(screen.Span{Text: from, Style: styleDim})
	}
}

// remarkShell says that one can go into the first of new workspaces now.
func (a *app) remarkShell(workspaces []croft.Workspace) {
	if len(workspaces) > 0 {
		a.remarkText(screen.Span{Text: "next: ", Style: styleDim}, command("croft sh "+shellWord(workspaces[0].Name)))
	}
}

// originText says where a workspace starts and where its work goes back to.
func originText(ws croft.Workspace) string {
	if ws.Base == "" {
		return ""
	}
	from := "from " + shortCommit(ws.Base)
	if ws.BaseRef != "" && ws.BaseRef != ws.Base {
		from = "from " + ws.BaseRef + "@" + shortCommit(ws.Base)
	}
	if ws.Target == "" {
		return from + ", no target: merge it with --into BRANCH"
	}
	return from + " → " + ws.Target
}
