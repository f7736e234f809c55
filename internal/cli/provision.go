package cli

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// provisionResult is the answer of `croft provision`.
type provisionResult struct {
	Provision croft.Provision `json:"provision"`
}

// provisionPlanResult is the answer of `croft provision --check` and `--explain`.
type provisionPlanResult struct {
	Plan croft.ProvisionPlan `json:"plan"`
}

func newProvisionCommand(a *app) *cobra.Command {
	var req croft.ProvisionRequest
	var isCheck, isExplain bool
	cmd := &cobra.Command{
		Use:   "provision [NAME]",
		Short: "Set a workspace up: bring in what is missing, run what has to run",
		Long: `Bring the files into a workspace that are missing there (.worktreeinclude and
[[provision.path]]), and run the commands by which it is set up ([[provision.step]] and
[[provision.probe]] in the croft.toml of the commit that it began with, or of the newest
one of its target that it has merged): those that have not run, that failed, and whose key files have changed. A second run right after
it writes nothing and runs nothing but the probes.

Nothing that a workspace has is overwritten. With --refresh copies are renewed which the
project has changed since and nobody has in the workspace; those that were edited are
left, and named.

--check writes nothing, and says what differs and what would run; its status is 6 if there
is something. --explain names all that is read, in order, with what it does here and why;
without a NAME for a workspace that would be made now.

Commands that nobody has approved are not run, but named: "croft config trust --setup"
shows and approves them.`,
		Args:              takesOptional("workspace"),
		ValidArgsFunction: a.completeOne,
		RunE: a.withService(func(ctx context.Context, svc croft.Service, args []string) error {
			req.Repo = a.dir()
			if len(args) > 0 {
				req.Workspace = a.workspaceRef(args[0])
			}
			switch {
			case isExplain:
				return a.explainProvision(ctx, svc, croft.PlanProvisionRequest{Repo: req.Repo, Workspace: req.Workspace})
			case isCheck:
				return a.checkProvision(ctx, svc, croft.PlanProvisionRequest{Repo: req.Repo, Workspace: cmp.Or(req.Workspace, croft.Ref(a.env.Dir))})
			}
			return a.runProvision(ctx, svc, req)
		}),
	}
	cmd.Flags().StringSliceVar(&req.Steps, "step", nil, "only these `steps`, also if they succeeded")
	addWordFlag(cmd, &req.Mode, croft.ProvisionAgain, "again", "", "run all steps again")
	addWordFlag(cmd, &req.Mode, croft.ProvisionRefresh, "refresh", "", "renew copies that nobody has changed in the workspace")
	cmd.Flags().BoolVar(&isCheck, "check", false, "write and run nothing, and tell what differs")
	cmd.Flags().BoolVar(&isExplain, "explain", false, "write and run nothing, and tell what asks for what")
	cmd.MarkFlagsMutuallyExclusive("again", "refresh", "check", "explain")
	cmd.MarkFlagsMutuallyExclusive("step", "refresh")
	registerCompletion(cmd, "step", cobra.NoFileCompletions)
	addKeyFlag(cmd, &req.Key)
	return cmd
}

// provisioner is the part of croft.Service that sets workspaces up.
type provisioner interface {
	Provision(ctx context.Context, req croft.ProvisionRequest) (*croft.Provision, error)
}

// setUpTeller is the part of croft.Service that `croft provision` calls.
type setUpTeller interface {
	provisioner
	planner
}

func (a *app) runProvision(ctx context.Context, svc setUpTeller, req croft.ProvisionRequest) error {
	stop := a.startProgress("setting up" + nameOf(req.Workspace))
	got, err := svc.Provision(ctx, req)
	stop()
	if err != nil {
		return err
	}
	if a.json {
		a.emit(provisionResult{*got})
	} else {
		a.printTable(stepRows(*got))
		a.printTable(driftRows(*got))
		a.noteDone(ctx, svc, req, got)
	}
	if len(req.Steps) > 0 { // the others were not asked for
		got.Steps = slices.DeleteFunc(got.Steps, func(s croft.ProvisionedStep) bool { return !slices.Contains(req.Steps, s.Name) })
		isUndone := func(s croft.ProvisionedStep) bool { return s.State != croft.StepDone }
		if got.State != croft.ProvisionUnapproved && !slices.ContainsFunc(got.Steps, isUndone) {
			return nil
		}
	}
	a.noteSetup(got, nameOf(req.Workspace))
	if got.State != croft.ProvisionReady {
		return statusError(croft.ExitFailure)
	}
	return nil
}

// noteDone says what was brought in and how much was run, or why that is nothing.
func (a *app) noteDone(ctx context.Context, svc planner, req croft.ProvisionRequest, got *croft.Provision) {
	switch {
	case got.Brought > 0:
		a.note("brought in %s", countNoun(got.Brought, "file"))
	case got.Ran > 0 || got.State != croft.ProvisionReady:
	case len(got.Steps)+len(got.Paths) > 0:
		a.note("nothing to do: all is there")
	default:
		a.noteNothingAsked(ctx, svc, req)
	}
}

// noteNothingAsked says that nothing sets a workspace up, and what is not used of what looks as if it did.
func (a *app) noteNothingAsked(ctx context.Context, svc planner, req croft.ProvisionRequest) {
	plan, err := svc.PlanProvision(ctx, croft.PlanProvisionRequest{Repo: req.Repo, Workspace: cmp.Or(req.Workspace, croft.Ref(a.env.Dir))})
	if err != nil {
		return
	}
	a.note("nothing to do: "+nothingAsked, plan.Commit)
	for _, remark := range plan.Remarks {
		a.note("%s", printable(remark))
	}
}

// nothingAsked says of a commit that nothing sets its workspaces up.
const nothingAsked = "there is no .worktreeinclude, and croft.toml at %.7s has no steps or paths"

// nameOf returns a space and the name that a workspace was asked for by, or nothing.
func nameOf(ws croft.Ref) string {
	if kind, name := croft.CutRef(ws); name != "" && kind != croft.RefPath {
		return " " + shellWord(name)
	}
	return ""
}

// planner is the part of croft.Service that says what Provision would do.
type planner interface {
	PlanProvision(ctx context.Context, req croft.PlanProvisionRequest) (*croft.ProvisionPlan, error)
}

// checkProvision tells what differs in a workspace, and what would run.
func (a *app) checkProvision(ctx context.Context, svc planner, req croft.PlanProvisionRequest) error {
	plan, err := svc.PlanProvision(ctx, req)
	if err != nil {
		return err
	}
	if a.json {
		a.emit(provisionPlanResult{*plan})
	} else {
		a.printTable(stepRows(plan.Provision))
		a.printTable(driftRows(plan.Provision))
	}
	isBehind := plan.Provision.State != croft.ProvisionReady || plan.Provision.DriftLeft > 0 || slices.ContainsFunc(plan.Provision.Drift, func(d croft.Drift) bool {
		return d.State == croft.DriftStale || d.State == croft.DriftMissing
	})
	if isBehind {
		return statusError(croft.ExitDiffers)
	}
	return nil
}

// explainProvision tells what is read to set a workspace up, and what it does.
func (a *app) explainProvision(ctx context.Context, svc planner, req croft.PlanProvisionRequest) error {
	plan, err := svc.PlanProvision(ctx, req)
	if err != nil {
		return err
	}
	if a.json {
		a.emit(provisionPlanResult{*plan})
		return nil
	}
	rows := [][]cell{}
	for _, item := range plan.Items {
		rows = append(rows, []cell{plainCell(printable(item.Source)), plainCell(printable(item.What)), plainCell(printable(item.Does)), styledCell(printable(item.Why), styleDim)})
	}
	a.printTable(rows)
	for _, remark := range plan.Remarks {
		a.note("%s", printable(remark))
	}
	if len(rows) == 0 && len(plan.Remarks) == 0 {
		a.note("nothing is asked for: "+nothingAsked, plan.Commit)
	}
	return nil
}

// driftRows are the files that differ from what came in, one a line.
func driftRows(p croft.Provision) [][]cell {
	var rows [][]cell
	for _, d := range p.Drift {
		rows = append(rows, []cell{plainCell(printable(d.Path)), plainCell(string(d.State))})
	}
	if p.DriftLeft > 0 {
		rows = append(rows, []cell{plainCell(fmt.Sprintf("and %d more", p.DriftLeft))})
	}
	return rows
}

// stepRows are the steps, one a line.
func stepRows(p croft.Provision) [][]cell {
	var rows [][]cell
	for _, step := range p.Steps {
		style := map[croft.StepState]style{croft.StepDone: styleGreen, croft.StepFailed: styleRed}[step.State]
		rows = append(rows, []cell{plainCell(step.Name), styledCell(string(step.State), style), plainCell(printable(step.Run)), plainCell(printable(step.Why))})
	}
	return rows
}

// mostSetUps is how many workspaces are set up at the same time: their commands load, unpack and build.
func mostSetUps() int { return min(4, max(2, runtime.NumCPU())) }

// setUp runs the commands of new workspaces that have some, several workspaces at a time, and adds to each what became
// of them. A command that fails leaves a workspace that can be used, and set up again; what a command prints is in its
// log, so nothing is mixed.
func (a *app) setUp(ctx context.Context, svc provisioner, workspaces []croft.Workspace, mode croft.ProvisionMode, key string) error {
	var due []*croft.Workspace
	for i, ws := range workspaces {
		if mode != croft.ProvisionSteps || ws.Provision != nil && ws.Provision.State == croft.ProvisionPending {
			due = append(due, &workspaces[i])
		}
	}
	running := &runningSetUps{of: len(due)}
	stop := a.startProgressOf(func() workStage { return workStage{text: running.String()} })
	defer stop()
	errs := make([]error, len(due))
	slots := make(chan struct{}, mostSetUps())
	var all sync.WaitGroup
	for i, ws := range due {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			defer running.begin(ws.Name)()
			errs[i] = setUpOne(ctx, svc, ws, mode, key)
		})
	}
	all.Wait()
	return cmp.Or(errs...)
}

// setUpOne sets a workspace up, and adds to it what became of that.
func setUpOne(ctx context.Context, svc provisioner, ws *croft.Workspace, mode croft.ProvisionMode, key string) error {
	req := croft.ProvisionRequest{Workspace: croft.ByID(ws.ID), Mode: mode}
	if key != "" {
		req.Key = key + "/" + ws.Name
	}
	got, err := svc.Provision(ctx, req)
	if err == nil {
		ws.Provision = got
	}
	return err
}

// runningSetUps are the workspaces that are being set up, for the line of progress.
type runningSetUps struct {
	mu    sync.Mutex
	names []string
	ended int
	of    int
}

// begin adds a workspace, until end is called.
func (r *runningSetUps) begin(name string) (end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.names = append(r.names, name)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.names = slices.DeleteFunc(r.names, func(n string) bool { return n == name })
		r.ended++
	}
}

func (r *runningSetUps) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of <= 1 {
		return "setting up " + fewNames(r.names)
	}
	return fmt.Sprintf("setting up %s (%d of %d done)", fewNames(r.names), r.ended, r.of)
}

// noteSetup says what a workspace that is not set up waits for. name is empty, or a space and its name.
func (a *app) noteSetup(p *croft.Provision, name string) {
	switch p.State {
	case croft.ProvisionUnapproved:
		if n := p.WaitingVariables(); n > 0 {
			a.note("%s", waitingVariables(n))
		}
		if p.WaitsForVariablesOnly() {
			a.remarkNext("croft config trust --setup" + name)
			return
		}
		a.note("%s not run: nobody has approved them", countNoun(countCommands(p.Unapproved), "command"))
		a.remarkNext("croft config trust --setup" + name)
	case croft.ProvisionFailed:
		for _, step := range p.Steps {
			if step.State == croft.StepFailed {
				a.note("%s failed: %s", step.Name, step.Why)
				if step.Tail != "" {
					fmt.Fprintln(a.env.Stderr, printableLines(step.Tail))
				}
			}
		}
	}
}

// countCommands counts the commands and links among what a person approves: variables and the digests of scripts are none.
func countCommands(list []string) int {
	n := 0
	for _, text := range list {
		if !strings.HasPrefix(text, "script ") && !strings.HasPrefix(text, "variable ") {
			n++
		}
	}
	return n
}
