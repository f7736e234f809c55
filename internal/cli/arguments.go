package cli

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// takesNothing refuses arguments. What stands after a command that has others below it is meant to be one of them.
func takesNothing(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case cmd.HasAvailableSubCommands():
		return unknownCommandError(cmd, args[0])
	}
	return usageError(cmd, "unexpected argument "+quoted(args[0]))
}

// refuseEmpty has a command and those below it refuse empty arguments, unless they are values or those of another program:
// a variable of a shell that is not set would stand for the workspace in which the user is.
func refuseEmpty(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		refuseEmpty(sub)
	}
	if strings.Contains(cmd.Use, "VALUE") {
		return
	}
	takes := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		own := args
		if at := cmd.ArgsLenAtDash(); at >= 0 {
			own = args[:at]
		}
		if slices.Contains(own, "") {
			return usageError(cmd, "an argument is empty: is a variable not set?")
		}
		if takes == nil {
			return cobra.ArbitraryArgs(cmd, args)
		}
		return takes(cmd, args)
	}
}

// takesOptional accepts one thing of a kind, or none.
func takesOptional(kind string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= 1 {
			return nil
		}
		return usageError(cmd, "one "+kind+" at a time, unexpected argument "+quoted(args[1]))
	}
}

// takesOne demands one thing of a kind, and says what to give where it is missing.
func takesOne(kind, give string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usageError(cmd, "which "+kind+"? give "+give)
		}
		return takesOptional(kind)(cmd, args)
	}
}

// namesOrAll returns the scope and the reach of a command that takes either names of
// workspaces or a flag for all of them.
func namesOrAll(cmd *cobra.Command, names []string, isAll bool, flag string) (croft.Scope, reach, error) {
	switch {
	case isAll && len(names) > 0:
		return croft.ScopeNamed, reachNamed, usageError(cmd, "either names or "+flag)
	case isAll:
		return croft.ScopeAll, reachFurther, nil
	case len(names) == 0:
		return croft.ScopeNamed, reachNamed, usageError(cmd, "which workspace? give names or "+flag)
	}
	return croft.ScopeNamed, reachNamed, nil
}

// usageError says that a command was called in a way that it does not know.
func usageError(cmd *cobra.Command, message string) *croft.Error {
	return &croft.Error{
		Code: croft.InvalidRequest, Op: cmd.Name(),
		Message: message,
		Hint:    cmd.CommandPath() + " --help",
	}
}

// addWordFlag adds a flag without a value. If the flag is given, *to is set to word.
func addWordFlag[W ~string](cmd *cobra.Command, to *W, word W, name, shorthand, usage string) {
	cmd.Flags().VarPF(&wordValue[W]{to, word}, name, shorthand, usage).NoOptDefVal = "true"
}

type wordValue[W ~string] struct {
	to   *W
	word W
}

func (v *wordValue[W]) Type() string     { return "bool" }
func (v *wordValue[W]) IsBoolFlag() bool { return true }
func (v *wordValue[W]) String() string   { return strconv.FormatBool(*v.to == v.word) }

func (v *wordValue[W]) Set(text string) error {
	isOn, err := strconv.ParseBool(text)
	if *v.to = ""; isOn {
		*v.to = v.word
	}
	return err
}

// age is a flag's duration that may be given in days and weeks.
type age time.Duration

func (d *age) String() string {
	if *d == 0 {
		return ""
	}
	return time.Duration(*d).String()
}

func (d *age) Type() string { return "duration" }

func (d *age) Set(text string) error {
	parsed, err := parseAge(text)
	*d = age(parsed)
	return err
}

// ageError is the error for a text that is no duration.
type ageError string

func (b ageError) Error() string {
	return quoted(string(b)) + " is no duration such as 90m, 24h, 7d or 2w"
}

func parseAge(text string) (time.Duration, error) {
	const day = 24 * time.Hour
	for suffix, unit := range map[string]time.Duration{"d": day, "w": 7 * day} {
		if number, ok := strings.CutSuffix(text, suffix); ok {
			n, err := strconv.ParseInt(number, 10, 64)
			if err != nil || n <= 0 || n > math.MaxInt64/int64(unit) {
				return 0, ageError(text)
			}
			return time.Duration(n) * unit, nil
		}
	}
	parsed, err := time.ParseDuration(text)
	if err != nil || parsed <= 0 {
		return 0, ageError(text)
	}
	return parsed, nil
}
