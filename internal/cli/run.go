package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// Agents runs agents. Required for `run`.
type Agents struct {
	Process int // this one
	// IsWithin reports whether the agent of a workspace has started this process.
	IsWithin func(workspace croft.ID) bool
	// Check refuses a command that cannot be run, before a workspace is made for it, and says who runs it.
	Check func(command []string) (By, error)
	// Start has an agent's own supervisor start it. A run of it follows the agent.
	Start func(ctx context.Context, a AgentRun) error
	// Run runs an agent until it has ended, nothing is left of it, and its work is finished.
	Run func(ctx context.Context, a AgentRun) (*AgentEnd, error)
	// Settle waits for the end of a run whose supervisor is gone, and finishes its work.
	Settle func(ctx context.Context, svc croft.Service, ws croft.Workspace) (*croft.Merge, error)
}

// By says who starts an agent and keeps it running.
type By string

// Who does.
const (
	ByCroft  By = ""
	ByItself By = "itself" // a supervisor of the agent's own: Croft follows it
)

// AgentRun is an agent to be run.
type AgentRun struct {
	Service   croft.Service
	Workspace croft.Workspace
	Run       croft.Run // as it was begun
	Command   []string
	Output    AgentOutput
}

// AgentOutput says where the output of an agent goes, beside its log.
type AgentOutput string

// Where it goes.
const (
	AgentHere   AgentOutput = ""       // to the caller's terminal, or to its output
	AgentNoHere AgentOutput = "nohere" // nowhere else
)

// AgentEnd is how an agent ended.
type AgentEnd struct {
	Run        croft.Run
	Merge      *croft.Merge // nil: its work was not finished
	Unfinished error        // why, if it should have been
	// HasOpenLine: the last line that it printed here has no end.
	HasOpenLine bool
}

// runResult is the answer of `croft run` and `croft stop`.
type runResult struct {
	Workspace croft.Workspace `json:"workspace"`
	Run       croft.Run       `json:"run"`
	Merge     *croft.Merge    `json:"merge,omitempty"` // what became of the work
}

// runner is the part of croft.Service that `croft run` calls.
type runner interface {
	creator
	finder
	BeginRun(ctx context.Context, req croft.BeginRunRequest) (*croft.Run, error)
	RecordRun(ctx context.Context, req croft.RecordRunRequest) (*croft.Run, error)
	WaitMerge(ctx context.Context, req croft.WaitRequest) (*croft.Merge, error)
}

// runOptions are the flags of `croft run`.
type runOptions struct {
	part              croft.CreateRequest
	begin             croft.BeginRunRequest
	isMerge, isKeep   bool
	isDetached        bool
	supervise, settle string // for this program itself
}

func newRunCommand(a *app) *cobra.Command {
	var opts runOptions
	cmd := &cobra.Command{
		Use:   "run [NAME] -- COMMAND...",
		Short: "Run an agent in a workspace, and finish its work when it has ended",
		Long: `Run an agent in a workspace, with the workspace's variables, on this terminal. The
workspace is made and set up if there is none of that name.

While it runs the workspace is in use, "croft list" shows what it does, and all that it
prints is kept: "croft logs --agent NAME". When it has ended, what it started and left
running is ended, too, and its work is finished by its exit status, as "croft finish" does
it. It is merged only with --merge, or where the layout says so.

Changes outside of the workspace that are seen meanwhile are named: the project's own
checkout, and branches of nobody who is at work. Who made them cannot be seen.

With --detach it runs without a terminal, and this command returns at once; "croft stop"
ends it. The same goes for "claude --bg": Claude Code's own supervisor runs it then, and
Croft follows it.

The exit status is that of the agent. If that succeeded and its work could not be finished,
or with --merge not be merged, it is that of "croft finish" or "croft merge".`,
		Example: `  croft run fix-login -- claude "fix the login"
  croft run fix-login --detach -- codex exec "fix the login"
  croft run tests -- make test`,
		Args: func(cmd *cobra.Command, args []string) error { return opts.check(cmd, args) },
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error { return a.runRun(ctx, svc, opts, cmd, args) })
		},
		ValidArgsFunction: a.completeOne,
	}
	flags := cmd.Flags()
	flags.BoolVarP(&opts.isDetached, "detach", "d", false, "let it run in the background, without a terminal")
	flags.StringVar(&opts.part.Role, "role", "", "if the workspace is made: copy in the configuration of this `role`")
	flags.StringVar(&opts.part.Base, "base", "", "if the workspace is made: start from this `commit`, branch or tag")
	addWordFlag(cmd, &opts.begin.Finish, croft.FinishNever, "no-finish", "", "commit and merge nothing when it has ended")
	flags.BoolVar(&opts.isMerge, "merge", false, "merge the work if it succeeded, whatever the layout says")
	flags.BoolVar(&opts.isKeep, "no-merge", false, "do not merge the work, whatever the layout says")
	formerFlag(cmd, "no-merge", "keep", "")
	flags.StringVar(&opts.supervise, "supervise", "", "")
	flags.StringVar(&opts.settle, "settle", "", "")
	_, _ = flags.MarkHidden("supervise"), flags.MarkHidden("settle")
	cmd.MarkFlagsMutuallyExclusive("merge", "no-merge", "keep", "no-finish")
	registerCompletion(cmd, "role", a.completeRole)
	return cmd
}

// check refuses arguments that are no workspace and a command.
func (o *runOptions) check(cmd *cobra.Command, args []string) error {
	if o.settle != "" {
		return nil
	}
	switch at := cmd.ArgsLenAtDash(); {
	case at < 0:
		return usageError(cmd, "which command? It stands after --: croft run NAME -- COMMAND")
	case at > 1:
		return usageError(cmd, fmt.Sprintf("one workspace stands before --, not %d", at))
	case len(args) == at || args[at] == "":
		return usageError(cmd, "which command? It stands after --")
	}
	switch {
	case o.isMerge:
		o.begin.Policy = croft.MergeAlways
	case o.isKeep:
		o.begin.Policy = croft.MergeNever
	}
	return nil
}

func (a *app) runRun(ctx context.Context, svc croft.Service, opts runOptions, cmd *cobra.Command, args []string) error {
	if opts.settle != "" {
		ws, err := svc.Workspace(ctx, croft.WorkspaceRequest{Repo: a.dir(), Ref: croft.ByID(croft.ID(opts.settle))})
		if err != nil {
			return err
		}
		m, err := a.env.Agents.Settle(ctx, svc, *ws)
		return errors.Join(err, waitForMerge(ctx, svc, m))
	}
	at := cmd.ArgsLenAtDash()
	command := args[at:]
	if opts.supervise != "" {
		return a.superviseBegun(ctx, svc, args[0], croft.ID(opts.supervise), command)
	}
	by, err := a.env.Agents.Check(command)
	if err != nil {
		return err
	}
	ws, err := a.workspaceToRun(ctx, svc, opts, args[:at])
	if err != nil {
		return err
	}
	opts.begin.Supervisor.PID = a.env.Agents.Process
	opts.begin.Repo, opts.begin.Workspace, opts.begin.Command = a.dir(), croft.ByID(ws.ID), command
	begun, err := svc.BeginRun(ctx, opts.begin)
	if err != nil {
		return err
	}
	if by == ByItself {
		if err := a.startByItself(ctx, svc, AgentRun{Service: svc, Workspace: *ws, Run: *begun, Command: command}); err != nil {
			return err
		}
	}
	if opts.isDetached || by == ByItself {
		return a.runDetached(ctx, svc, *ws, *begun, command)
	}
	a.note("%s: %s runs in %s", ws.Name, filepath.Base(command[0]), a.shownPath(ws.Path))
	where := AgentHere
	if a.json {
		where = AgentNoHere
	}
	end, err := a.env.Agents.Run(ctx, AgentRun{Service: svc, Workspace: *ws, Run: *begun, Command: command, Output: where})
	if err != nil {
		return err
	}
	return a.showEnd(context.WithoutCancel(ctx), svc, *ws, *end)
}

// workspaceToRun finds the workspace that an agent is to run in, or makes it and sets it up.
func (a *app) workspaceToRun(ctx context.Context, svc runner, opts runOptions, names []string) (*croft.Workspace, error) {
	if len(names) == 0 || names[0] != "" {
		ws, err := svc.Workspace(ctx, a.workspaceRequest(names))
		switch {
		case err == nil:
			if ws.Provision == nil || ws.Provision.State == croft.ProvisionReady {
				return ws, nil
			}
			if err := a.setUpAgain(ctx, svc, ws); err != nil {
				return nil, err
			}
			return svc.Workspace(ctx, croft.WorkspaceRequest{Repo: a.dir(), Ref: croft.ByID(ws.ID)}) // it may have variables that were approved since
		case len(names) == 0 || !errors.Is(err, croft.WorktreeNotFound):
			return nil, err
		}
	}
	part := opts.part
	part.Name = names[0]
	stop := a.startProgress("making " + part.Name)
	made, err := svc.CreateAll(ctx, croft.CreateAllRequest{Repo: a.dir(), Workspaces: []croft.CreateRequest{part}})
	stop()
	if err != nil {
		return nil, err
	}
	ws := made.Workspaces[0]
	a.note("%s: made, there was none of that name: %s, %s", ws.Name, ws.Branch, originText(ws))
	setupErr := a.setUp(ctx, svc, made.Workspaces, croft.ProvisionSteps, "")
	a.noteWorkspaceNotes(made.Workspaces...)
	if setupErr == nil {
		a.noteProvision(made.Workspaces...)
		a.noteSetupNext(made.Workspaces...)
	}
	return &made.Workspaces[0], setupErr
}

// setUpAgain goes on with the set-up of a workspace that is not set up.
func (a *app) setUpAgain(ctx context.Context, svc runner, ws *croft.Workspace) error {
	stop := a.startProgress("setting up " + ws.Name)
	err := setUpOne(ctx, svc, ws, croft.ProvisionSteps, "")
	stop()
	if err != nil {
		return err
	}
	a.noteSetup(ws.Provision, " "+shellWord(ws.Name))
	return nil
}

// superviseBegun runs an agent whose run another process has begun. It is what --detach starts. An agent may be faster than its
// supervisor, which records that it runs, and could take its own run over.
func (a *app) superviseBegun(ctx context.Context, svc croft.Service, name string, id croft.ID, command []string) error {
	if a.env.Agents.IsWithin(croft.ID(name)) {
		return &croft.Error{Code: croft.RunNotFound, Op: "run", Message: "an agent does not take over its own run"}
	}
	ws, err := svc.Workspace(ctx, croft.WorkspaceRequest{Repo: a.dir(), Ref: croft.ByID(croft.ID(name))})
	if err != nil {
		return err
	}
	if ws.Run == nil || ws.Run.ID != id || ws.Run.State != croft.RunStarting {
		return &croft.Error{Code: croft.RunNotFound, Op: "run", Workspace: ws.Name, Message: "the run has not begun, or somebody runs it, or another one has followed"}
	}
	end, err := a.env.Agents.Run(ctx, AgentRun{Service: svc, Workspace: *ws, Run: *ws.Run, Command: command, Output: AgentNoHere})
	if err != nil {
		return err
	}
	return waitForMerge(context.WithoutCancel(ctx), svc, end.Merge)
}

// waitForMerge waits for the end of a merge, which drives its lane meanwhile.
func waitForMerge(ctx context.Context, svc runner, m *croft.Merge) error {
	if m == nil || m.State == croft.MergeDone {
		return nil
	}
	_, err := svc.WaitMerge(ctx, croft.WaitRequest{Merge: m.ID})
	return err
}

// startWait is how long an agent in the background may take to be started.
const startWait = 15 * time.Second

// runDetached starts a process that supervises the agent, and waits until the agent runs.
func (a *app) runDetached(ctx context.Context, svc runner, ws croft.Workspace, begun croft.Run, command []string) error {
	args := append([]string{"-C", string(a.dir()), "run", "--supervise", string(begun.ID), string(ws.ID), "--"}, command...)
	if err := a.env.Detach(args...); err != nil {
		return err
	}
	for started := a.env.Now(); ; {
		now, err := svc.Workspace(ctx, croft.WorkspaceRequest{Repo: a.dir(), Ref: croft.ByID(ws.ID)})
		if err != nil {
			return err
		}
		if r := now.Run; r != nil && r.ID == begun.ID && (r.State == croft.RunRunning || r.State == croft.RunEnded) {
			if a.json {
				a.emit(runResult{Workspace: *now, Run: *r})
				return nil
			}
			a.note("%s: %s runs in %s, in the background", ws.Name, filepath.Base(command[0]), a.shownPath(ws.Path))
			a.remarkNext("croft logs --agent -f " + shellWord(ws.Name))
			return nil
		}
		if a.env.Now().Sub(started) > startWait {
			_, err := svc.RecordRun(ctx, croft.RecordRunRequest{Repo: a.dir(), Workspace: croft.ByID(ws.ID), Run: begun.ID, End: croft.RunLost})
			return errors.Join(&croft.Error{Code: croft.Internal, Op: "run", Workspace: ws.Name, Message: "the agent was not started in " + startWait.String()}, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// showEnd prints how an agent ended and what became of its work.
func (a *app) showEnd(ctx context.Context, svc runner, ws croft.Workspace, end AgentEnd) error {
	if m := end.Merge; m != nil && m.State != croft.MergeDone {
		waited, err := svc.WaitMerge(ctx, croft.WaitRequest{Merge: m.ID})
		if err != nil {
			return err
		}
		end.Merge = waited
	}
	if now, err := svc.Workspace(ctx, croft.WorkspaceRequest{Repo: a.dir(), Ref: croft.ByID(ws.ID), Scope: croft.ScopeAll, Look: croft.Duration(time.Second)}); err == nil {
		ws = *now
	}
	if a.json {
		a.emit(runResult{Workspace: ws, Run: end.Run, Merge: end.Merge})
	} else {
		if end.HasOpenLine {
			a.printLine("")
		}
		if a.isShown() {
			a.tellEnd(ctx, svc, ws, end)
		} else {
			a.printEnd(ws, end)
		}
	}
	if end.Unfinished != nil {
		why := *croft.AsError("run", end.Unfinished)
		why.Workspace = ws.Name // it was asked for by its ID
		return &why
	}
	if end.Run.Status != 0 {
		return statusError(end.Run.Status)
	}
	if end.Merge != nil && end.Run.Policy == croft.MergeAlways {
		return mergesExitStatus([]croft.Merge{*end.Merge}, croft.MergeMerged)
	}
	return nil
}

// printEnd prints how an agent ended, what became of its work, and what to do next.
func (a *app) printEnd(ws croft.Workspace, end AgentEnd) {
	state, _ := conditionCells(&ws)
	a.printTable([][]cell{{plainCell(ws.Name), state, plainCell(a.endText(end.Run))}})
	if end.Merge != nil && ws.Status != croft.ConditionEmpty && !hasNoWork(ws, end) {
		a.explainMerge(*end.Merge)
	}
	a.noteIntrusions(end.Run)
	a.remarkStep(ws)
	a.noteTryAgain(ws, end)
}

// hasNoWork reports whether an agent has ended and its workspace is at the commit from which it was made.
func hasNoWork(ws croft.Workspace, end AgentEnd) bool {
	return end.Merge != nil && end.Merge.Head == ws.Base && ws.Base != ""
}

// noteTryAgain says what can be done where an agent has failed and left nothing.
func (a *app) noteTryAgain(ws croft.Workspace, end AgentEnd) {
	if hasNoWork(ws, end) && (ws.Status == croft.ConditionFailed || ws.Status == croft.ConditionKilled) {
		name := shellWord(ws.Name)
		a.remarkText(prose("it has left no work; to try again: croft run %s -- COMMAND; to remove it: ", name), command("croft remove "+name))
	}
}

// endText says how an agent ended, and after which time.
func (a *app) endText(r croft.Run) string {
	program := "the agent"
	if len(r.Command) > 0 {
		program = filepath.Base(r.Command[0])
	}
	how := cmp.Or(r.Ending(), "is "+string(r.State))
	if !r.EndedAt.IsZero() {
		verb, why, _ := strings.Cut(how, ", ")
		how = verb + " after " + ageText(r.EndedAt, r.StartedAt)
		if why != "" {
			how += ", " + why
		}
	}
	return program + " " + how
}

// noteIntrusions names what changed outside of a workspace while its agent ran.
func (a *app) noteIntrusions(r croft.Run) {
	const most = 5
	for i, found := range r.Intrusions {
		if i == most {
			a.note("… and %d more: croft show", len(r.Intrusions)-most+r.MoreIntrusions)
			return
		}
		a.note("outside of the workspace, while it ran: %s", printable(found.Message))
	}
}

// runLines says of the last run of a workspace what a person has to know of it.
func (a *app) runLines(ws croft.Workspace) (lines []string) {
	r := ws.Run
	if r == nil {
		return nil
	}
	if r.Unfinished != "" {
		lines = append(lines, "its work could not be finished: "+printable(r.Unfinished)+"; to try again: croft finish "+shellWord(ws.Name))
	}
	for _, found := range r.Intrusions {
		lines = append(lines, "outside of the workspace, while it ran: "+printable(found.Message))
	}
	if r.MoreIntrusions > 0 {
		lines = append(lines, fmt.Sprintf("outside of the workspace, while it ran: %d more", r.MoreIntrusions))
	}
	return lines
}

// settleRuns has the ends of runs recorded, and their work finished, of which nobody else may do that: all
// of Croft's processes that waited for them were killed. That is done in the background.
func (a *app) settleRuns(workspaces ...croft.Workspace) {
	if a.readOnly != nil || a.env.Detach == nil {
		return
	}
	for _, ws := range workspaces {
		r := ws.Run
		if r == nil || r.State != croft.RunEnded {
			continue
		}
		isUnfinished := r.FinishedAt.IsZero() && r.Finish != croft.FinishNever && r.How != croft.RunLost
		if r.EndedAt.IsZero() || isUnfinished {
			_ = a.env.Detach("-C", ws.Repo, "run", "--settle="+string(ws.ID)) // the next command tries again
		}
	}
}
