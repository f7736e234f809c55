package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// newHookCommand parses no flags: an agent takes the exit status of a wrong one, 2, for an order
// to go on or to stop.
func newHookCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "hook AGENT EVENT",
		Short: "Serve a hook of an agent",
		Long: `Serve a hook of an agent, which has its input on standard input. "croft init --claude",
and its likes for other agents, write the files by which agents call it.

  claude state    report what the session does, asks or waits for
  claude create   make a workspace, or open the one of that name, and print its path
  claude remove   move a workspace to the trash whose work is merged, or that has none
  codex state     report what the session does or waits for; likewise cursor, gemini and
                  opencode
  aider waiting   report that aider waits for its user; reads no input

A hook never fails its agent: all but "create" end with 0, whatever happens, print
nothing, and do nothing outside of workspaces.`,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if slices.Contains(args, "--help") || slices.Contains(args, "-h") {
				return cmd.Help()
			}
			return a.runHook(cmd, args)
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			switch {
			case len(args) == 0:
				return append([]string{"claude", "aider"}, stateAgents()...), cobra.ShellCompDirectiveNoFileComp
			case len(args) == 1 && args[0] == "claude":
				return []string{"state", "create", "remove"}, cobra.ShellCompDirectiveNoFileComp
			case len(args) == 1 && args[0] == "aider":
				return []string{"waiting"}, cobra.ShellCompDirectiveNoFileComp
			case len(args) == 1:
				return []string{"state"}, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// stateAgents are the agents whose hooks tell states and do nothing else.
func stateAgents() []string { return []string{"codex", "cursor", "gemini", "opencode"} }

func (a *app) runHook(cmd *cobra.Command, args []string) (err error) {
	ctx, hook := cmd.Context(), a.env.Hook
	opts := HookOptions{Home: a.env.Home, Say: func(sentence string) { a.note("%s", sentence) }, Open: a.openAt}
	what := ""
	if len(args) >= 2 {
		opts.Agent, what = args[0], args[1]
	}
	isClaude := opts.Agent == "claude"
	if what == "create" && isClaude {
		path, err := hook.Create(ctx, opts)
		if err != nil {
			return croft.AsError("hook", err)
		}
		fmt.Fprintln(a.out, path)
		return nil
	}
	defer func() {
		if recover() != nil { // the agent must not suffer from it
			a.note("croft hook: an internal error")
			err = nil
		}
	}()
	switch {
	case what == "state" && (isClaude || slices.Contains(stateAgents(), opts.Agent)):
		hook.State(ctx, opts)
	case what == "waiting" && opts.Agent == "aider":
		hook.Waiting(ctx, opts)
	case what == "remove" && isClaude:
		hook.Remove(ctx, opts)
	case what == "set-up":
		hook.SetUp(ctx, opts)
	case what == "late":
		hook.Late(ctx, opts)
	case len(args) == 0:
		return usageError(cmd, "whose hook, and which?")
	default:
		a.note("croft hook: there is no such hook; this croft may be older than the files that call it")
	}
	return nil
}

// openAt opens the Service for a directory that the caller need not stand in, with settings beside those of the command line.
func (a *app) openAt(ctx context.Context, dir string, set map[string]string) (croft.Service, error) {
	flags, err := a.settings()
	if err != nil {
		return nil, err
	}
	maps.Copy(flags, set)
	return a.env.Open(ctx, dir, flags)
}
