package cli

import (
	"slices"
	"testing"

	"github.com/croft-sh/croft/internal/cli/help"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestFlagsMeanOneThing: a letter stands for the same flag in all commands.
func TestFlagsMeanOneThing(t *testing.T) {
	means := map[string][]string{
		"n": {"dry-run"}, "y": {"yes"}, "f": {"force", "follow"}, "L": {"limit"}, "A": {"all-repos"}, "m": {"message"}, "C": {"repo"}, "q": {"quiet"}, "V": {"version"}, "h": {"help"}, "d": {"detach"},
	}
	for _, cmd := range help.Pages(newRootCommand(&app{})) {
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			if known := means[flag.Shorthand]; known != nil && !flag.Hidden && !slices.Contains(known, flag.Name) {
				t.Errorf("croft %s: -%s is --%s, elsewhere %v", help.Key(cmd), flag.Shorthand, flag.Name, known)
			}
		})
	}
}

// TestDryRuns: what changes more than one thing can be told without being done.
func TestDryRuns(t *testing.T) {
	root := newRootCommand(&app{})
	for _, args := range [][]string{
		{"new"}, {"remove"}, {"discard"}, {"clean"}, {"reap"}, {"gc"}, {"undo"}, {"revert"}, {"merge"}, {"doctor"}, {"uninstall"}, {"queue", "cancel"}, {"config", "trust"},
	} {
		cmd := mustFind(t, root, args)
		if flag := cmd.Flag("dry-run"); flag == nil || flag.Shorthand != "n" {
			t.Errorf("croft %s has no -n", help.Key(cmd))
		}
	}
	for _, args := range [][]string{{"history"}, {"queue"}, {"list"}} {
		cmd := mustFind(t, root, args)
		if flag := cmd.Flag("limit"); flag == nil || flag.Shorthand != "L" {
			t.Errorf("croft %s has no -L", help.Key(cmd))
		}
	}
}

func mustFind(t *testing.T, root *cobra.Command, args []string) *cobra.Command {
	t.Helper()
	cmd, _, err := root.Find(args)
	if err != nil {
		t.Fatal(err)
	}
	return cmd
}

// TestTargetMeansInto: where a command takes --into, --target means the same, and is not shown.
func TestTargetMeansInto(t *testing.T) {
	for _, words := range [][]string{{"merge"}, {"queue"}, {"queue", "hold"}, {"queue", "run"}, {"diff"}, {"review"}, {"apply"}} {
		cmd, _, err := testRoot().Find(words)
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.ParseFlags([]string{"--target", "other"}); err != nil {
			t.Errorf("%v: %v", words, err)
			continue
		}
		if into, target := cmd.Flag("into"), cmd.Flag("target"); into.Value.String() != "other" || !target.Hidden || into.Hidden {
			t.Errorf("%v: --into is %q", words, into.Value)
		}
	}
}
