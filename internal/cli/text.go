package cli

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/croft-sh/croft/internal/screen"
)

// quoted puts a word that came from outside in quotes.
func quoted(word string) string { return strconv.Quote(word) }

// printable replaces what a terminal would act upon. Lock reasons and paths
// may be written by an agent.
func printable(text string) string { return screen.Printable(text) }

// shellWord makes a word safe to paste into a shell: git allows quotes,
// semicolons and dollar signs in the names of branches.
func shellWord(word string) string {
	safe := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_./@%+=:,-", r)
	}
	if word != "" && strings.TrimFunc(word, safe) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// shownPath is a path as it is shown: relative to the working directory if that is
// shorter.
func (a *app) shownPath(path string) string {
	rel, err := filepath.Rel(a.env.Dir, path)
	if err == nil && len(rel) < len(path) {
		path = rel
	}
	return printable(path)
}

// shortCommit abbreviates a commit.
func shortCommit(commit string) string {
	if len(commit) > 7 {
		return commit[:7]
	}
	return commit
}

// countNoun returns n and the noun, with an s unless n is 1: "1 file", "2 files".
func countNoun[N int | int64](n N, noun string) string { return countOf(n, noun, noun+"s") }

// countOf returns n and the noun in its form for one or for many.
func countOf[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// ageText says how long ago something was, in one unit.
func ageText(now, then time.Time) string {
	if then.IsZero() {
		return "-"
	}
	d := max(now.Sub(then), 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	}
}

// sizeText says how many bytes there are, in one unit.
func sizeText(bytes int64) string {
	const step = 1000
	if bytes < step {
		return strconv.FormatInt(bytes, 10) + " B"
	}
	value, unit := float64(bytes), -1
	for value >= step && unit < len("kMGTP")-1 {
		value /= step
		unit++
	}
	return fmt.Sprintf("%.1f %cB", value, "kMGTP"[unit])
}
