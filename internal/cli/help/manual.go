package help

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// Pages are the commands that have a page, with the program.
func Pages(at *cobra.Command) []*cobra.Command {
	pages := []*cobra.Command{at}
	for _, sub := range at.Commands() {
		if sub.IsAvailableCommand() {
			pages = append(pages, Pages(sub)...)
		}
	}
	return pages
}

// PageName is the name of the page of a command.
func PageName(cmd *cobra.Command) string {
	return strings.TrimSuffix("croft-"+strings.ReplaceAll(Key(cmd), " ", "-"), "-")
}

// Page is the page of a command in the language of man.
func Page(cmd *cobra.Command, version string) string {
	var page roff
	page.line(".TH " + strings.ToUpper(PageName(cmd)) + ` 1 "" "Croft ` + version + `" "Croft"`)
	page.heading("NAME")
	page.text(PageName(cmd) + ` \- ` + escapeRoff(lowerFirst(cmd.Short)))
	page.heading("SYNOPSIS")
	if !cmd.HasParent() {
		page.usage(line{"croft [COMMAND]", ""})
	} else {
		for _, row := range usageRows(cmd) {
			page.usage(row)
		}
	}
	page.heading("DESCRIPTION")
	page.prose(commandSummary(cmd))
	if !cmd.HasParent() {
		page.commands(cmd)
		page.surroundings()
	}
	page.options(cmd)
	if cmd.Example != "" {
		page.heading("EXAMPLES")
		page.prose(cmd.Example)
	}
	page.ends(cmd)
	page.heading("SEE ALSO")
	page.text(strings.Join(seeAlso(cmd), ", "))
	return page.String()
}

// seeAlso names the pages that stand near one.
func seeAlso(cmd *cobra.Command) []string {
	of := []*cobra.Command{cmd.Root()}
	if cmd.HasParent() && cmd.Parent() != of[0] {
		of = append(of, cmd.Parent())
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			of = append(of, sub)
		}
	}
	var names []string
	for _, page := range of {
		if page != cmd {
			names = append(names, `\fB`+escapeRoff(PageName(page))+`\fR(1)`)
		}
	}
	return append(names, `\fBgit\-worktree\fR(1)`)
}

// roff is a page in the language of man, as it is written.
type roff struct{ strings.Builder }

func (r *roff) line(text string)    { r.WriteString(text + "\n") }
func (r *roff) heading(name string) { r.line(".SH " + name) }

// text writes a line of text, whose beginning must not look like a request.
func (r *roff) text(text string) {
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	r.line(text)
}

func (r *roff) usage(row line) {
	r.line(".TP")
	r.text(`\fB` + escapeRoff(row.words) + `\fR`)
	if row.text != "" {
		r.text(escapeRoff(row.text))
	} else {
		r.text(`\&`)
	}
}

// ends writes with which statuses a command ends, and apart from that what else its help says at its end.
func (r *roff) ends(cmd *cobra.Command) {
	var exits, notes []string
	for line := range strings.SplitSeq(commandEnds(cmd), "\n") {
		if strings.HasPrefix(line, "Exit") {
			exits = append(exits, line)
		} else if line != "" {
			notes = append(notes, line)
		}
	}
	switch {
	case !cmd.HasParent():
		r.statuses()
	case len(exits) > 0:
		r.heading("EXIT STATUS")
		r.prose(strings.Join(exits, "\n"))
	}
	if len(notes) > 0 {
		r.heading("NOTES")
		r.prose(strings.Join(notes, "\n\n"))
	}
}

// statuses writes what the exit statuses of all commands mean.
func (r *roff) statuses() {
	r.heading("EXIT STATUS")
	for _, row := range []line{
		{"0", "all that was asked for is done"},
		{"1", "a part of it failed, or something is left to mend"},
		{"2", "the call is wrong"},
		{"3", "something exists already, does not exist, or collides"},
		{"4", "the machine, the configuration or a remote is not ready"},
		{"5", "refused, to protect work, or because nobody could be asked"},
		{"6", "with --check, something differs"},
		{"130", "interrupted"},
	} {
		r.usage(row)
	}
	r.line(".PP")
	r.text(escapeRoff("croft run and croft sh end with the status of the agent or the shell. The page of a command says which it has."))
}

// inColumns are the indented lines that a text begins with, as rows, if they are in two columns and one is too wide for
// a page: of the 80 columns of a terminal, indented lines have those from the fifteenth on.
func inColumns(lines []string) (rows []line, n int) {
	const room = 80 - 14
	isTooWide := false
	for ; n < len(lines) && strings.HasPrefix(lines[n], "  "); n++ {
		text := lines[n][2:]
		isTooWide = isTooWide || utf8.RuneCountInString(text) > room
		words, meaning, isTwo := strings.Cut(text, "  ")
		switch {
		case words == "" && n > 0:
			rows[n-1].text += " " + strings.TrimSpace(text)
			rows = append(rows, line{})
		case !isTwo:
			return nil, 0
		default:
			rows = append(rows, line{words, strings.TrimSpace(meaning)})
		}
	}
	if !isTooWide {
		return nil, 0
	}
	return slices.DeleteFunc(rows, func(row line) bool { return row == line{} }), n
}

// prose writes paragraphs. Lines that are indented stay as they are, unless they are too wide.
func (r *roff) prose(text string) {
	isAsItIs := false
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		isIndented := strings.HasPrefix(line, " ")
		switch {
		case line == "" && isAsItIs:
			r.text(`\&`)
			continue
		case line == "":
			r.line(".PP")
			continue
		case isIndented && !isAsItIs:
			if rows, n := inColumns(lines[i:]); len(rows) > 0 {
				for _, row := range rows {
					r.usage(row)
				}
				i += n - 1
				continue
			}
			r.line(".PP")
			r.line(".nf")
			r.line(".RS")
		case !isIndented && isAsItIs:
			r.line(".RE")
			r.line(".fi")
			r.line(".PP")
		}
		isAsItIs = isIndented
		r.text(escapeRoff(strings.TrimPrefix(line, "  ")))
		if strings.HasPrefix(line, "Exit ") || strings.HasPrefix(line, "Ctrl-C ") {
			r.line(".br")
		}
	}
	if isAsItIs {
		r.line(".RE")
		r.line(".fi")
	}
}

// commands writes the commands of the program, in the order of a day.
func (r *roff) commands(root *cobra.Command) {
	for _, section := range rootSections() {
		r.line(`.SS "` + section.title + `"`)
		for _, row := range section.rows {
			r.usage(row)
		}
	}
	r.line(`.SS "All commands"`)
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() {
			r.usage(line{"croft " + cmd.Name(), lowerFirst(cmd.Short)})
		}
	}
	r.usage(line{"croft help " + TopicRemoving, "which command takes what away, and where it goes"})
}

// surroundings writes what Croft reads and keeps outside of a repository.
func (r *roff) surroundings() {
	r.heading("FILES")
	for _, row := range []line{
		{"croft.toml", "the settings of a repository, in its root; croft init writes one with every setting explained"},
		{"~/.config/croft/config.toml", "your own settings"},
		{"~/.local/state/croft", "what Croft keeps of this host; CROFT_STATE_DIR names another place"},
		{"~/.local/share/croft", "the second copy of that, and workspaces that cannot lie beside their repository; CROFT_DATA_DIR names another place"},
	} {
		r.usage(row)
	}
	r.heading("ENVIRONMENT")
	for _, row := range []line{
		{"CROFT_...", "each setting, by its name in capitals with _ for the dot: CROFT_POOL_SIZE"},
		{"NO_COLOR, CLICOLOR, CLICOLOR_FORCE", "whether there is colour"},
		{"CROFT_WORKSPACE, CROFT_WORKSPACE_NAME", "set for what runs in a workspace: its ID, and its name; croft env prints all of them"},
	} {
		r.usage(row)
	}
}

// options writes the flags of a command, and of the program those of all commands.
func (r *roff) options(cmd *cobra.Command) {
	rows := flagRows(cmd)
	if !cmd.HasParent() {
		rows = append(globalFlagRows(cmd), line{"  -h, --help", "show the help of the program or of a command"}, line{"  -V, --version", "print the program's version"})
	}
	if len(rows) == 0 {
		return
	}
	r.heading("OPTIONS")
	for _, row := range rows {
		r.usage(line{strings.TrimSpace(row.words), row.text})
	}
}

// escapeRoff keeps man from reading a text as anything but a text.
func escapeRoff(text string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
}
