package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/croft-sh/croft/internal/cli"
	"github.com/croft-sh/croft/internal/hook"
	"github.com/croft-sh/croft/internal/hook/act"
	"github.com/croft-sh/croft/internal/proc"
)

// lateVariable has the report that a hook had no time for. The arguments of a process can be read
// by all users, its environment by its own only.
const lateVariable = "CROFT_HOOK_REPORT"

// hooksOf serves hooks that run in a directory.
func hooksOf(environ []string, dir string) cli.Hook {
	of := func(opts cli.HookOptions) act.Hook {
		// In a workspace this process would be at work there, and hinder its removal.
		_ = os.Chdir(string(filepath.Separator))
		return act.Hook{
			Agent: hook.Agent(opts.Agent), Stdin: os.Stdin, Dir: dir, Project: lookUp(environ, "CLAUDE_PROJECT_DIR"),
			Open: opts.Open, Say: opts.Say,
			Later: func(report string) error {
				self, err := os.Executable()
				if err != nil {
					return err
				}
				return proc.Detach(proc.Command{
					Path: self, Args: []string{"hook", opts.Agent, "late"}, Env: append(slices.Clip(environ), lateVariable+"="+report), Dir: filepath.Dir(self),
				})
			},
		}
	}
	return cli.Hook{
		State:   func(ctx context.Context, opts cli.HookOptions) { of(opts).State(ctx) },
		Waiting: func(ctx context.Context, opts cli.HookOptions) { of(opts).Waiting(ctx) },
		Create:  func(ctx context.Context, opts cli.HookOptions) (string, error) { return of(opts).Create(ctx) },
		Remove:  func(ctx context.Context, opts cli.HookOptions) { of(opts).Remove(ctx) },
		Late:    func(ctx context.Context, opts cli.HookOptions) { of(opts).Late(ctx, lookUp(environ, lateVariable)) },
	}
}
