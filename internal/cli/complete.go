package cli

import (
	"context"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// lister is what reading the workspaces takes.
type lister interface {
	Workspaces(ctx context.Context, f croft.Filter) ([]croft.Workspace, error)
}

// completeOne completes the name of a workspace for the first argument,
// completeMany for every argument. Neither offers a name twice.
func (a *app) completeOne(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completeMany(cmd, args, "")
}

func (a *app) completeMany(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.completions(cmd, func(ws croft.Workspace) (cobra.Completion, bool) {
		return cobra.CompletionWithDesc(ws.Name, printable(ws.Branch)), !slices.Contains(args, ws.Name)
	})
}

func (a *app) completeSession(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.completions(cmd, func(ws croft.Workspace) (cobra.Completion, bool) {
		return ws.Session, ws.Session != ""
	})
}

func (a *app) completeRole(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.completions(cmd, func(ws croft.Workspace) (cobra.Completion, bool) {
		return ws.Role, ws.Role != ""
	})
}

// completeTrash completes the name of a removed workspace.
func (a *app) completeTrash(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	svc, err := a.open(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	defer svc.Close()
	items, err := keeper(svc).Trash(cmd.Context(), a.dir())
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var offers []cobra.Completion
	for _, item := range items {
		offers = append(offers, cobra.CompletionWithDesc(item.Name, "removed "+ageOf(a.env.Now(), item.RemovedAt)+" ago"))
	}
	return offers, cobra.ShellCompDirectiveNoFileComp
}

// completeLane completes the name of a target that somebody else moved.
func (a *app) completeLane(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	svc, err := a.open(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	defer svc.Close()
	lanes, err := queuer(svc).Lanes(cmd.Context(), croft.MergesRequest{Repo: a.dir()})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var offers []cobra.Completion
	for _, l := range lanes {
		if l.Message != "" {
			offers = append(offers, cobra.CompletionWithDesc(l.Target, printable(l.Message)))
		}
	}
	return offers, cobra.ShellCompDirectiveNoFileComp
}

// completions offers what choose takes of each live workspace.
func (a *app) completions(cmd *cobra.Command, choose func(croft.Workspace) (cobra.Completion, bool)) ([]cobra.Completion, cobra.ShellCompDirective) {
	svc, err := a.open(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	defer svc.Close()
	workspaces, err := lister(svc).Workspaces(cmd.Context(), croft.Filter{Repo: a.dir()})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var offers []cobra.Completion
	for _, ws := range workspaces {
		if offer, ok := choose(ws); ok {
			offers = append(offers, offer)
		}
	}
	slices.Sort(offers)
	return slices.Compact(offers), cobra.ShellCompDirectiveNoFileComp
}

// completeWords offers fixed words for a flag.
func completeWords(cmd *cobra.Command, flag string, words ...string) {
	registerCompletion(cmd, flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// addKeyFlag adds the flag --key to a command. A call that is repeated with the same key
// is carried out once.
func addKeyFlag(cmd *cobra.Command, key *string, what string) {
	cmd.Flags().StringVar(key, "key", "", "the same call with the same `key` returns the same "+what)
	registerCompletion(cmd, "key", cobra.NoFileCompletions)
}

func registerCompletion(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic("completion for a flag that is not there: " + flag)
	}
}
