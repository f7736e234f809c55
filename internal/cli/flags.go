package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// formerFlag keeps a name that a flag had before, for scripts: it is not shown, and means the
// same. The letter was the flag's, too, if it is not empty.
func formerFlag(cmd *cobra.Command, name, former, letter string) {
	flag := cmd.Flag(name)
	cmd.Flags().AddFlag(&pflag.Flag{
		Name: former, Shorthand: letter, Usage: flag.Usage, Value: flag.Value, DefValue: flag.DefValue, NoOptDefVal: flag.NoOptDefVal, Hidden: true,
	})
}

// addIntoFlag adds the flag --into, the target that work goes to or is compared with.
func addIntoFlag(cmd *cobra.Command, target *string, usage string) {
	cmd.Flags().StringVar(target, "into", "", usage)
	formerFlag(cmd, "into", "target", "")
}
