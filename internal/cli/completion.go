package cli

import (
	"errors"
	"io"
	"slices"
	"strings"

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
	var script strings.Builder
	var err error
	switch shell {
	case "bash":
		script.WriteString(bashWords)
		err = root.GenBashCompletionV2(&script, true)
	case "zsh":
		err = root.GenZshCompletion(&script)
	case "fish":
		err = root.GenFishCompletion(&script, true)
	default:
		return root.GenPowerShellCompletionWithDesc(w)
	}
	if err != nil {
		return err
	}
	evaluated := evaluatedWords()[shell]
	if strings.Count(script.String(), evaluated.by) != 1 {
		return errors.New("the completions of " + shell + " evaluate words in another way than it is known here")
	}
	_, err = io.WriteString(w, strings.Replace(script.String(), evaluated.by, evaluated.quoted, 1))
	return err
}

// evaluatedWords are the lines of each shell's completions that put the words together which were typed, to evaluate them, and what
// stands in their place: words that could run something are quoted before. Others are left for the shell to expand, as the ~ of
// a directory. Words that were typed in quotes are then completed with their quotes, and mostly with nothing.
func evaluatedWords() map[string]struct{ by, quoted string } {
	return map[string]struct{ by, quoted string }{
		"bash": {`    args=("${words[@]:1}")
`, `    local word
    args=()
    for word in "${words[@]:1}"; do
        case $word in *[\` + "`" + `\(\)\;\|\&\<\>]* | *$'\n'*) printf -v word %q "$word" ;; esac
        args+=("$word")
    done
`},
		"zsh": {`    requestComp="${words[1]} __complete ${words[2,-1]}"
`, `    local word
    requestComp="${words[1]} __complete"
    for word in "${(@)words[2,-1]}"; do
        case $word in *[\` + "`" + `\(\)\;\|\&\<\>]*) word=${(q)word} ;; esac
        requestComp+=" $word"
    done
`},
		"fish": {`    set -l requestComp "CROFT_ACTIVE_HELP=0 $args[1] __complete $args[2..-1] $lastArg"
`, `    set -l words
    for word in $args[2..-1]
        string match -qr '^(~|\$[A-Za-z_][A-Za-z0-9_]*|[A-Za-z0-9_./@%+=:,-])[A-Za-z0-9_./@%+=:,-]*$' -- $word; or set word (string escape -- $word)
        set -a words $word
    end
    set -l requestComp "CROFT_ACTIVE_HELP=0 $args[1] __complete $words $lastArg"
`},
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
