package results

import (
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/wording"
)

// LeftText says what becomes of merges that nobody waits for any more: who goes on with them, and which of them can be
// canceled. Those that have ended are left out.
func LeftText(merges []croft.Merge, hasDaemon bool) []string {
	var goOn, cancelable, stay, held []string
	for _, m := range merges {
		name := wording.ShellWord(m.WorkspaceName)
		switch {
		case m.State == croft.MergeDone:
		case m.State != croft.MergeQueued:
			goOn = append(goOn, name)
		case m.IsHeld:
			held = append(held, name)
		case hasDaemon:
			goOn, cancelable = append(goOn, name), append(cancelable, name)
		default:
			stay = append(stay, name)
		}
	}
	const lead = "no longer waiting; "
	var out []string
	if len(goOn) > 0 {
		who := "another croft process"
		if hasDaemon {
			who = "the daemon"
		}
		out = append(out, lead+who+" goes on with "+strings.Join(goOn, ", ")+": "+howToCancel(goOn, cancelable))
	}
	if len(stay) > 0 {
		verb := "stays"
		if len(stay) > 1 {
			verb = "stay"
		}
		out = append(out, lead+strings.Join(stay, ", ")+" "+verb+" queued, and the next merge takes "+itOrThem(stay)+" along: croft queue run, or croft queue cancel "+strings.Join(stay, " "))
	}
	if len(held) > 0 {
		verb := "is"
		if len(held) > 1 {
			verb = "are"
		}
		out = append(out, lead+strings.Join(held, ", ")+" "+verb+" held: croft queue release "+strings.Join(held, " "))
	}
	if len(out) == 0 {
		out = append(out, lead+"nothing is queued any more: croft list")
	}
	return out
}

// howToCancel is the command that takes those of the names out of the queue that still wait there. What is being merged or
// checked cannot be taken out.
func howToCancel(goOn, cancelable []string) string {
	switch len(cancelable) {
	case 0:
		return "croft queue shows how far; what is being checked cannot be canceled"
	case len(goOn):
		return "croft queue cancel " + strings.Join(cancelable, " ") + " takes " + itOrThem(cancelable) + " out"
	}
	return "croft queue cancel " + strings.Join(cancelable, " ") + " takes out what is not being checked"
}

func itOrThem(names []string) string {
	if len(names) > 1 {
		return "them"
	}
	return "it"
}
