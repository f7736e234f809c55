package cli

import (
	"slices"
	"strings"

	"github.com/croft-sh/croft"
)

// said is a remark, and the names of the merges that it is about.
type said struct {
	text  string
	names []string
}

// addSaid adds a remark about a name: to the same remark about others, if there is one.
func addSaid(to []said, text, name string) []said {
	at := slices.IndexFunc(to, func(s said) bool { return s.text == text })
	if at < 0 {
		return append(to, said{text, []string{name}})
	}
	to[at].names = append(to[at].names, name)
	return to
}

// askingHint is the hint of an error for a person at a terminal: the command in it asks about uncommitted work.
func askingHint(e croft.Error) string { return strings.Replace(e.Hint, " --yes ", " ", 1) }

// remarkRests says what else is worth knowing about several merges that have ended: what holds for more than one of
// them is said once, with their names. It returns what can be run next.
func (a *app) remarkRests(merges []croft.Merge) (hints []said) {
	var moved, failed, held, kept []said
	for _, m := range merges {
		name := m.WorkspaceName
		if why := whyNot(m); why != "" {
			failed = addSaid(failed, why, name)
		}
		if m.Moved != "" {
			moved = addSaid(moved, m.Moved, name)
		}
		if len(m.HeldBack) > 0 {
			held = addSaid(held, heldBackText(m.HeldBack), name)
		}
		if m.Kept == nil {
			continue
		}
		text := m.Kept.Message
		if m.Kept.Details != "" {
			text += ": " + strings.Join(strings.Split(strings.TrimSpace(m.Kept.Details), "\n"), ", ")
		}
		kept = addSaid(kept, "the workspace stays: "+text, name)
		if hint, is := strings.CutSuffix(askingHint(*m.Kept), " "+shellWord(name)); is {
			hints = addSaid(hints, hint, shellWord(name))
		} else if hint != "" {
			hints = append(hints, said{text: hint})
		}
	}
	for _, s := range moved { // it names the target
		a.remarkText(prose("%s", printable(s.text)))
	}
	for _, s := range slices.Concat(failed, held, kept) {
		a.remarkText(prose("%s", printable(strings.Join(s.names, ", ")+": "+s.text)))
	}
	return hints
}
