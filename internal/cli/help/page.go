package help

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/croft-sh/croft/internal/screen"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// widest is the widest that prose of the help is.
const widest = 100

// usual is the width of a terminal that is not known.
const usual = 80

// printer makes help for one stream.
type printer struct{ to screen.Stream }

// Program is the help of the program.
func Program(root *cobra.Command, to screen.Stream) string { return printer{to}.program(root) }

// Command is the help of a command: what it does, how it is called, its flags, and how it ends.
func Command(cmd *cobra.Command, to screen.Stream) string { return printer{to}.command(cmd) }

// Removing is the topic "removing": the table of what takes what away, in lines that fit a terminal.
func Removing(to screen.Stream) string { return printer{to}.removing() }

func (p printer) program(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString(wrapProse(Summary, p.room()+2))
	for _, section := range rootSections() {
		b.WriteString("\n" + p.to.Paint(section.title, screen.Bold) + "\n")
		for _, row := range section.rows {
			b.WriteString(p.hanging("  "+p.paintCommands(root, row.words), row.text, 24))
		}
	}
	b.WriteString("\n")
	for _, row := range rootRows() {
		lines := wrapWords(row.text, p.room()+2-27)
		for i, text := range lines {
			lines[i] = p.paintCommands(root, text)
		}
		b.WriteString(p.to.Paint(padded(row.words, 27), screen.Bold) + strings.Join(lines, "\n"+strings.Repeat(" ", 27)) + "\n")
	}
	return b.String()
}

// room is how many columns prose has.
func (p printer) room() int { return min(cmp.Or(p.to.Width, usual), widest) - 2 }

// hanging is a text beside painted words, wrapped there.
func (p printer) hanging(words, text string, column int) string {
	return hangingPainted(words, screen.PaintedWidth(words), text, column, p.room()+2)
}

// paintCommands paints the words of a text that are commands of the program, or flags.
func (p printer) paintCommands(root *cobra.Command, text string) string {
	var b strings.Builder
	for text != "" {
		n := strings.IndexAny(text, ", ")
		if n < 0 {
			n = len(text)
		}
		word := text[:n]
		if HasCommand(root, word) || strings.HasPrefix(word, "-") {
			word = p.to.Paint(word, screen.Cyan)
		}
		b.WriteString(word)
		rest := strings.TrimLeft(text[n:], ", ")
		b.WriteString(text[n : len(text)-len(rest)])
		text = rest
	}
	return b.String()
}

func (p printer) command(cmd *cobra.Command) string {
	var b strings.Builder
	room := p.room()
	b.WriteString(wrapProse(commandSummary(cmd), room))
	for _, row := range usageRows(cmd) {
		b.WriteString(p.hanging("  "+p.to.Paint(row.words, screen.Cyan), row.text, usageColumn(cmd)+2))
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
func usageRows(cmd *cobra.Command) []line {
	var rows []line
	if cmd.Runnable() && !isGroup(cmd) {
		text := ""
		if note := Notes()[Key(cmd)].Without; cmd.HasAvailableSubCommands() {
			text = note
		} else if note != "" {
			text = "default: " + note
		}
		rows = append(rows, line{usageLine(cmd), text})
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			rows = append(rows, line{usageLine(sub), lowerFirst(sub.Short)})
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
func isGroup(cmd *cobra.Command) bool { return Notes()[Key(cmd)].IsGroup }

// usageLine is how a command is called, without its flags.
func usageLine(cmd *cobra.Command) string {
	if !cmd.HasParent() {
		return cmd.CommandPath()
	}
	return cmd.Parent().CommandPath() + " " + cmd.Use
}

// flagRows are the flags of a command, the hidden ones and --help left out.
func flagRows(cmd *cobra.Command) []line {
	var rows []line
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
func globalFlagRows(root *cobra.Command) (rows []line) {
	root.PersistentFlags().VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden {
			rows = append(rows, flagRow(flag))
		}
	})
	return rows
}

func flagRow(flag *pflag.Flag) line {
	words := "      --" + flag.Name
	if flag.Shorthand != "" {
		words = "  -" + flag.Shorthand + ", --" + flag.Name
	}
	return line{words + valueWord(flag), flag.Usage}
}

// valueAnnotation has the word for the value of a flag, which its usage had in backquotes.
const valueAnnotation = "croft_value"

// NameValues takes the backquotes out of the usages of all flags, which shells show, too, and keeps the
// words that were in them.
func NameValues(cmd *cobra.Command) {
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
		NameValues(sub)
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
func flagColumn(rows []line) int {
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
	return hangingPainted(words, utf8.RuneCountInString(words), text, column, room)
}

// hangingPainted is a text beside words that take some columns. Where the room beside them is narrow, it stands below.
func hangingPainted(words string, wide int, text string, column, room int) string {
	const least, indent = 20, 6
	if text == "" {
		return words + "\n"
	}
	if room-column < least {
		column = indent
	}
	pad := strings.Repeat(" ", column)
	first := words + strings.Repeat(" ", max(column-wide, 1))
	if wide > column-2 {
		first = words + "\n" + pad
	}
	return first + strings.Join(wrapWords(text, room-column), "\n"+pad) + "\n"
}

// wrapProse wraps the paragraphs of a text. Lines that are indented stay as they are, if there is room.
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
			b.WriteString(indented(line, room))
			continue
		}
		paragraph = append(paragraph, line)
	}
	flush()
	return b.String()
}

// indented is an indented line. The second of its columns is wrapped, or stands below the first.
func indented(line string, room int) string {
	const gap = "  "
	words := strings.TrimLeft(line, " ")
	indent := line[:len(line)-len(words)]
	first, second, isTwo := strings.Cut(words, gap)
	if !isTwo || utf8.RuneCountInString(line) <= room+2 {
		return line + "\n"
	}
	text := strings.TrimLeft(second, " ")
	return hangingLine(indent+first, text, utf8.RuneCountInString(line)-utf8.RuneCountInString(text), room)
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

// HasCommand reports whether word is a subcommand of root, an alias of one, or one of
// cobra's completion requests.
func HasCommand(root *cobra.Command, word string) bool {
	if word == cobra.ShellCompRequestCmd || word == cobra.ShellCompNoDescRequestCmd {
		return true
	}
	return slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool {
		return c.Name() == word || c.HasAlias(word)
	})
}
