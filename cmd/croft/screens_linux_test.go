package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/buildtest"
	"github.com/croft-sh/croft/internal/screen"
	"github.com/google/go-cmp/cmp"
)

// story is what a user does on a terminal, one act after the other, and what is there before.
type story struct {
	name  string
	given string // run before, by sh in the project, and not shown
	acts  []act

	isHelp bool // the commands that it shows are examples
}

// act is a command that is typed.
type act struct {
	line    string
	in      string // the directory, from home; empty: the project
	before  string // run before, and not shown
	exit    int
	moments []moment
	widths  []int // further widths at which it is shown
}

// moment is something that a user does while a command runs.
type moment struct {
	awaits string // a text on the terminal
	lacks  string // a text that goes from it
	keeps  bool   // this screen, too, is kept
	types  []string
	width  int    // the terminal gets this width
	sh     string // what happens elsewhere
}

// picture is what stood on a terminal.
type picture struct {
	head  string
	width int
	lines [][]span
	raw   [][]span // as it was: lines have no times, IDs and commits

	isLive bool // lines were written over, which leaves spaces
}

// looks are those in which all is seen: both sizes with and without colour, and one without other signs than those of ASCII.
func looks() []look {
	return []look{
		{width: 80, height: 24}, {width: 140, height: 40}, {width: 140, height: 40, isPlain: true}, {width: 80, height: 24, isPlain: true, isASCII: true},
	}
}

// place is the directory of an act.
func (d *desk) place(a act) string {
	if a.in == "" {
		return d.dir
	}
	return filepath.Join(d.home, a.in)
}

// play carries out an act, and returns what was seen.
func (d *desk) play(l look, a act) (pictures []picture) {
	d.t.Helper()
	if a.before != "" {
		d.sh(a.before)
	}
	see := func(c *cell, head, shown string) {
		pictures = append(pictures, picture{head: head, width: l.width, lines: linesOf(shown), raw: linesOf(shown), isLive: liveCommands.MatchString(head)})
	}
	c := d.onTerminal(l, d.place(a), a.line)
	for _, m := range a.moments {
		c.awaits(m.awaits, m.lacks)
		if m.keeps {
			shown := c.shown()
			if strings.Contains(a.line, "--watch") {
				shown = strings.NewReplacer("◓", "◐", "◑", "◐", "◒", "◐").Replace(unstyled(shown)) // what is new is bold for three seconds
			}
			see(c, a.line+" (meanwhile)", shown)
		}
		if m.sh != "" {
			d.sh(m.sh)
		}
		if m.width > 0 {
			l.width = m.width
			c.resize(m.width, l.height)
		}
		if len(m.types) > 0 {
			c.types(m.types...)
		}
	}
	status, shown := c.ends()
	head := a.line
	if a.in != "" {
		head = "~/" + a.in + "$ " + head
	}
	if status != 0 {
		head += fmt.Sprintf(" (ends with %d)", status)
	}
	see(c, head, shown)
	if status != a.exit {
		d.t.Errorf("%s: %s ends with %d, want %d:\n%s", l, a.line, status, a.exit, shown)
	}
	return pictures
}

// liveCommands write over lines.
var liveCommands = regexp.MustCompile(`merge|--watch|queue run|meanwhile`)

// begin makes what a story begins with.
func (s story) begin(t *testing.T, program string) *desk {
	t.Helper()
	d := newDesk(t, program)
	if s.given != "" {
		d.sh(s.given)
	}
	return d
}

// tell plays a story in a look, and returns what was seen in each act.
func (s story) tell(t *testing.T, program string, l look) (seen [][]picture) {
	t.Helper()
	d := s.begin(t, program)
	for _, a := range s.acts {
		pictures := d.play(l, a)
		if l == looks()[0] {
			for _, width := range a.widths {
				at := a
				at.before = ""
				pictures = append(pictures, d.play(look{width: width, height: l.height}, at)...)
			}
		}
		for _, p := range pictures {
			p.check(t, l)
		}
		seen = append(seen, pictures)
	}
	known := learn(d)
	for _, pictures := range seen {
		for i := range pictures {
			pictures[i].lines = known.settled(pictures[i].lines)
		}
	}
	return seen
}

// check looks at what holds of every screen.
func (p picture) check(t *testing.T, l look) {
	t.Helper()
	for _, line := range p.lines {
		text := ""
		isCommand := false
		for _, s := range line {
			text += s.text
			isCommand = isCommand || s.isCyan()
			if l.isPlain && s.style != "" {
				t.Errorf("%s, %s: coloured: %q", l, p.head, text)
			}
			if s.isCyan() && strings.Contains(s.text, "…") {
				t.Errorf("%s, %s: a command is cut: %q", l, p.head, s.text)
			}
		}
		if strings.HasSuffix(text, "  ") && !p.isLive {
			t.Errorf("%s, %s: it ends in spaces: %q", l, p.head, text)
		}
		alone := strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(text), "hint: "), "next: ")
		isPiped := strings.Contains(p.head, "| cat")
		if screen.Width(text) > p.width && !isPiped && !strings.HasPrefix(alone, "croft ") && !strings.HasPrefix(alone, "cd ") {
			t.Errorf("%s, %s: it is wider than %d columns: %q", l, p.head, p.width, text)
		}
		if l.isASCII {
			for _, r := range text {
				if r > '~' && !strings.ContainsRune(foreign, r) {
					t.Errorf("%s, %s: %q is not ASCII: %q", l, p.head, r, text)
				}
			}
		}
	}
}

// foreign are the characters that names of the stories have.
const foreign = "検索"

// names are those that differ from run to run, and what stands for them.
type names struct {
	home    string
	ids     map[string]string
	commits map[string]string
}

var (
	someID     = regexp.MustCompile(`\b[0-9a-hjkmnp-tv-z]{16}\b`)
	someWord   = regexp.MustCompile(`\b[0-9a-z]{4,16}\b`)
	someCommit = regexp.MustCompile(`\b([0-9a-f]{40}|[0-9a-f]{7,8})\b`)
	someDigest = regexp.MustCompile(`\b[0-9a-f]{64}\b`)
	someTime   = regexp.MustCompile(`\b\d+(\.\d+)?(ms|s|m)\b`)
	inColumn   = regexp.MustCompile(`\b\d+(s|m)  +`)           // of a pipe
	checkTime  = regexp.MustCompile(`  +\d+(\.\d+)?(ms|s|m)$`) // of a check, as wide as those of others
	someSize   = regexp.MustCompile(`\b\d+(\.\d+)? [kMGT]?B\b`)
	somePID    = regexp.MustCompile(`\(\d{2,}\)`)
)

// learn asks for the IDs that there are.
func learn(d *desk) names {
	d.t.Helper()
	all := d.output("for what in 'history -L 200' 'list --full' 'list --state removed,merged,discarded,reaped,undone,reverted' 'queue --all' trash 'session list'; do croft $what --json 2>/dev/null || true; done")
	n := names{d.home, map[string]string{}, map[string]string{}}
	for _, id := range someID.FindAllString(all, -1) {
		n.ids[id] = ""
	}
	return n
}

// of is what stands for a word that differs, the same in all of a story.
func (n names) of(word string) string {
	for id, by := range n.ids {
		if strings.HasPrefix(id, word) {
			if by == "" {
				seen := 1
				for _, other := range n.ids {
					if other != "" {
						seen++
					}
				}
				by = fmt.Sprintf("id%02dxxxxxxxxxxxx", seen)
				n.ids[id] = by
			}
			return by[:len(word)]
		}
	}
	if someCommit.MatchString(word) {
		if n.commits[word[:7]] == "" {
			n.commits[word[:7]] = fmt.Sprintf("c%06d", len(n.commits)+1)
		}
		return n.commits[word[:7]]
	}
	return word
}

// settled puts in the place of what differs something that does not, and is as wide where that matters.
func (n names) settled(lines [][]span) (settled [][]span) {
	for _, line := range lines {
		var now []span
		for _, s := range line {
			s.text = strings.ReplaceAll(s.text, n.home, "/home/ada")
			s.text = someDigest.ReplaceAllString(s.text, "DIGEST")
			s.text = someWord.ReplaceAllStringFunc(s.text, n.of)
			s.text = strings.ReplaceAll(s.text, "failed twice, ", "failed, ") // a merge looks four times a second, and may see one of them only
			width := len(s.text)
			s.text = inColumn.ReplaceAllStringFunc(s.text, func(was string) string {
				return "0s" + strings.Repeat(" ", len(was)-len("0s"))
			})
			s.text = checkTime.ReplaceAllString(s.text, "  0s")
			s.text = someTime.ReplaceAllString(s.text, "0s")
			s.text = someSize.ReplaceAllString(s.text, "0 B")
			s.text = somePID.ReplaceAllString(s.text, "(1)")
			if less := width - len(s.text); less > 0 && (s.text == "0s" || s.text == "0 B") && len(now) > 0 {
				now[len(now)-1].text += strings.Repeat(" ", less) // a cell, which ends where it did
			}
			now = append(now, s)
		}
		settled = append(settled, now)
	}
	return settled
}

// inASCII are the words of a text as a terminal without other signs shows them.
func inASCII(text string) string {
	text = strings.NewReplacer(
		"✗", "x", "●", "*", "◐", "~", "◓", "~", "◑", "~", "◒", "~", "○", ".", "✓", "=", "…", "..", "→", "->", "−", "-", "↑", "^", "↓", "v", "·", ".", "│", "|", "›", ">",
	).Replace(text)
	return words(text)
}

// words are those of a text, wherever they stand.
func words(text string) string { return strings.Join(strings.Fields(text), " ") }

// anonymous is a text in which commits and IDs have no numbers.
func anonymous(text string) string {
	return regexp.MustCompile(`\bc0\d{5}\b|\bid\d\dx*`).ReplaceAllString(text, "#")
}

// golden is a story as it is kept: in 80 columns with colours; in 140, where that is another text; and without other
// signs than those of ASCII, where that says something else.
func golden(t *testing.T, s story, seen map[look][][]picture) string {
	t.Helper()
	var b strings.Builder
	all := looks()
	narrow, wide, plain, ascii := all[0], all[1], all[2], all[3]
	write := func(l string, p picture) { fmt.Fprintf(&b, "== %s: %s\n%s", l, p.head, painted(p.lines)) }
	text := func(p picture) string { return unstyled(painted(p.lines)) }
	for i := range s.acts {
		for k, p := range seen[narrow][i] {
			name := narrow.String()
			if p.width != narrow.width {
				name = fmt.Sprintf("%dx%d", p.width, narrow.height)
			}
			write(name, p)
			if k >= len(seen[wide][i]) {
				continue
			}
			w, n, a := seen[wide][i][k], seen[plain][i][k], seen[ascii][i][k]
			if painted(w.lines) != painted(p.lines) {
				write(wide.String(), w)
			}
			if anonymous(words(text(w))) != anonymous(words(text(n))) {
				t.Errorf("%s: without colours it says something else (-with +without):\n%s", w.head, cmp.Diff(text(w), text(n)))
			}
			if anonymous(inASCII(text(p))) != anonymous(inASCII(text(a))) {
				write(ascii.String(), a)
			}
		}
	}
	return b.String()
}

// TestScreens plays the stories on real terminals of two sizes, with and without colour and in ASCII, and compares what is
// shown with testdata/screens; then it runs each command that a screen has shown, where it was shown.
func TestScreens(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program and runs git")
	}
	needTmux(t)
	program, err := buildtest.Croft(t.TempDir(), buildtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range stories() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			seen := map[look][][]picture{}
			for _, l := range looks() {
				seen[l] = s.tell(t, program, l)
			}
			compare(t, filepath.Join("testdata", "screens", s.name+".golden"), golden(t, s, seen))
			s.follow(t, program)
		})
	}
}

// needTmux skips a test where there is no tmux; .ci/run has it.
func needTmux(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err == nil {
		return
	}
	if os.Getenv("CROFT_CI") != "" {
		t.Fatal("tmux is not installed")
	}
	t.Skip("tmux is not installed")
}

// compare compares a text with a file. CROFT_UPDATE=1 writes the file.
func compare(t *testing.T, path, got string) {
	t.Helper()
	if os.Getenv("CROFT_UPDATE") == "1" {
		writeFiles(t, map[string]string{path: got})
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got), CROFT_UPDATE=1 writes it:\n%s", path, diff)
	}
}
