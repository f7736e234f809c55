package cli

import (
	"cmp"
	"context"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// tokenResult is a token that was made or revoked.
type tokenResult struct {
	Token  croft.Token `json:"token"`
	Secret string      `json:"secret,omitempty"` // of a new token: it is shown this once
}

// tokensResult lists tokens, without their secrets.
type tokensResult struct {
	Tokens []croft.Token `json:"tokens"`
}

func newTokenCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Make and revoke tokens for the daemon",
		Long: `A token lets a program, or a browser, call the daemon over TCP. What it may do is
its access: "read" changes nothing; "workspace" is an agent's, and knows one workspace
only; "all" may do everything, also what a person has to decide. Without a word the
tokens are listed. On the same machine the command line needs none.`,
		Args: takesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runTokenList(cmd) },
	}
	cmd.AddCommand(newTokenNewCommand(a), newTokenListCommand(a), newTokenRevokeCommand(a))
	return cmd
}

func newTokenNewCommand(a *app) *cobra.Command {
	var access, workspace string
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Make a token and print its secret, once",
		Long: `Make a token and print its secret. Croft keeps a digest of it only: a secret that
is lost cannot be shown again. Programs send it as "Authorization: Bearer SECRET".`,
		Example: `  croft token new prometheus
  croft token new orchestrator --access all
  croft token new agent-7 --workspace fix-login`,
		Args: takesOne("token", "its name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case access == "" && workspace != "":
				access = string(croft.AccessWorkspace)
			case access == "":
				access = string(croft.AccessRead)
			}
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
				return a.runTokenNew(ctx, svc, args[0], croft.Access(access), workspace)
			})
		},
	}
	cmd.Flags().StringVar(&access, "access", "", "what it may do: read (the default), workspace or all")
	cmd.Flags().StringVar(&workspace, "workspace", "", "the `workspace` that it is for")
	registerCompletion(cmd, "access", cobra.FixedCompletions([]string{"read", "workspace", "all"}, cobra.ShellCompDirectiveNoFileComp))
	registerCompletion(cmd, "workspace", a.completeOne)
	return cmd
}

func newTokenListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the tokens",
		Args:  takesNothing,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.runTokenList(cmd) },
	}
}

func newTokenRevokeCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "revoke NAME",
		Short: "Revoke a token",
		Long:  `Revoke a token, by its name or ID. The daemon refuses the next request with it.`,
		Args:  takesOne("token", "its name or ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := a.env.Tokens.Revoke(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if a.json {
				a.emit(tokenResult{Token: t})
				return nil
			}
			a.note("%s: revoked", t.Name)
			return nil
		},
	}
}

// runTokenNew makes a token. It is refused inside of a workspace: a token may do more than the
// agent there.
func (a *app) runTokenNew(ctx context.Context, svc workspaceFinder, name string, access croft.Access, workspace string) error {
	if isInWorkspace(ctx, svc, a.env.Dir) {
		return &croft.Error{
			Code: croft.AccessDenied, Op: "token", Message: "tokens are made by a person, outside of workspaces", Details: a.env.Dir, Hint: "run it in the project's own directory",
		}
	}
	var id croft.ID
	if workspace != "" {
		ws, err := svc.Workspace(ctx, croft.WorkspaceRequest{Repo: a.dir(), Ref: a.workspaceRef(workspace)})
		if err != nil {
			return err
		}
		id = ws.ID
	}
	t, secret, err := a.env.Tokens.Make(ctx, name, access, id)
	if err != nil {
		return err
	}
	if a.json {
		a.emit(tokenResult{t, secret})
		return nil
	}
	a.printLine(secret)
	a.note("%s: made, access %s; the secret is not shown again", t.Name, accessText(t))
	return nil
}

func (a *app) runTokenList(cmd *cobra.Command) error {
	tokens, err := a.env.Tokens.List()
	if err != nil {
		return err
	}
	if a.json {
		a.emit(tokensResult{tokens})
		return nil
	}
	if len(tokens) == 0 {
		a.note("no tokens")
		return nil
	}
	names := a.namesOf(cmd, tokens)
	rows := [][]cell{headingRow("NAME", "ACCESS", "WORKSPACE", "MADE", "USED", "ID")}
	now := a.env.Now()
	for _, t := range tokens {
		used := "never"
		if !t.UsedAt.IsZero() {
			used = ageText(now, t.UsedAt) + " ago"
		}
		rows = append(rows, plainRow(t.Name, string(t.Access), orDash(cmp.Or(names[t.Workspace], string(t.Workspace))), ageText(now, t.CreatedAt)+" ago", used, string(t.ID)))
	}
	a.printTable(rows)
	return nil
}

// namesOf returns the names of the workspaces that tokens are for. One that is not found, or all
// if nothing can be asked, are shown by their IDs.
func (a *app) namesOf(cmd *cobra.Command, tokens []croft.Token) map[croft.ID]string {
	names := map[croft.ID]string{}
	if !slices.ContainsFunc(tokens, func(t croft.Token) bool { return t.Workspace != "" }) {
		return names
	}
	_ = a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
		states := []croft.State{croft.Creating, croft.Ready, croft.Stopped, croft.Trashed, croft.Broken}
		list, err := svc.Workspaces(ctx, croft.WorkspacesRequest{Repos: croft.ScopeAll, States: states})
		if err != nil {
			return err
		}
		for _, ws := range list.Items {
			names[ws.ID] = ws.Name
		}
		return nil
	})
	return names
}
