package cli

import (
	"fmt"
	"runtime"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// The groups of commands in the help.
const (
	groupWork   = "work"
	groupMerge  = "merge"
	groupUpkeep = "upkeep"
	groupSetup  = "setup"
)

func newRootCommand(a *app) *cobra.Command {
	list := newListCommand(a)
	root := &cobra.Command{
		Use:   "croft",
		Short: "Isolated checkouts for coding agents",
		Long: `Croft gives every coding agent a checkout and a branch of its own.

Without a command it lists the workspaces of the repository.`,
		Example: `  croft new researcher developer reviewer
  croft sh researcher
  croft remove researcher`,
		Args:              takesNothing,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},

		SuggestionsMinimumDistance: 2,
		DisableAutoGenTag:          true,
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
	flags.BoolVar(&a.plain, "no-color", false, "print without colour")
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "print no remarks, only results and errors")
	_ = root.MarkPersistentFlagDirname("repo") // fails only for a flag that is not there
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &croft.Error{
			Code: croft.InvalidRequest, Op: "parse",
			Message: err.Error(),
			Hint:    cmd.CommandPath() + " --help",
		}
	})

	root.AddGroup(
		&cobra.Group{ID: groupWork, Title: "Workspaces:"},
		&cobra.Group{ID: groupMerge, Title: "Bringing work back:"},
		&cobra.Group{ID: groupUpkeep, Title: "Upkeep:"},
		&cobra.Group{ID: groupSetup, Title: "Set-up:"},
	)
	root.SetHelpCommandGroupID(groupSetup)
	addGroup(root, groupWork,
		newNewCommand(a), list, newShowCommand(a), newPathCommand(a), newEnvCommand(a), newPortsCommand(a),
		newRunCommand(a), newStopCommand(a), newShCommand(a), newCdCommand(a), newHoldCommand(a), newMountsCommand(a), newLockCommand(a), newUnlockCommand(a), newMetaCommand(a), newReposCommand(a), newAdoptCommand(a), newProvisionCommand(a),
		newRemoveCommand(a), newSnapshotCommand(a), newTrashCommand(a), newRestoreCommand(a), newUndoCommand(a), newHistoryCommand(a), newEventsCommand(a),
		newRoleCommand(a), newSessionCommand(a), newRoundCommand(a), newAgentCommand(a), newHookCommand(a))
	addGroup(root, groupMerge,
		newSaveCommand(a), newFinishCommand(a), newMergeCommand(a), newPushCommand(a), newQueueCommand(a), newLogsCommand(a), newRevertCommand(a), newDiscardCommand(a),
		newDiffCommand(a), newReviewCommand(a), newApplyCommand(a), newConflictsCommand(a))
	addGroup(root, groupUpkeep,
		newCleanCommand(a), newReapCommand(a), newGCCommand(a), newPoolCommand(a), newDoctorCommand(a))
	addGroup(root, groupSetup,
		newInitCommand(a), newConfigCommand(a), newServeCommand(a), newMCPCommand(a), newTokenCommand(a), newSchemaCommand(a), newShellInitCommand(a),
		newCompletionCommand(), newUninstallCommand(a), newVersionCommand(a))
	root.InitDefaultHelpCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "help" {
			cmd.Args = takesCommand
		}
	}
	return root
}

// takesCommand refuses words that are no command of Croft's.
func takesCommand(cmd *cobra.Command, args []string) error {
	at := cmd.Root()
	for _, word := range args {
		if !hasCommand(at, word) {
			return unknownCommandError(at, word)
		}
		at, _, _ = at.Find([]string{word})
	}
	return nil
}

func addGroup(root *cobra.Command, group string, commands ...*cobra.Command) {
	for _, cmd := range commands {
		cmd.GroupID = group
		cmd.Flags().SortFlags = false
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
