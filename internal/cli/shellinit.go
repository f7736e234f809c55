package cli

import (
	"strings"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// Each script defines a shell function called croft, so that `croft cd` can change the
// directory of the shell, and then the completions, in place of COMPLETION. The
// function leaves every other command, and --help, to the program.
const (
	posixFunction = `croft() {
  if { [ "${1-}" = cd ] || [ "${1-}" = switch ]; } && [ "${2-}" != --help ] && [ "${2-}" != -h ]; then
    shift
    local croft_dir
    croft_dir="$(command croft path "$@")" || return
    builtin cd -- "$croft_dir"
  else
    command croft "$@"
  fi
}
`
	bashInit = posixFunction + `if [ -n "${BASH_VERSION-}" ] && type complete >/dev/null 2>&1; then
COMPLETION
fi
`
	zshInit = posixFunction + `if (( $+functions[compdef] )); then
COMPLETION
fi
`
	fishInit = `function croft --description 'Isolated checkouts for coding agents'
    if test (count $argv) -gt 0; and contains -- "$argv[1]" cd switch; and not contains -- --help $argv; and not contains -- -h $argv
        set -l croft_dir (command croft path $argv[2..-1])
        or return
        builtin cd -- $croft_dir
    else
        command croft $argv
    end
end
COMPLETION
`
	powershellInit = `function croft {
  $croftProgram = Get-Command -Name croft -CommandType Application -ErrorAction Stop | Select-Object -First 1
  if ($args.Count -gt 0 -and $args[0] -in 'cd', 'switch' -and -not ($args -contains '--help') -and -not ($args -contains '-h')) {
    $croftRest = @($args | Select-Object -Skip 1)
    $croftDir = & $croftProgram path @croftRest
    if ($LASTEXITCODE -eq 0 -and $croftDir) { Set-Location -LiteralPath $croftDir }
  } else {
    & $croftProgram @args
  }
}
COMPLETION
`
)

func newShellInitCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "shell-init bash|zsh|fish|powershell",
		Short: "Print what makes cd and completion work in your shell",
		Long: `Print a shell function, for "croft cd", and the completions. Put one line into
your shell's start-up file:

  bash         eval "$(croft shell-init bash)"
  zsh          eval "$(croft shell-init zsh)"         after compinit
  fish         croft shell-init fish | source
  powershell   croft shell-init powershell | Out-String | Invoke-Expression`,
		Args:      takesShell,
		ValidArgs: shells(),
		RunE: func(cmd *cobra.Command, args []string) error {
			var completion strings.Builder
			if err := writeCompletion(cmd.Root(), args[0], &completion); err != nil {
				return codedError(cmd.Name(), err)
			}
			script := strings.Replace(shellFunction(args[0]), "COMPLETION", strings.TrimRight(completion.String(), "\n"), 1)
			a.printLine(strings.TrimRight(script, "\n"))
			return nil
		},
	}
}

func shellFunction(shell string) string {
	switch shell {
	case "bash":
		return bashInit
	case "zsh":
		return zshInit
	case "fish":
		return fishInit
	default:
		return powershellInit
	}
}

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
