package cli

import (
	"context"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// lister is the part of croft.Service that lists workspaces.
type lister interface {
	Workspaces(ctx context.Context, req croft.WorkspacesRequest) (*croft.List[croft.Workspace], error)
}

// completeFirst completes the first argument, and no other.
func completeFirst(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, word)
	}
}

// completeOne completes the name of a workspace for the first argument.
func (a *app) completeOne(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return completeFirst(a.completeMany)(cmd, args, word)
}

// completeMany completes names of workspaces for every argument. It offers no name
// twice.
func (a *app) completeMany(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.completeWorkspaces(cmd, func(ws croft.Workspace) (cobra.Completion, bool) {
		return cobra.CompletionWithDesc(ws.Name, printable(ws.Branch)), !slices.Contains(args, ws.Name)
	})
}

func (a *app) completeSession(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.completeWorkspaces(cmd, func(ws croft.Workspace) (cobra.Completion, bool) {
		return ws.Session, ws.Session != ""
	})
}

func (a *app) completeRole(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.completeWorkspaces(cmd, func(ws croft.Workspace) (cobra.Completion, bool) {
		return ws.Role, ws.Role != ""
	})
}

// completeLane completes the name of a target that moved outside of its lane.
func (a *app) completeLane(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.complete(cmd, func(ctx context.Context, svc croft.Service) (offers []cobra.Completion, err error) {
		lanes, err := queuer(svc).Lanes(ctx, croft.LanesRequest{Repo: a.dir()})
		if err != nil {
			return nil, err
		}
		for _, l := range lanes.Items {
			if l.Message != "" {
				offers = append(offers, cobra.CompletionWithDesc(l.Target, printable(l.Message)))
			}
		}
		return offers, err
	})
}

// completeOpenSession completes the names and IDs of open sessions.
func (a *app) completeOpenSession(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.complete(cmd, func(ctx context.Context, svc croft.Service) (offers []cobra.Completion, err error) {
		sessions, err := croft.Rounds(svc).Sessions(ctx, croft.SessionsRequest{Repo: a.dir()})
		if err != nil {
			return nil, err
		}
		for _, ses := range sessions.Items {
			offers = append(offers, sessionName(ses))
		}
		return offers, err
	})
}

// completeWorkspaces offers the completions that choose returns for the live
// workspaces, sorted and each once.
func (a *app) completeWorkspaces(cmd *cobra.Command, choose func(croft.Workspace) (cobra.Completion, bool)) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.complete(cmd, func(ctx context.Context, svc croft.Service) (offers []cobra.Completion, err error) {
		workspaces, err := lister(svc).Workspaces(ctx, croft.WorkspacesRequest{Repo: a.dir()})
		if err != nil {
			return nil, err
		}
		for _, ws := range workspaces.Items {
			if offer, ok := choose(ws); ok {
				offers = append(offers, offer)
			}
		}
		slices.Sort(offers)
		return slices.Compact(offers), err
	})
}

// complete opens the Service and offers what list finds there. A failure offers nothing.
func (a *app) complete(cmd *cobra.Command, list func(context.Context, croft.Service) ([]cobra.Completion, error)) ([]cobra.Completion, cobra.ShellCompDirective) {
	svc, err := a.open(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	defer svc.Close()
	offers, err := list(cmd.Context(), svc)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return offers, cobra.ShellCompDirectiveNoFileComp
}

// completeWords offers fixed words for a flag.
func completeWords(cmd *cobra.Command, flag string, words ...string) {
	registerCompletion(cmd, flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// sameCall begins what the help says of --key.
const sameCall = "the same call again returns the same"

// addKeyFlag adds the flag --key to a command that changes something.
func addKeyFlag(cmd *cobra.Command, key *string) {
	cmd.Flags().StringVar(key, "key", "", sameCall+" result")
	registerCompletion(cmd, "key", cobra.NoFileCompletions)
}

func registerCompletion(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, onlyPlain(complete)); err != nil {
		panic("completion for a flag that is not there: " + flag)
	}
}
