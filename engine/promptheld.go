package engine

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
)

// mostNamed bounds what a prompt says of one workspace's held back files.
const mostNamed = 20

// heldBefore names what was held back when rounds ended, everybody's, of one
// repository. Agents chose the names: what does not belong in a line is quoted.
func heldBefore(ses *journal.Session, repo croft.ID) map[string][]string {
	var out map[string][]string
	for _, t := range ses.Turns {
		for _, seat := range t.Seats {
			if len(seat.HeldBack) == 0 || seat.Repo != repo {
				continue
			}
			var names []string
			for _, name := range seat.HeldBack {
				names = append(names, inLine(name))
			}
			if len(names) > mostNamed {
				names = append(names[:mostNamed], fmt.Sprintf("and %d more", len(names)-mostNamed))
			}
			if out == nil {
				out = map[string][]string{}
			}
			out[fmt.Sprintf("%s in round %d", seat.Label, t.Number)] = names
		}
	}
	return out
}

// inLine is a name as it can stand between backquotes in a line of text.
func inLine(name string) string {
	const longest = 200
	text := strings.Trim(strconv.Quote(name), `"`)
	text = strings.ReplaceAll(text, "`", `\x60`)
	if runes := []rune(text); len(runes) > longest {
		text = string(runes[:longest]) + "..."
	}
	return text
}

// listHeld writes which files were not committed before.
func listHeld(b *strings.Builder, p *croft.Prompt) {
	if len(p.HeldBack) == 0 {
		return
	}
	b.WriteString("\nFiles of earlier rounds that were not committed, and that you cannot see:\n")
	for _, label := range slices.Sorted(maps.Keys(p.HeldBack)) {
		fmt.Fprintf(b, "- %s: `%s`\n", label, strings.Join(p.HeldBack[label], "`, `"))
	}
}
