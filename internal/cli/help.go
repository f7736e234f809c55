package cli

import (
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/cli/help"
	"github.com/spf13/cobra"
)

// setHelp has the program and its commands print their help in one form.
func (a *app) setHelp(root *cobra.Command) {
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		a.page()
		if cmd == root {
			a.printText(help.Program(root, a.stdout()))
			return
		}
		a.printText(help.Command(cmd, a.stdout()))
	})
	root.SetUsageFunc(func(*cobra.Command) error { return nil }) // errors name the help
	root.SetHelpCommand(a.newHelpCommand(root))
}

// printText prints lines that are whole already.
func (a *app) printText(text string) { _, _ = a.out.Write([]byte(text)) } // output remembers a failure

func (a *app) newHelpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND | TOPIC]",
		Short: "Show the help of a command, or of a topic",
		Long: `Show the help of a command, or of a topic: "croft help removing" has the table of what
takes what away.`,
		Args: takesCommandOrTopic,
		ValidArgsFunction: func(_ *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
			at, _, err := root.Find(args)
			if err != nil || len(args) > 0 && at == root {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var offers []cobra.Completion
			if at == root {
				offers = append(offers, cobra.CompletionWithDesc(help.TopicRemoving, "what takes what away"))
			}
			for _, sub := range at.Commands() {
				if sub.IsAvailableCommand() {
					offers = append(offers, cobra.CompletionWithDesc(sub.Name(), sub.Short))
				}
			}
			return slices.DeleteFunc(offers, func(c cobra.Completion) bool { return !strings.HasPrefix(c, word) }), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] == help.TopicRemoving {
				a.page()
				a.printText(help.Removing(a.stdout()))
				return nil
			}
			cmd, _, err := root.Find(args)
			if err != nil {
				return err
			}
			return cmd.Help()
		},
	}
}

// takesCommandOrTopic refuses words that are neither a command of Croft's nor a topic.
func takesCommandOrTopic(cmd *cobra.Command, args []string) error {
	if len(args) == 1 && args[0] == help.TopicRemoving {
		return nil
	}
	at := cmd.Root()
	for _, word := range args {
		if !help.HasCommand(at, word) {
			return unknownCommandError(at, word)
		}
		at, _, _ = at.Find([]string{word})
	}
	return nil
}

// newManualCommand prints the pages of the manual, for packages.
func newManualCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "manual [PAGE]",
		Short: "Print a page of the manual",
		Long: `Print a page of the manual, such as croft-merge, for man(1). Without a name, list the
pages: there is one for each command. Packages have them in the place where man looks.`,
		Args:   takesOptional("page"),
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			pages := help.Pages(cmd.Root())
			if len(args) == 0 {
				for _, page := range pages {
					a.printLine(help.PageName(page))
				}
				return nil
			}
			for _, page := range pages {
				if help.PageName(page) == args[0] {
					a.printText(help.Page(page, a.env.Version))
					return nil
				}
			}
			return usageError(cmd, "there is no page "+quoted(args[0]))
		},
	}
}
