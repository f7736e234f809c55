package cli

import (
	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// newCdCommand explains: a program cannot change its caller's directory, and
// with the function that shell-init prints the program is never asked to.
func newCdCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "cd [NAME]",
		Short: "Go to a workspace (needs shell-init)",
		Long: `Go to a workspace. A program cannot change the directory of the shell that
started it, so this needs the shell function that shell-init prints:

  eval "$(croft shell-init bash)"                     in ~/.bashrc
  eval "$(croft shell-init zsh)"                      in ~/.zshrc
  croft shell-init fish | source                      in config.fish
  croft shell-init powershell | Out-String | Invoke-Expression    in $PROFILE`,
		ValidArgsFunction: a.completeOne,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return &croft.Error{
				Code: croft.InvalidRequest, Op: cmd.Name(),
				Message: "changing the directory needs croft's shell function",
				Details: "add the hint's line to the start-up file of your shell; `croft sh NAME` works without it",
				Hint:    `eval "$(croft shell-init bash)"`,
			}
		},
	}
}
