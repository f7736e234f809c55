package cli

import (
	"errors"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// TestArgumentsAreRefusedInCroftsWords calls each command with too few and too many
// arguments: the refusal has a code, and is not cobra's text.
func TestArgumentsAreRefusedInCroftsWords(t *testing.T) {
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, args := range [][]string{nil, {"a"}, {"a", "b"}, {"a", "b", "c", "d", "e"}} {
			if cmd.Args == nil {
				continue
			}
			err := cmd.Args(cmd, args)
			if err != nil && !errors.Is(err, croft.InvalidRequest) {
				t.Errorf("%s %q: %v", cmd.CommandPath(), args, err)
			}
		}
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(newRootCommand(&app{}))
}
