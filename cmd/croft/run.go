package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/background"
	"github.com/croft-sh/croft/internal/cli"
	"github.com/croft-sh/croft/internal/proc"
	agentrun "github.com/croft-sh/croft/internal/run"
	"github.com/croft-sh/croft/internal/supervise"
)

// shimArgument is the first argument with which a supervisor starts this program above an agent. The
// second one is the ID of the run, for people who look at processes, and then the ID and the path of the workspace.
const shimArgument = "run-shim"

// sessionVariable has the run of a session that an agent's own supervisor runs, in the processes of that. They are ended after the
// session is, not before as those of a run are: it would go on with what it does next.
const sessionVariable = "CROFT_FOLLOWED_RUN"

// startedIn returns the IDs and paths of the workspaces whose agents have started this process, the nearest first, wherever it went since: it has their
// shims above it, and their supervisors, which are left if a shim is killed. An agent can put processes between that look the same,
// and so say that it is in a workspace more.
func startedIn() (places []croft.Workspace) {
	if a := os.Args; len(a) == 5 && a[1] == "-C" && a[3] == "run" && strings.HasPrefix(a[4], settleFlag) {
		return nil // a shim starts it, and ends
	}
	for _, above := range proc.Ancestors() {
		switch args := above.Args; {
		case len(args) == 5 && args[1] == shimArgument:
			places = append(places, croft.Workspace{ID: croft.ID(args[3]), Path: args[4]})
		case slices.Contains(args, "run"):
			if place, ok := agentrun.PlaceIn(above.Dir()); ok {
				places = append(places, place)
			}
		}
	}
	return places
}

// settleFlag is the last argument of a process that finishes the work of a run in the place of its supervisor.
const settleFlag = "--settle="

// checkCommand refuses a command that cannot be run, and says who runs it.
func checkCommand(environ, command []string) (cli.By, error) {
	program := command[0]
	if !strings.ContainsRune(program, filepath.Separator) { // it may be in the workspace
		if _, err := proc.Find(program, environ); err != nil {
			return "", &croft.Error{Code: croft.InvalidRequest, Op: "run", Message: fmt.Sprintf("there is no program %q in your PATH", program)}
		}
	}
	if !background.Is(command) {
		return cli.ByCroft, nil
	}
	if len(startedIn()) > 0 {
		return "", &croft.Error{
			Code: croft.InvalidRequest, Op: "run", Message: "claude --bg may start the supervisor of all its sessions, which would end with the agent that runs this",
			Hint: "croft run --detach NAME -- claude -p …",
		}
	}
	return cli.ByItself, background.Check(command)
}

// agentsOf runs agents on this terminal, or in the background.
func agentsOf(environ []string, display display) cli.Agents {
	return cli.Agents{
		Process: os.Getpid(),
		IsWithin: func(workspace croft.ID) bool {
			return slices.ContainsFunc(startedIn(), func(w croft.Workspace) bool { return w.ID == workspace })
		},
		Check: func(command []string) (cli.By, error) { return checkCommand(environ, command) },
		Start: func(ctx context.Context, a cli.AgentRun) error {
			_, err := background.Start(ctx, a.Run.Dir, background.Command{
				Dir: a.Workspace.Path, Words: a.Command, Environ: shellEnviron(environ, a.Workspace.Path, nil), Variables: a.Workspace.Variables(),
				Mark: sessionVariable + "=" + string(a.Run.ID),
			})
			return err
		},
		Run: func(ctx context.Context, a cli.AgentRun) (*cli.AgentEnd, error) {
			self, err := os.Executable()
			if err != nil {
				return nil, err
			}
			agent := supervise.Agent{
				Service: a.Service, Repo: croft.Ref(a.Workspace.Repo), Run: a.Run, Dir: a.Workspace.Path, Command: a.Command,
				Environ: shellEnviron(environ, a.Workspace.Path, a.Workspace.Environ()),
				Own:     environ,
				Shim:    []string{self, shimArgument, string(a.Run.ID), string(a.Workspace.ID), a.Workspace.Path},
				Resume:  []string{self, "-C", a.Workspace.Repo, "run", settleFlag + string(a.Workspace.ID)},
			}
			if session, ok := background.Of(a.Run.Dir, environ); ok {
				agent.Command, agent.Release = []string{self, followArgument, a.Run.Dir}, session.Stop
			}
			switch {
			case a.Output == cli.AgentNoHere:
			case display.terminal == cli.TerminalInteractive && display.width > 0:
				agent.IO = proc.SessionIO{Terminal: os.Stdin, Stdout: os.Stdout}
			case display.isInput: // a terminal is no input for a process of another session
				agent.IO = proc.SessionIO{Stdout: os.Stdout, Stderr: os.Stderr}
			default:
				agent.IO = proc.SessionIO{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
			}
			// In a workspace this process would be at work there, and hinder its removal.
			err = errors.Join(agentrun.WritePlace(a.Run.Dir, a.Workspace), os.Chdir(a.Run.Dir))
			if err != nil {
				return nil, err
			}
			end, err := agent.Supervise(ctx)
			if err != nil {
				return nil, err
			}
			return &cli.AgentEnd{Run: end.Run, Merge: end.Merge, Unfinished: end.Unfinished, HasOpenLine: end.HasOpenLine}, nil
		},
		Settle: func(ctx context.Context, svc croft.Service, ws croft.Workspace) (*croft.Merge, error) {
			return settleRun(ctx, svc, ws, environ)
		},
	}
}

// settleRun does what the supervisor of a run would have done at its end.
func settleRun(ctx context.Context, svc croft.Service, ws croft.Workspace, environ []string) (*croft.Merge, error) {
	if ws.Run == nil {
		return nil, nil
	}
	proc.NewSession()
	_ = os.Chdir("/")
	if session, ok := background.Of(ws.Run.Dir, environ); ok {
		_ = session.Stop(ctx) // what it says is for its supervisor, which is gone
	}
	end, err := supervise.Settle(ctx, svc, croft.Ref(ws.Repo), *ws.Run)
	if err != nil {
		return nil, err
	}
	return end.Merge, nil
}
