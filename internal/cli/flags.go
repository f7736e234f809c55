package cli

import (
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// formerFlag keeps a name that a flag had before, for scripts: it is not shown, and means the
// same. The letter was the flag's, too, if it is not empty.
func formerFlag(cmd *cobra.Command, name, former, letter string) {
	cmd.Flags().AddFlag(hiddenAlias(cmd.Flag(name), former, letter))
}

func hiddenAlias(flag *pflag.Flag, name, letter string) *pflag.Flag {
	return &pflag.Flag{
		Name: name, Shorthand: letter, Usage: flag.Usage, Value: flag.Value, DefValue: flag.DefValue, NoOptDefVal: flag.NoOptDefVal, Hidden: true,
	}
}

// addIntoFlag adds the flag --into, the target that work goes to or is compared with.
func addIntoFlag(cmd *cobra.Command, target *string, usage string) {
	cmd.Flags().StringVar(target, "into", "", usage)
	formerFlag(cmd, "into", "target", "")
}

// flagMessage says what is wrong with a flag, without the name of the function that found it.
func flagMessage(err error) string {
	bad, ok := errors.AsType[*strconv.NumError](err)
	if !ok {
		return err.Error()
	}
	what := "that is no number"
	if bad.Func == "ParseBool" {
		what = "it takes no value, or true or false"
	}
	return strings.Replace(err.Error(), bad.Error(), what, 1)
}
