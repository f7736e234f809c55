package cli

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// takesNothing refuses arguments.
func takesNothing(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return misused(cmd, "unexpected argument "+quoted(args[0]))
}

// takesOptional accepts one thing of a kind, or none.
func takesOptional(kind string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= 1 {
			return nil
		}
		return misused(cmd, "one "+kind+" at a time, unexpected argument "+quoted(args[1]))
	}
}

// takesOptionalName accepts one workspace or none.
func takesOptionalName(cmd *cobra.Command, args []string) error {
	return takesOptional("workspace")(cmd, args)
}

// takesName demands one workspace.
func takesName(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return misused(cmd, "which workspace? give its name")
	}
	return takesOptionalName(cmd, args)
}

// takesTarget demands one branch.
func takesTarget(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return misused(cmd, "which target? give the name of its branch")
	}
	return takesOptional("target")(cmd, args)
}

// takesMerge demands one merge.
func takesMerge(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return misused(cmd, "which merge? give the name of its workspace, or its ID")
	}
	return takesOptional("merge")(cmd, args)
}

// takesSession demands one session.
func takesSession(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		e := misused(cmd, "which session? give its name")
		e.Hint = "croft session list"
		return e
	}
	return takesOptional("session")(cmd, args)
}

// misused says that a command was called in a way that it does not know.
func misused(cmd *cobra.Command, message string) *croft.Error {
	return &croft.Error{
		Code: croft.InvalidRequest, Op: cmd.Name(),
		Message: message,
		Hint:    cmd.CommandPath() + " --help",
	}
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

// ageError is the one thing that can be wrong with a duration.
type ageError string

func (b ageError) Error() string {
	return quoted(string(b)) + " is no duration such as 90m, 24h, 7d or 2w"
}

func parseAge(text string) (time.Duration, error) {
	const day = 24 * time.Hour
	unit := time.Duration(0)
	number := text
	switch {
	case strings.HasSuffix(text, "d"):
		unit, number = day, strings.TrimSuffix(text, "d")
	case strings.HasSuffix(text, "w"):
		unit, number = 7*day, strings.TrimSuffix(text, "w")
	}
	if unit == 0 {
		parsed, err := time.ParseDuration(text)
		if err != nil || parsed <= 0 {
			return 0, ageError(text)
		}
		return parsed, nil
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64/int64(unit) {
		return 0, ageError(text)
	}
	return time.Duration(n) * unit, nil
}
