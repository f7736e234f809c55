package cli

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is the widest that prose of the help is.
const helpWidth = 100

// setHelp has the program and its commands print their help in one form.
func (a *app) setHelp(root *cobra.Command) {
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		if cmd == root {
			a.printText(a.rootHelp(root))
			return
		}
		a.printText(a.commandHelp(cmd))
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
				offers = append(offers, cobra.CompletionWithDesc(topicRemoving, "what takes what away"))
			}
			for _, sub := range at.Commands() {
				if sub.IsAvailableCommand() {
					offers = append(offers, cobra.CompletionWithDesc(sub.Name(), sub.Short))
				}
			}
			return slices.DeleteFunc(offers, func(c cobra.Completion) bool { return !strings.HasPrefix(c, word) }), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] == topicRemoving {
				a.printText(a.removingHelp())
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
	if len(args) == 1 && args[0] == topicRemoving {
		return nil
	}
	at := cmd.Root()
	for _, word := range args {
		if !hasCommand(at, word) {
			return unknownCommandError(at, word)
		}
		at, _, _ = at.Find([]string{word})
	}
	return nil
}

// rootHelp is the help of the program.
func (a *app) rootHelp(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString(rootSummary)
	for _, section := range rootSections() {
		b.WriteString("\n" + a.paintText(section.title, styleBold) + "\n")
		for _, row := range section.rows {
			b.WriteString("  " + a.paintCommands(root, padded(row.words, 22)) + row.text + "\n")
		}
	}
	b.WriteString("\n")
	for _, row := range rootRows() {
		b.WriteString(a.paintText(padded(row.words, 27), styleBold) + a.paintCommands(root, row.text) + "\n")
	}
	return b.String()
}

// paintCommands paints the words of a text that are commands of the program, or flags.
func (a *app) paintCommands(root *cobra.Command, text string) string {
	var b strings.Builder
	for text != "" {
		n := strings.IndexAny(text, ", ")
		if n < 0 {
			n = len(text)
		}
		word := text[:n]
		if hasCommand(root, word) || strings.HasPrefix(word, "-") {
			word = a.paintText(word, styleCyan)
		}
		b.WriteString(word)
		rest := strings.TrimLeft(text[n:], ", ")
		b.WriteString(text[n : len(text)-len(rest)])
		text = rest
	}
	return b.String()
}

// commandHelp is the help of a command: what it does, how it is called, its flags, and how it ends.
func (a *app) commandHelp(cmd *cobra.Command) string {
	var b strings.Builder
	room := min(max(a.env.Width, usualWidth), helpWidth) - 2
	b.WriteString(wrapProse(commandSummary(cmd), room))
	for _, row := range usageRows(cmd) {
		words := "  " + a.paintText(row.words, styleCyan)
		if row.text != "" {
			words += strings.Repeat(" ", max(3, usageColumn(cmd)-utf8.RuneCountInString(row.words))) + row.text
		}
		b.WriteString(words + "\n")
	}
	if rows := flagRows(cmd); len(rows) > 0 {
		b.WriteString("\n")
		column := flagColumn(rows)
		for _, row := range rows {
			b.WriteString(hangingLine(row.words, row.text, column, room))
		}
	}
	if ends := commandEnds(cmd); ends != "" {
		b.WriteString("\n")
		for line := range strings.SplitSeq(ends, "\n") {
			b.WriteString(wrapProse(line, room))
		}
	}
	return b.String()
}

// commandSummary is the text of a command, as sentences.
func commandSummary(cmd *cobra.Command) string {
	if cmd.Long != "" {
		return cmd.Long
	}
	return cmd.Short + "."
}

// usageRows are the ways in which a command can be called, and what each means.
func usageRows(cmd *cobra.Command) []helpRow {
	var rows []helpRow
	if cmd.Runnable() && !isGroup(cmd) {
		text := ""
		if note := helpNotes()[commandKey(cmd)].without; cmd.HasAvailableSubCommands() {
			text = note
		} else if note != "" {
			text = "default: " + note
		}
		rows = append(rows, helpRow{usageLine(cmd), text})
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			rows = append(rows, helpRow{usageLine(sub), lowerFirst(sub.Short)})
		}
	}
	return rows
}

// usageColumn is where the texts of the ways to call a command begin.
func usageColumn(cmd *cobra.Command) int {
	const most = 46
	column := 0
	for _, row := range usageRows(cmd) {
		if n := utf8.RuneCountInString(row.words) + 3; n <= most {
			column = max(column, n)
		}
	}
	return column
}

// isGroup reports whether a command does nothing but hold others.
func isGroup(cmd *cobra.Command) bool { return helpNotes()[commandKey(cmd)].isGroup }

// usageLine is how a command is called, without its flags.
func usageLine(cmd *cobra.Command) string {
	if !cmd.HasParent() {
		return cmd.CommandPath()
	}
	return cmd.Parent().CommandPath() + " " + cmd.Use
}

// flagRows are the flags of a command, the hidden ones and --help left out.
func flagRows(cmd *cobra.Command) []helpRow {
	var rows []helpRow
	everywhere := cmd.Root().PersistentFlags()
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if flag.Hidden || flag.Name == "help" || flag.Name == "version" || everywhere.Lookup(flag.Name) == flag {
			return
		}
		rows = append(rows, flagRow(flag))
	})
	return rows
}

// globalFlagRows are the flags that all commands have.
func globalFlagRows(root *cobra.Command) (rows []helpRow) {
	root.PersistentFlags().VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden {
			rows = append(rows, flagRow(flag))
		}
	})
	return rows
}

func flagRow(flag *pflag.Flag) helpRow {
	words := "      --" + flag.Name
	if flag.Shorthand != "" {
		words = "  -" + flag.Shorthand + ", --" + flag.Name
	}
	return helpRow{words + valueWord(flag), flag.Usage}
}

// valueAnnotation has the word for the value of a flag, which its usage had in backquotes.
const valueAnnotation = "croft_value"

// nameValues takes the backquotes out of the usages of all flags, which shells show, too, and keeps the
// words that were in them.
func nameValues(cmd *cobra.Command) {
	name := func(flag *pflag.Flag) {
		word, usage := pflag.UnquoteUsage(flag)
		if usage != flag.Usage {
			flag.Usage = usage
			_ = cmd.Flags().SetAnnotation(flag.Name, valueAnnotation, []string{word}) // the flag is there
		}
	}
	cmd.Flags().AddFlagSet(cmd.PersistentFlags())
	cmd.Flags().VisitAll(name)
	for _, sub := range cmd.Commands() {
		nameValues(sub)
	}
}

// valueWord is what stands for the value of a flag, with what separates it from the name.
func valueWord(flag *pflag.Flag) string {
	if flag.Value.Type() == "bool" {
		return ""
	}
	word := "NAME"
	switch flag.Name {
	case "into", "target", "branch":
		word = "BRANCH"
	case "message", "reason", "title", "body":
		word = "TEXT"
	case "key":
		word = "KEY"
	}
	switch flag.Value.Type() {
	case "int", "uint", "int64":
		word = "N"
	case "duration":
		word = "TIME"
	}
	if named := flag.Annotations[valueAnnotation]; len(named) > 0 {
		word = named[0]
	}
	if !strings.ContainsAny(word, "=:|") {
		word = strings.ToUpper(word)
	}
	if flag.NoOptDefVal != "" {
		return "[=" + word + "]"
	}
	return " " + word
}

// flagColumn is where the texts of flags begin: in one line for all, unless a name is very long.
func flagColumn(rows []helpRow) int {
	const least, most = 26, 34
	column := least
	for _, row := range rows {
		if n := utf8.RuneCountInString(row.words) + 2; n <= most {
			column = max(column, n)
		}
	}
	return column
}

// hangingLine is a text in the second of two columns, wrapped there.
func hangingLine(words, text string, column, room int) string {
	lines := wrapWords(text, room-column)
	first := padded(words, column)
	if utf8.RuneCountInString(words) > column-2 {
		first = words + "\n" + strings.Repeat(" ", column)
	}
	return first + strings.Join(lines, "\n"+strings.Repeat(" ", column)) + "\n"
}

// wrapProse wraps the paragraphs of a text. Lines that are indented stay as they are.
func wrapProse(text string, room int) string {
	var b strings.Builder
	var paragraph []string
	flush := func() {
		isLong := func(line string) bool { return utf8.RuneCountInString(line) > room }
		switch {
		case len(paragraph) > 0 && !slices.ContainsFunc(paragraph, isLong):
			b.WriteString(strings.Join(paragraph, "\n") + "\n")
		case len(paragraph) > 0:
			b.WriteString(strings.Join(wrapWords(strings.Join(paragraph, " "), room), "\n") + "\n")
		}
		paragraph = nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if line == "" || strings.HasPrefix(line, " ") {
			flush()
			b.WriteString(line + "\n")
			continue
		}
		paragraph = append(paragraph, line)
	}
	flush()
	return b.String()
}

// wrapWords divides a text into lines, between words.
func wrapWords(text string, room int) []string {
	lines := []string{""}
	for word := range strings.FieldsSeq(text) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case utf8.RuneCountInString(*last)+1+utf8.RuneCountInString(word) <= room:
			*last += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}

func padded(text string, width int) string {
	return text + strings.Repeat(" ", max(1, width-utf8.RuneCountInString(text)))
}

func lowerFirst(text string) string {
	if len(text) > 1 && text[1] >= 'a' && text[1] <= 'z' {
		return strings.ToLower(text[:1]) + text[1:]
	}
	return text
}
