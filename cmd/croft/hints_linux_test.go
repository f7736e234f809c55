package main_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// exception is a command that is shown and does not simply end with 0: it asks, offers a list, opens a shell, or ends with
// another status, which is what it says there.
type exception struct {
	command string // the whole of it, as an expression
	story   string // an expression; empty: in every story
	act     string // the command that shows it; empty: any
	exit    int
	answers map[string][]string // what is typed at a text; the text must come
	why     string
}

// exceptions are all there are. Whatever is shown and is not here ends with 0 and asks nothing.
func exceptions() []exception {
	yes := map[string][]string{"[y/N]": {"y", "Enter"}}
	leave := map[string][]string{"$ ": {"exit", "Enter"}}
	return []exception{
		{command: `croft sh \S+`, answers: leave, why: "it is a shell"},
		{command: `croft clean`, story: "errors", why: "nothing is finished there, and it says so"},
		{command: `croft undo`, story: "remove", answers: yes, exit: 5, why: "what was restored is not committed, and is moved again with --force only"},
		{command: `croft undo [0-9a-z]{4,16}`, story: "remove", exit: 5, why: "what was restored is not committed, and is moved again with --force only"},
		{command: `croft (clean|undo)`, answers: yes, why: "it asks, because it was not said what"},
		{command: `croft merge (search-index|revert-fix-login)`, story: "conflict|revert", exit: 5, why: "the conflict is to be resolved before, in the shell that is named before"},
		{command: `croft remove developer`, story: "errors", answers: yes, why: "it asks, because there is uncommitted work"},
		{command: `croft discard`, answers: map[string][]string{"esc leaves": {"Escape"}}, exit: 130, why: "it offers a list"},
		{command: `croft config trust`, act: "croft init", why: "there is nothing to approve before checks are committed, and it says so"},
		{command: `croft config trust( --target main)?`, answers: yes, why: "only a person approves"},
		{command: `croft review \S+`, answers: map[string][]string{"apply this hunk?": {"q"}}, why: "a person chooses"},
		{command: `croft doctor`, story: "finish", exit: 1, why: "it finds what show has found"},
		{command: `croft merge (flaky-tests rate-limit .*|rate-limit)`, story: "list", exit: 3, why: "the check of rate-limit fails again, and it says so"},
		{command: `croft merge api-docs`, story: "merge", exit: 5, why: "the user's change is still there, and it says so"},
		{command: `croft queue run`, story: "merge", exit: 5, why: "the user's change is still there, and it says so"},
	}
}

// shownCommand is a command as a screen shows it.
type shownCommand struct {
	line string
	name string // the same in every run
}

// readsOnly are commands that leave all as it is, so that others can be run after them.
var readsOnly = regexp.MustCompile(`^croft (--help|show|diff|logs|list|history|trash|conflicts|queue|doctor|sh|path|config --all|.* -n)( \S+)*$|^git (branch|status)`)

// changesQueue are commands that begin as those that read.
var changesQueue = regexp.MustCompile(`^croft queue \w|^croft doctor --fix|^croft session|^croft logs -f`)

func isReading(line string) bool {
	return readsOnly.MatchString(line) && !changesQueue.MatchString(line)
}

var placeholder = regexp.MustCompile(`\b[A-Z]{2,}\b`)

// commandsOf are the commands that a screen tells to type: what is in the colour of commands, and in a list what
// the row and the heading leave out.
func commandsOf(p picture) (commands []string) {
	for _, line := range p.raw {
		text := ""
		for _, s := range line {
			text += s.text
		}
		if strings.HasSuffix(strings.TrimSpace(text), "NEXT croft …") {
			continue
		}
		for _, s := range line {
			command := strings.TrimSpace(s.text)
			if !s.isCyan() || command == "" || command == "hint:" || command == "next:" {
				continue
			}
			if rowName.MatchString(text) && !strings.HasPrefix(command, "croft ") {
				name := rowName.FindStringSubmatch(text)[1]
				if strings.Contains(name, "…") { // who types the command takes the name from a wider list
					continue
				}
				command = "croft " + command
				if !strings.HasSuffix(command, " run") { // the queue has no name
					command += " " + name
				}
			}
			commands = append(commands, command)
		}
	}
	return commands
}

// rowName finds the name in a row of a list.
var rowName = regexp.MustCompile(`^[› ] [✗!●◐○✓] (\S+)  `)

// shownIn are the commands that an act has shown for the first time in a story, those of all its screens.
func shownIn(pictures []picture, known names, before map[string]bool) (all []shownCommand) {
	for _, p := range pictures {
		for _, line := range commandsOf(p) {
			var name string
			for _, s := range known.settled([][]span{{{text: line}}})[0] {
				name += s.text
			}
			if !slices.ContainsFunc(all, func(c shownCommand) bool { return c.name == name }) && !before[name] {
				all = append(all, shownCommand{line, name})
			}
		}
	}
	return all
}

// follow plays a story once more, and after each act runs the commands that it has shown. What changes something is run in a
// story of its own, which comes as far as that act. What is typed next in the story is run by that.
func (s story) follow(t *testing.T, program string) {
	t.Helper()
	d := s.begin(t, program)
	narrow := looks()[0]
	done := map[string]bool{}
	for i, a := range s.acts {
		if i > 0 && a.before == "" && len(a.moments) == 0 {
			done[a.line] = true
		}
		pictures := d.play(narrow, a)
		known := learn(d)
		shown := shownIn(pictures, known, done)
		if i+1 < len(s.acts) && s.acts[i+1].before == "" && s.acts[i+1].in == a.in {
			next := s.acts[i+1].line
			shown = slices.DeleteFunc(shown, func(c shownCommand) bool { return c.line == next })
		}
		for _, c := range shown {
			done[c.name] = true
			switch {
			case placeholder.MatchString(c.line) || s.isHelp:
				d.knows(c.line, a)
			case isReading(c.line):
				d.obeys(s, c.line, a)
			default:
				s.again(t, program, i, c.name)
			}
		}
	}
}

// again plays a story up to an act, and runs a command that it shows.
func (s story) again(t *testing.T, program string, upTo int, name string) {
	t.Helper()
	d := s.begin(t, program)
	defer d.leave()
	var pictures []picture
	for _, a := range s.acts[:upTo+1] {
		pictures = d.play(looks()[0], a)
	}
	for _, c := range shownIn(pictures, learn(d), nil) {
		if c.name == name {
			d.obeys(s, c.line, s.acts[upTo])
			return
		}
	}
	t.Errorf("%s: %s does not show %s again", s.name, s.acts[upTo].line, name)
}

// knows sees whether there are the commands and the flags of a command with words that stand for others.
func (d *desk) knows(line string, a act) {
	d.t.Helper()
	for part := range strings.SplitSeq(strings.TrimRight(line, ".,:;"), ", ") {
		words, flags := "", []string{}
		for i, word := range strings.Fields(part) {
			switch {
			case strings.HasPrefix(word, "-") && word != "--":
				flags = append(flags, word)
			case len(flags) == 0 && plainWord.MatchString(word) && (i > 0 || word != "croft"):
				words += " " + word
			}
		}
		if !strings.HasPrefix(part, "croft") && strings.Contains(part, "/") || strings.HasPrefix(part, "git ") || strings.HasPrefix(part, "eval ") {
			continue // a path, or another program
		}
		help := d.output("croft" + words + " --help 2>&1 || echo unknown")
		if strings.Contains(help, "unknown") && strings.Contains(help, "croft: ") {
			d.t.Errorf("%s shows %q, and there is no croft%s:\n%s", a.line, line, words, help)
		}
		for _, flag := range flags {
			if !strings.Contains(help, flag) {
				d.t.Errorf("%s shows %q, and croft%s has no %s:\n%s", a.line, line, words, flag, help)
			}
		}
	}
}

// plainWord is the name of a command.
var plainWord = regexp.MustCompile(`^[a-z][a-z-]*$`)

// obeys runs a command that an act has shown, where it was shown.
func (d *desk) obeys(s story, line string, a act) {
	d.t.Helper()
	want := exception{}
	for _, e := range exceptions() {
		isHere := (e.act == "" || e.act == a.line) && (e.story == "" || regexp.MustCompile("^("+e.story+")$").MatchString(s.name))
		if isHere && regexp.MustCompile("^"+e.command+"$").MatchString(strings.TrimSpace(line)) {
			want = e
			break
		}
	}
	c := d.onTerminal(looks()[0], d.place(a), line)
	if !isReading(line) {
		c.awaitsOrEnds("") // it has begun, and waits for a check perhaps
		d.sh("rm -f ~/hold")
	}
	for text, keys := range want.answers {
		if !c.awaitsOrEnds(text) {
			status, shown := c.ends()
			d.t.Errorf("%s: %s shows %q, which ends with %d before it shows %q:\n%s", s.name, a.line, line, status, text, shown)
			return
		}
		c.types(keys...)
	}
	if status, shown := c.ends(); status != want.exit {
		d.t.Errorf("%s: %s shows %q, which ends with %d, want %d:\n%s", s.name, a.line, line, status, want.exit, shown)
	}
}

// awaitsOrEnds waits until the terminal shows a text, or with an empty one anything, and reports whether it does before the
// command ends.
func (c *cell) awaitsOrEnds(text string) bool {
	c.d.t.Helper()
	for begun := time.Now(); time.Since(begun) < patience; time.Sleep(20 * time.Millisecond) {
		isOver := c.isOver()
		if shown := strings.TrimSpace(unstyled(c.shown())); shown != "" && strings.Contains(shown, strings.TrimSpace(text)) {
			return true
		}
		if isOver {
			return false
		}
	}
	return false
}
