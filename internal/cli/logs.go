package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/results"
	"github.com/spf13/cobra"
)

// logReader is the part of croft.Service that `croft logs` calls.
type logReader interface {
	croft.Events
	runLogReader
	Workspace(ctx context.Context, req croft.WorkspaceRequest) (*croft.Workspace, error)
	Merges(ctx context.Context, req croft.MergesRequest) (*croft.List[croft.Merge], error)
	CheckLog(ctx context.Context, req croft.CheckLogRequest) (*croft.CheckLog, error)
}

// logResult is the output of a check, or of the first command that failed when a workspace was set up.
type logResult struct {
	Log croft.CheckLog `json:"log"`           // with --agent: what the agent printed, or the end of that; it is of no check
	Run *croft.Run     `json:"run,omitempty"` // with --agent: the run that printed it
	// Steps are the commands that failed when it was set up, if no check has run.
	Steps []croft.ProvisionedStep `json:"steps,omitempty"`
}

// logChoice is which output is shown, if not that of the check that decided.
type logChoice struct {
	check croft.ID
	try   int // the run of its command, from 1; zero: the one that decided
}

func newLogsCommand(a *app) *cobra.Command {
	var of logChoice
	var isFollowing, isAgent bool
	cmd := &cobra.Command{
		Use:   "logs NAME",
		Short: "Show what the checks of a workspace's last merge printed",
		Long: `Show the output of the check that decided about the last merge of a workspace: the
one that runs, else one that failed, else the last one. Of a long output the beginning
and the end are kept. A check that fails is run again: --try 1 shows its first run.
"croft queue --all --json" has the IDs of all checks.

If no check has run and the workspace's set-up failed, show the end of what the command
printed that failed.

With --agent it is the output of the last agent that "croft run" started there, and
without it, too, as long as no check has run. Of a removed workspace it is kept, too.`,
		Example: `  croft logs fix-login
  croft logs fix-login --follow
  croft logs fix-login --agent -f`,
		Args:              takesOne("workspace", "its name"),
		ValidArgsFunction: a.completeOne,
		RunE: a.withService(func(ctx context.Context, svc croft.Service, args []string) error {
			var err error
			if isAgent {
				err = a.runAgentLogs(ctx, svc, a.workspaceRef(args[0]), isFollowing)
			} else {
				err = a.runLogs(ctx, svc, a.workspaceRef(args[0]), of, isFollowing && !a.json)
			}
			if err != nil && isFollowing && ctx.Err() != nil {
				return statusError(croft.ExitCanceled) // who follows ends it by ctrl-c: that is no failure
			}
			return err
		}),
	}
	cmd.Flags().StringVar((*string)(&of.check), "check", "", "the output of the check with this `ID`")
	cmd.Flags().IntVar(&of.try, "try", 0, "the `N`th run of that check on the same tree, from 1 (default: the one that decided)")
	cmd.Flags().BoolVarP(&isFollowing, "follow", "f", false, "wait for more until the check, or the agent, ends")
	cmd.Flags().BoolVar(&isAgent, "agent", false, "what the agent printed that \"croft run\" started")
	cmd.MarkFlagsMutuallyExclusive("agent", "check")
	cmd.MarkFlagsMutuallyExclusive("agent", "try")
	registerCompletion(cmd, "check", cobra.NoFileCompletions)
	registerCompletion(cmd, "try", cobra.NoFileCompletions)
	return cmd
}

func (a *app) runLogs(ctx context.Context, svc logReader, ref croft.Ref, of logChoice, isFollowing bool) error {
	ws, err := svc.Workspace(ctx, croft.WorkspaceRequest{Repo: a.dir(), Ref: ref, Scope: croft.ScopeAll})
	if err != nil {
		return err
	}
	m, at, err := a.lastChecked(ctx, svc, ws)
	if failed := failedSteps(ws.Provision); errors.Is(err, croft.CheckNotFound) && len(failed) > 0 && of == (logChoice{}) {
		a.printSetUpLogs(ws, failed)
		return nil
	}
	if isUnchecked := errors.Is(err, croft.CheckNotFound) || err == nil && !hasChecks(m); isUnchecked && hasRun(ctx, svc, ws) && of == (logChoice{}) {
		a.note("no check has run: this is what the agent printed")
		return a.runAgentLogs(ctx, svc, string(ws.ID), isFollowing)
	}
	if err != nil {
		return err
	}
	req := croft.CheckLogRequest{Merge: m.ID, Check: of.check}
	log, err := svc.CheckLog(ctx, req)
	if err == nil && of.try != 0 {
		log, err = tryOf(ctx, svc, m, log, of.try)
	}
	if err != nil {
		return hintAgentLogs(ws, err)
	}
	if a.json {
		a.emit(logResult{Log: *log})
		return nil
	}
	a.note("%s  %s  %s", log.WorkspaceName, log.Check.Command, a.checkStateText(log.Check, m))
	if !isFollowing {
		a.page()
	}
	req.Check = log.Check.ID
	if log, err = a.printLog(ctx, svc, req, log); err != nil {
		return err
	}
	if !isFollowing || log.Check.State != croft.TryRunning {
		a.remarkAfterLog(ws, m, of)
		return nil
	}
	req.Offset = log.Next
	for e, err := range svc.Events(ctx, croft.EventsRequest{After: at, Kinds: []string{croft.EventCheckOutput, croft.EventCheckEnded}, Follow: croft.FollowNew}) {
		if err != nil {
			return err
		}
		if e.Merge != m.ID && (e.After == nil || e.After.Check == nil || e.After.Check.ID != req.Check) {
			continue
		}
		if log, err = svc.CheckLog(ctx, req); err != nil {
			return err
		}
		if log, err = a.printLog(ctx, svc, req, log); err != nil || log.Check.State != croft.TryRunning {
			return err
		}
		req.Offset = log.Next
	}
	return nil
}

// remarkAfterLog says on a terminal what can be done after a check that failed.
func (a *app) remarkAfterLog(ws *croft.Workspace, m croft.Merge, of logChoice) {
	isLast := m.Reason == croft.CheckFailed && ws.State != croft.Trashed && ws.Status == croft.ConditionCheckFailed
	if a.isShown() && isLast && of == (logChoice{}) {
		a.remarkNext("croft sh " + shellWord(ws.Name) + ", then croft merge " + shellWord(ws.Name))
	}
}

// hasRun reports whether an agent ran in a workspace. What is said of a removed one does not tell.
func hasRun(ctx context.Context, svc runLogReader, ws *croft.Workspace) bool {
	if ws.State != croft.Trashed {
		return ws.Run != nil
	}
	_, err := svc.RunLog(ctx, croft.RunLogRequest{Repo: ws.Repo, Workspace: string(ws.ID), Limit: 1})
	return err == nil
}

// tryOf is the output of another run of a check on the same tree.
func tryOf(ctx context.Context, svc logReader, m croft.Merge, decided *croft.CheckLog, try int) (*croft.CheckLog, error) {
	tries := results.Tries(m, decided.Check)
	if try < 1 || try > len(tries) {
		return nil, &croft.Error{
			Code: croft.CheckNotFound, Op: "logs", Workspace: m.WorkspaceName, Hint: "croft logs " + shellWord(m.WorkspaceName),
			Message: fmt.Sprintf("there is no try %d: %s was run %s", try, printable(decided.Check.Command), countOf(len(tries), "time", "times")),
		}
	}
	return svc.CheckLog(ctx, croft.CheckLogRequest{Merge: m.ID, Check: tries[try-1].ID})
}

// hintAgentLogs says where to read on if no check has run in a workspace, but an agent.
func hintAgentLogs(ws *croft.Workspace, err error) error {
	if e, ok := errors.AsType[*croft.Error](err); ok && e.Code == croft.CheckNotFound && ws.Run != nil {
		hinted := *e
		hinted.Hint = "croft logs --agent " + shellWord(ws.Name)
		return &hinted
	}
	return err
}

// hasChecks reports whether a check has run on a merge.
func hasChecks(m croft.Merge) bool {
	return len(m.Checks) > 0 || slices.ContainsFunc(m.Attempts, func(t croft.Attempt) bool { return len(t.Checks) > 0 })
}

// lastChecked finds the last merge of a workspace that checks have run on, or that is the
// last, and the place in the stream of events at which it was found.
func (a *app) lastChecked(ctx context.Context, svc logReader, ws *croft.Workspace) (croft.Merge, croft.Cursor, error) {
	var last *croft.Merge
	var at croft.Cursor
	for req := (croft.MergesRequest{Repo: a.dir(), Scope: croft.ScopeAll}); ; {
		list, err := svc.Merges(ctx, req)
		if err != nil {
			return croft.Merge{}, "", err
		}
		if at == "" {
			at = list.Cursor
		}
		for _, m := range list.Items {
			if m.Workspace != ws.ID {
				continue
			}
			if hasChecks(m) {
				return m, at, nil
			}
			if last == nil {
				last = &m
			}
		}
		if req.After = list.Next; list.Next == "" {
			break
		}
	}
	if last == nil {
		hint := "croft merge " + shellWord(ws.Name)
		if ws.State == croft.Trashed {
			hint = "croft show " + shellWord(ws.Name)
		}
		return croft.Merge{}, "", &croft.Error{
			Code: croft.CheckNotFound, Op: "logs", Workspace: ws.Name, Message: "it was never submitted, so no check has run", Details: setupLogs(ws.Provision), Hint: hint,
		}
	}
	return *last, at, nil
}

// printSetUpLogs prints the end of what commands printed that failed, and says where the rest is.
func (a *app) printSetUpLogs(ws *croft.Workspace, failed []croft.ProvisionedStep) {
	if a.json {
		step := failed[0]
		check := croft.Check{Command: step.Run, State: croft.TryFailed, Took: step.Took}
		log := croft.CheckLog{Workspace: ws.ID, WorkspaceName: ws.Name, Check: check, Data: []byte(step.Tail), Size: int64(len(step.Tail)), Next: int64(len(step.Tail))}
		a.emit(logResult{Log: log, Steps: failed})
		return
	}
	for _, step := range failed {
		a.note("%s failed at the set-up: %s", printable(step.Name), printable(step.Why))
		if step.Tail != "" {
			a.printLine(strings.TrimRight(printableLines(step.Tail), "\n"))
		}
		if step.Log != "" {
			a.note("all of it is in %s", a.shownPath(step.Log))
		}
	}
}

// printLog prints a part of an output and all that follows it so far, and returns the last
// part.
func (a *app) printLog(ctx context.Context, svc logReader, req croft.CheckLogRequest, log *croft.CheckLog) (*croft.CheckLog, error) {
	for {
		if _, err := a.out.Write([]byte(printableLines(string(log.Data)))); err != nil || log.Next >= log.Size || len(log.Data) == 0 {
			return log, nil // output remembers the error
		}
		req.Offset = log.Next
		var err error
		if log, err = svc.CheckLog(ctx, req); err != nil {
			return nil, err
		}
	}
}

// printableLines replaces what a terminal would obey, except for line feeds and tabs.
func printableLines(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || r == '\n' || r == '\t' {
			return r
		}
		if r == '\r' {
			return -1
		}
		return '\uFFFD'
	}, text)
}

// checkStateText says how a check ended, and when.
func (a *app) checkStateText(c croft.Check, m croft.Merge) string {
	state := string(c.State)
	if state == "" {
		state = string(croft.TryFailed)
		if c.Passed {
			state = string(croft.TryPassed)
		}
	}
	switch {
	case c.StartedAt.IsZero():
	case c.State == croft.TryRunning:
		state += " for " + ageText(a.env.Now(), c.StartedAt)
	default:
		state += " " + whenText(a.env.Now(), c.StartedAt.Add(time.Duration(c.Took)))
	}
	for _, t := range m.Attempts {
		if t.Merges == 0 && slices.ContainsFunc(t.Checks, func(o croft.Check) bool { return o.ID == c.ID }) {
			return state + results.TryText(m, c) + ", on " + m.Target + " alone"
		}
	}
	return state + results.TryText(m, c) + ", merged with " + m.Target
}

// setupLogs names the files with what the commands printed that set a workspace up.
func setupLogs(p *croft.Provision) string {
	var lines []string
	if p != nil {
		for _, step := range p.Steps {
			if step.Log != "" {
				lines = append(lines, "what "+step.Name+" printed at its set-up is in "+step.Log)
			}
		}
	}
	return strings.Join(lines, "\n")
}
