package cli

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/help"
)

// everyCommand lists the commands that people see, with those below them.
func everyCommand(at *cobra.Command) (list []*cobra.Command) {
	for _, cmd := range at.Commands() {
		if cmd.IsAvailableCommand() || cmd.Name() == "help" {
			list = append(append(list, cmd), everyCommand(cmd)...)
		}
	}
	return list
}

func testRoot() *cobra.Command { return newRootCommand(&app{env: Env{Program: "croft"}}) }

func TestHelpOfTheProgram(t *testing.T) {
	r := newRun(nil).call(t, "--help")
	text := r.stdout.String()
	if r.exit != croft.ExitOK || r.stderr.Len() > 0 {
		t.Errorf("exit %d, stderr %q", r.exit, r.stderr.String())
	}
	if n := strings.Count(text, "\n"); n > 28 {
		t.Errorf("%d lines, want 28 at the most", n)
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > 80 || line != strings.TrimRight(line, " ") {
			t.Errorf("too wide, or with blanks at its end: %q", line)
		}
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" ,\n", r) })
	for _, cmd := range testRoot().Commands() {
		isNamed := slices.Contains(words, cmd.Name())
		if want := cmd.Name() == "help" || cmd.IsAvailableCommand() && !slices.Contains(help.NamedElsewhere(), cmd.Name()); want != isNamed {
			t.Errorf("%s is in the help: %v, want %v", cmd.Name(), isNamed, want)
		}
	}
	if again := newRun(nil).call(t, "help").stdout.String(); again != text {
		t.Errorf("croft help prints something else:\n%s", again)
	}
}

func TestHelpOnATerminal(t *testing.T) {
	r := newRun(nil)
	r.env.Color, r.env.Width = ColorTerminal, 80
	text := r.call(t, "--help").stdout.String()
	for _, want := range []string{"\n\x1b[1mEvery day\x1b[0m\n", "  \x1b[36msh\x1b[0m, \x1b[36mrun\x1b[0m, \x1b[36mcd\x1b[0m NAME ", " \x1b[36m--json\x1b[0m,"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%q", want, text)
		}
	}
}

func TestHelpOfMerge(t *testing.T) {
	const want = `Bring work to its target branch. What is not committed is committed first;
the merge is computed apart and checked; then the branch moves, and the
workspace goes to the trash.
  croft merge [NAME...]   default: the workspace you stand in

      --resolve           bring the target in instead, to resolve conflicts
      --keep              keep the workspace
      --into BRANCH       another target
      --strategy NAME     no-ff or squash
  -m, --message TEXT      of the merge
      --no-wait           only put it in the queue
      --priority N        before merges of a lower one
  -n, --dry-run           say what would happen
      --head COMMIT       only if the workspace is at this commit, with
                          nothing uncommitted
      --review ID         only if the work is that of the review with this id
      --key KEY           the same call again returns the same merge

Ctrl-C ends the waiting, and says what becomes of the merge. croft revert
takes it back.
Exit 3: conflict or check failed. 5: your own changes are in the way.
Also called: land.
`
	if diff := cmp.Diff(want, newRun(nil).call(t, "merge", "--help").stdout.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestHelpOfAll: a summary, how it is called, what is meant without a name, how it ends; no noise of types.
func TestHelpOfAll(t *testing.T) {
	known := map[string]bool{}
	for _, cmd := range everyCommand(testRoot()) {
		key := help.Key(cmd)
		known[key] = true
		text := newRun(nil).call(t, append(strings.Fields(key), "--help")...).stdout.String()
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 && !strings.HasPrefix(line, "  ") {
				t.Errorf("%s: %d columns: %s", key, n, line)
			}
		}
		note := help.Notes()[key]
		if note.Ends == "" && !note.IsGroup {
			t.Errorf("%s: the help does not say how it ends", key)
		}
		if strings.Contains(cmd.Use, "[NAME") && note.Without == "" {
			t.Errorf("%s: the help does not say what it is about without a name", key)
		}
		for _, noise := range []string{"`", " string ", " int ", " strings ", "help for "} {
			if strings.Contains(text, noise) {
				t.Errorf("%s: %q in\n%s", key, noise, text)
			}
		}
		if !note.IsGroup && !strings.Contains(text, "\n  croft "+key) {
			t.Errorf("%s: no way to call it in\n%s", key, text)
		}
	}
	for key := range help.Notes() {
		if !known[key] {
			t.Errorf("there is no command %q", key)
		}
	}
}

func TestHelpRemoving(t *testing.T) {
	out := newRun(nil).call(t, "help", "removing").stdout.String()
	for _, row := range help.RemovingRows() {
		if !strings.Contains(out, "\n"+row.Command+strings.Repeat(" ", 10-len(row.Command))+row.For+"\n") {
			t.Errorf("no %s in\n%s", row.Command, out)
		}
	}
}

func TestDidYouMean(t *testing.T) {
	for word, hint := range map[string]string{
		"lsit": "croft list", "staus": "croft status", "lst": "croft list", "mrege": "croft merge", "remvoe": "croft remove", "resotre": "croft restore",
		"swtich": "croft switch", "histroy": "croft history", "log": "croft history", "stash": "croft --help", "frobnicate": "croft --help", "x": "croft --help",
	} {
		r := newRun(&fake{}).call(t, word)
		if r.exit != croft.ExitUsage || !strings.HasSuffix(r.stderr.String(), "\nhint: "+hint+"\n") || r.opened > 0 {
			t.Errorf("croft %s: exit %d, want the hint %q:\n%s", word, r.exit, hint, r.stderr.String())
		}
	}
	if r := newRun(&fake{}).call(t, "log"); !strings.Contains(r.stderr.String(), "croft logs NAME") {
		t.Errorf("log: %s", r.stderr.String())
	}
}

// TestNearestPrefersTheHarmless: of two that are as near, the one that changes nothing.
func TestNearestPrefersTheHarmless(t *testing.T) {
	root := &cobra.Command{Use: "croft"}
	for _, name := range []string{"lost", "list"} {
		root.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
	}
	if got := nearestCommand(root, "lust"); got != "list" {
		t.Errorf("nearest to lust: %q", got)
	}
}

func TestAliases(t *testing.T) {
	root := testRoot()
	for name, aliases := range commandAliases() {
		for _, alias := range aliases {
			if cmd, _, err := root.Find([]string{alias}); err != nil || cmd.Name() != name {
				t.Errorf("%s is %v, want %s (%v)", alias, cmd.Name(), name, err)
			}
		}
	}
}
