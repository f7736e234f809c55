package cli

import (
	"cmp"
	"fmt"
	"runtime"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/help"
	"github.com/spf13/cobra"
)

func newRootCommand(a *app) *cobra.Command {
	list := newListCommand(a)
	root := &cobra.Command{
		Use:               "croft",
		Short:             "Isolated checkouts for coding agents",
		Long:              help.Summary,
		Args:              takesNothing,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},

		DisableAutoGenTag: true,
	}
	isVersion := root.Flags().BoolP("version", "V", false, "print the program's version")
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if *isVersion {
			a.printVersion()
			return nil
		}
		return list.RunE(cmd, args)
	}
	if a.env.Program != root.Name() {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: a.env.Program}
	}
	flags := root.PersistentFlags()
	flags.SortFlags = false
	flags.BoolVar(&a.json, "json", a.json, "print one JSON object")
	flags.StringVarP(&a.repo, "repo", "C", "", "the project's `directory`, or id:ID (default: this one)")
	flags.StringArrayVar(&a.set, "set", nil, "set a configuration `key=value` for this call")
	flags.Var(&a.color, "color", "print with colour: always, never or auto")
	flags.BoolVar(&a.isUnpaged, "no-pager", false, "print without a pager")
	flags.BoolVar(&a.plain, "no-color", false, "print without colour")
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "print no remarks, only results and errors")
	_ = root.MarkPersistentFlagDirname("repo") // fails only for a flag that is not there
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &croft.Error{
			Code: croft.InvalidRequest, Op: "parse",
			Message: flagMessage(err),
			Hint:    cmp.Or(a.withNearestFlag(cmd, err), cmd.CommandPath()+" --help"),
		}
	})

	addCommands(
		root,
		newNewCommand(a), list, newShowCommand(a), newPathCommand(a), newEnvCommand(a), newPortsCommand(a),
		newRunCommand(a), newStopCommand(a), newShCommand(a), newCdCommand(a), newHoldCommand(a), newMountsCommand(a),
		newLockCommand(a), newUnlockCommand(a), newMetaCommand(a), newReposCommand(a), newAdoptCommand(a), newProvisionCommand(a),
		newRemoveCommand(a), newSnapshotCommand(a), newTrashCommand(a), newRestoreCommand(a), newUndoCommand(a),
		newHistoryCommand(a), newEventsCommand(a),
		newRoleCommand(a), newSessionCommand(a), newRoundCommand(a), newAgentCommand(a), newHookCommand(a),
		newSaveCommand(a), newFinishCommand(a), newMergeCommand(a), newPushCommand(a), newQueueCommand(a), newLogsCommand(a),
		newRevertCommand(a), newDiscardCommand(a), newDiffCommand(a), newReviewCommand(a), newApplyCommand(a), newConflictsCommand(a),
		newCleanCommand(a), newReapCommand(a), newGCCommand(a), newPoolCommand(a), newDoctorCommand(a),
		newInitCommand(a), newConfigCommand(a), newServeCommand(a), newMCPCommand(a), newTokenCommand(a), newSchemaCommand(a),
		newShellInitCommand(a), newCompletionCommand(a), newManualCommand(a), newUninstallCommand(a), newVersionCommand(a),
	)
	refuseEmpty(root)
	addAliases(root)
	a.setHelp(root)
	root.InitDefaultHelpCmd()
	help.NameValues(root)
	a.addCompletions(root)
	a.addPicks(root)
	root.ValidArgsFunction = completeAliases
	return root
}

func addCommands(root *cobra.Command, commands ...*cobra.Command) {
	for _, cmd := range commands {
		cmd.Flags().SortFlags = false
		for _, sub := range cmd.Commands() {
			sub.Flags().SortFlags = false
		}
		root.AddCommand(cmd)
	}
}

func newVersionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the program's version",
		Args:  takesNothing,
		RunE: func(*cobra.Command, []string) error {
			a.printVersion()
			return nil
		},
	}
}

// printVersion prints the program's version, which is "croft" in JSON: "version" is that
// of the JSON, here as everywhere.
func (a *app) printVersion() {
	if a.json {
		a.emit(versionResult{a.env.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH})
		return
	}
	a.printLine(fmt.Sprintf("croft %s (%s, %s/%s)", a.env.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH))
}
