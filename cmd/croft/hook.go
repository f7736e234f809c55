package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/croft-sh/croft/internal/cli"
	"github.com/croft-sh/croft/internal/hook"
	"github.com/croft-sh/croft/internal/hook/act"
	"github.com/croft-sh/croft/internal/proc"
)

// lateVariable has the report that a hook had no time for, and setUpVariable the workspace that is set up. The arguments of
// a process can be read by all users, its environment by its own only.
const (
	lateVariable  = "CROFT_HOOK_REPORT"
	setUpVariable = "CROFT_HOOK_SETUP"
)

// hooksOf serves hooks that run in a directory.
func hooksOf(environ []string, dir string) cli.Hook {
	of := func(opts cli.HookOptions) act.Hook {
		// In a workspace this process would be at work there, and hinder its removal.
		_ = os.Chdir(string(filepath.Separator))
		return act.Hook{
			Agent: hook.Agent(opts.Agent), Stdin: os.Stdin, Dir: dir, Project: lookUp(environ, "CLAUDE_PROJECT_DIR"),
			Process: agentProcess(environ), Began: proc.Began(),
			Open: opts.Open, Say: opts.Say,
			Later: func(report string) error {
				_, err := hookAgain(environ, opts.Agent, "late", lateVariable+"="+report)
				return err
			},
			SetUp: func(task string) (<-chan struct{}, error) {
				return hookAgain(environ, opts.Agent, "set-up", setUpVariable+"="+task)
			},
			Home: opts.Home,
			SettingsOf: func(dir string) act.Settings {
				set, err := settings(environ, dir, nil)
				if err != nil {
					return act.Settings{Wait: act.WaitAll, Foreign: "off"}
				}
				c := set.Config()
				return act.Settings{Wait: act.Wait(c.Provision.Wait), Foreign: c.Provision.Foreign, HasSparse: len(c.Checkout.Sparse) > 0}
			},
		}
	}
	return cli.Hook{
		State:   func(ctx context.Context, opts cli.HookOptions) { of(opts).State(ctx) },
		Waiting: func(ctx context.Context, opts cli.HookOptions) { of(opts).Waiting(ctx) },
		Create:  func(ctx context.Context, opts cli.HookOptions) (string, error) { return of(opts).Create(ctx) },
		Remove:  func(ctx context.Context, opts cli.HookOptions) { of(opts).Remove(ctx) },
		SetUp: func(ctx context.Context, opts cli.HookOptions) {
			of(opts).SetUpNow(ctx, lookUp(environ, setUpVariable))
		},
		Late: func(ctx context.Context, opts cli.HookOptions) { of(opts).Late(ctx, lookUp(environ, lateVariable)) },
	}
}

// agentProcess returns the number of the process of Claude Code that calls a hook; 0: not known. Before it told that, a
// shell may stand between, which ends with the hook.
func agentProcess(environ []string) int {
	pid, err := strconv.Atoi(lookUp(environ, "CLAUDE_PID"))
	if err != nil || pid <= 1 {
		return 0
	}
	return pid
}

// hookAgain starts this program in the background, for what a hook leaves to another process.
func hookAgain(environ []string, agent, what, variable string) (ended <-chan struct{}, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return proc.DetachWatched(proc.Command{
		Path: self, Args: []string{"hook", agent, what}, Env: append(slices.Clip(environ), variable), Dir: filepath.Dir(self),
	})
}
