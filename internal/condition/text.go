package condition

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/shellword"
)

// next returns an action with its command for the workspace.
func (f *Facts) next(a croft.Action) *croft.Next {
	return &croft.Next{Action: a, Command: f.command(a)}
}

// command returns the command of an action for the workspace.
func (f *Facts) command(a croft.Action) string {
	verb := string(a)
	switch a {
	case croft.ActionDiagnose:
		return "croft doctor"
	case croft.ActionRepair:
		return "croft doctor --fix"
	case croft.ActionDrive:
		return "croft queue run"
	case croft.ActionApprove:
		return "croft config trust --target " + shellword.Quote(f.Workspace.Target)
	case croft.ActionAccept:
		return "croft queue accept " + shellword.Quote(f.Workspace.Target)
	case croft.ActionRelease:
		verb = "queue release"
	case croft.ActionWork, croft.ActionAnswer:
		verb = "sh"
	case croft.ActionSetUp:
		verb = "provision"
	case croft.ActionPush:
		verb = "push --pr"
	case croft.ActionFollow:
		verb = "push --status"
	case croft.ActionResolve:
		verb = "merge --resolve"
	}
	return "croft " + verb + " " + shellword.Quote(f.Workspace.Name)
}

// hinted returns the step that the hint of a merge names, if that is one of the commands
// above for this workspace. Otherwise it is to be tried again, which says all of the reason if that stays.
func (f *Facts) hinted(hint string) *croft.Next {
	for _, a := range []croft.Action{croft.ActionWork, croft.ActionAccept, croft.ActionDrive, croft.ActionDiagnose, croft.ActionRepair} {
		if n := f.next(a); n.Command == hint {
			return n
		}
	}
	return f.next(croft.ActionMerge)
}

// conflictText names the first path in conflict, and whose merge brought the other side.
func conflictText(m *croft.Merge) string {
	if len(m.Conflicts) == 0 {
		return m.Message
	}
	first := m.Conflicts[0]
	text := shownPath(first.Path)
	if first.Against != "" && !isHash(first.Against) {
		text += " with " + first.Against
	}
	if n := len(m.Conflicts) - 1; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// collisionText names the first paths on which the work collides with its target, if they are known.
func (f *Facts) collisionText() string {
	var shown []string
	for _, path := range f.Forecast.Paths {
		shown = append(shown, shownPath(path))
	}
	text := strings.Join(shown, ", ")
	switch more := f.Forecast.Count - len(shown); {
	case text == "" && f.Forecast.Reason != "":
		return "with " + f.Workspace.Target + ": " + string(f.Forecast.Reason)
	case text == "":
		return "with " + f.Workspace.Target
	case more > 0:
		return fmt.Sprintf("%s and %d more", text, more)
	}
	return text
}

// shownPath returns a path as it is, or quoted if it has characters that are not printable: a
// file name with a line break must not decide what the rest of the sentence is.
func shownPath(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
		return strconv.Quote(path)
	}
	return path
}

func shownPaths(paths []string) []string {
	var shown []string
	for _, path := range paths {
		shown = append(shown, shownPath(path))
	}
	return shown
}

// checkText names the check that failed, with the first line of its output that tells of a
// failure.
func checkText(m *croft.Merge) string {
	for _, c := range m.Checks {
		if c.Passed {
			continue
		}
		for line := range strings.Lines(c.Tail) {
			if strings.Contains(line, "FAIL") || strings.Contains(strings.ToLower(line), "error") {
				return c.Command + ": " + strings.TrimSpace(line)
			}
		}
		return c.Command
	}
	return m.Message
}

// blockedText names the first of the user's files that are in the way.
func blockedText(m *croft.Merge) string {
	files := strings.Split(m.Details, "\n")
	if files[0] == "" {
		if _, cause, ok := strings.Cut(m.Message, ", and "); ok { // where the checkout is comes first
			return cause
		}
		return m.Message
	}
	text := "your " + files[0]
	if n := len(files) - 1; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text + " would be overwritten"
}

// longest is how many characters a reason has at most.
const longest = 200

// oneLine returns the first line of a text, which an agent may have written, without
// characters that are not printable.
func oneLine(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	runes := []rune(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text))
	if len(runes) > longest {
		return string(runes[:longest-1]) + "…"
	}
	return string(runes)
}

// few joins the first of several names.
func few(names []string) string {
	const most = 2
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func ordinal(n int) string {
	suffix := "th"
	if n/10%10 != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprint(n, suffix)
}

func short(commit string) string { return commit[:min(len(commit), 7)] }

func isHash(text string) bool {
	return len(text) >= 40 && strings.Trim(text, "0123456789abcdef") == ""
}

// holdText says who holds a merge, and why.
func holdText(h *croft.MergeHold) string {
	switch {
	case h == nil:
		return ""
	case h.Reason == "":
		return "by " + h.Actor
	}
	return "by " + h.Actor + ": " + h.Reason
}
