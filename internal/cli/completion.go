package cli

import (
	"bytes"
	"io"
	"slices"

	"github.com/spf13/cobra"
)

// shells are the shells that completion and shell-init know.
func shells() []string { return []string{"bash", "zsh", "fish", "powershell"} }

func newCompletionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print completions for a shell",
		Long: `Print the completions of a shell. The output of shell-init has them already;
this is for packagers and for whoever wants nothing else.`,
		Args:      takesShell,
		ValidArgs: shells(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return ended(cmd.Name(), writeCompletion(cmd.Root(), args[0], cmd.OutOrStdout()))
		},
	}
	return cmd
}

func takesShell(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) != 1:
		return misused(cmd, "which shell? bash, zsh, fish or powershell")
	case !slices.Contains(shells(), args[0]):
		return misused(cmd, "unknown shell "+quoted(args[0])+": bash, zsh, fish or powershell")
	}
	return nil
}

func writeCompletion(root *cobra.Command, shell string, w io.Writer) error {
	switch shell {
	case "bash":
		return root.GenBashCompletionV2(w, true)
	case "zsh":
		return root.GenZshCompletion(w)
	case "fish":
		return root.GenFishCompletion(w, true)
	default:
		return root.GenPowerShellCompletionWithDesc(w)
	}
}

func completionScript(root *cobra.Command, shell string) (string, error) {
	var b bytes.Buffer
	err := writeCompletion(root, shell, &b)
	return b.String(), err
}
