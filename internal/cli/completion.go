package cli

import (
	"io"
	"slices"

	"github.com/spf13/cobra"
)

// shells are the shells that completion and shell-init know.
func shells() []string { return []string{"bash", "zsh", "fish", "powershell"} }

func newCompletionCommand(*app) *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print completions for a shell",
		Long: `Print the completions of a shell. The output of shell-init has them already;
this is for packagers and for whoever wants nothing else.`,
		Args:      takesShell,
		ValidArgs: shells(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return codedError(cmd.Name(), writeCompletion(cmd.Root(), args[0], cmd.OutOrStdout()))
		},
	}
}

func takesShell(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) != 1:
		return usageError(cmd, "which shell? bash, zsh, fish or powershell")
	case !slices.Contains(shells(), args[0]):
		return usageError(cmd, "unknown shell "+quoted(args[0])+": bash, zsh, fish or powershell")
	}
	return nil
}

func writeCompletion(root *cobra.Command, shell string, w io.Writer) error {
	switch shell {
	case "bash":
		if _, err := io.WriteString(w, bashWords); err != nil {
			return err
		}
		return root.GenBashCompletionV2(w, true)
	case "zsh":
		return root.GenZshCompletion(w)
	case "fish":
		return root.GenFishCompletion(w, true)
	default:
		return root.GenPowerShellCompletionWithDesc(w)
	}
}

// bashWords are the two functions of the package bash-completion that the
// completions of bash call, for machines without it. The words are joined again
// that bash took apart at "=" and ":".
const bashWords = `declare -F _get_comp_words_by_ref >/dev/null || _get_comp_words_by_ref() {
    local i word
    words=() cword=0
    for i in "${!COMP_WORDS[@]}"; do
        word=${COMP_WORDS[i]}
        if ((i > 0)) && [[ $word == [=:]* || ${words[${#words[@]}-1]} == *[=:] ]]; then
            words[${#words[@]}-1]+=$word
        else
            words+=("$word")
        fi
        if ((i == COMP_CWORD)); then cword=$((${#words[@]} - 1)); fi
    done
    cur=${words[cword]} prev=
    if ((cword > 0)); then prev=${words[cword-1]}; fi
}
declare -F __ltrim_colon_completions >/dev/null || __ltrim_colon_completions() {
    local i
    [[ $1 == *:* && $COMP_WORDBREAKS == *:* ]] || return 0
    for i in "${!COMPREPLY[@]}"; do COMPREPLY[i]=${COMPREPLY[i]#"${1%"${1##*:}"}"}; done
}
`
