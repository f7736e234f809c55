package cli

import (
	"github.com/spf13/cobra"
)

func newMCPCommand(a *app) *cobra.Command {
	var isOrchestrator, isReadOnly bool
	var workspace string
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve tools to an agent over MCP",
		Long: `Serve Croft's tools over the Model Context Protocol, on standard input and output,
until the input ends. An agent's host starts it, outside of the agent's sandbox.

In a workspace, with CROFT_WORKSPACE_ID or CROFT_WORKSPACE in the environment, or with
--workspace, an agent gets the tools for this workspace, and sees no other one. With
--orchestrator there are also tools that make, merge and remove the workspaces of the
repository. Elsewhere in a repository the server is for a session of agents, and
accepts the workspaces that were made for it.`,
		Example: `  croft mcp
  croft mcp --workspace fix-login
  croft mcp --orchestrator`,
		Args: takesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts := MCPOptions{Dir: a.dir(), Open: a.open}
			switch {
			case isOrchestrator && isReadOnly, workspace != "" && (isOrchestrator || isReadOnly):
				return usageError(cmd, "one of --workspace, --orchestrator and --read-only")
			case isOrchestrator:
				opts.Kind = "orchestrator"
			case isReadOnly:
				opts.Kind = "read-only"
			case workspace != "":
				opts.Workspace = a.workspaceRef(workspace)
			}
			return codedError("mcp", a.env.MCP(cmd.Context(), opts))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&workspace, "workspace", "", "the `name` of the agent's workspace")
	registerCompletion(cmd, "workspace", func(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		return a.completeOne(cmd, nil, word)
	})
	flags.BoolVar(&isOrchestrator, "orchestrator", false, "all workspaces of the repository, and the tools that make, merge and remove them")
	flags.BoolVar(&isReadOnly, "read-only", false, "all workspaces of the repository, and the tools that change nothing")
	return cmd
}
