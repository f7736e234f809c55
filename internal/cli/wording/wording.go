// Package wording says numbers, times, sizes and names as Croft's sentences have them.
package wording

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/shellword"
)

// Quoted puts a word that came from outside in quotes.
func Quoted(word string) string { return strconv.Quote(word) }

// ShellWord makes a word safe to paste into a shell.
func ShellWord(word string) string { return shellword.Quote(word) }

// Path is a path as a list has it: quoted if it could be taken for a line of Croft's, such as one that begins with "next: ", or
// for two paths.
func Path(path string) string {
	isOdd := func(r rune) bool {
		return !unicode.IsPrint(r) || unicode.IsSpace(r) || strings.ContainsRune(`:"'`, r) || r == unicode.ReplacementChar
	}
	if path == "" || strings.ContainsFunc(path, isOdd) {
		return strconv.Quote(path)
	}
	return path
}

// Paths are several of them, after one another.
func Paths(paths []string) string {
	shown := make([]string, len(paths))
	for i, path := range paths {
		shown[i] = Path(path)
	}
	return strings.Join(shown, ", ")
}

// ShortCommit abbreviates a commit.
func ShortCommit(commit string) string {
	if len(commit) > 7 {
		return commit[:7]
	}
	return commit
}

// CountNoun returns n and the noun, with an s unless n is 1: "1 file", "2 files".
func CountNoun[N int | int64](n N, noun string) string { return CountOf(n, noun, noun+"s") }

// CountOf returns n and the noun in its form for one or for many.
func CountOf[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(int(n)) + " " + many
}

// Age says how long ago something was, in one unit.
func Age(now, then time.Time) string {
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

// dated is from when on a time is said by its date: nobody counts weeks.
const dated = 14 * 24 * time.Hour

// Since is when something was, in a column: an age, or from two weeks on a date, with the year if that is another one.
func Since(now, then time.Time) string {
	if then.IsZero() || now.Sub(then) < dated {
		return Age(now, then)
	}
	then = then.In(now.Location())
	if then.Year() != now.Year() {
		return then.Format("2 Jan 2006")
	}
	return then.Format("2 Jan")
}

// Ago is Since in a sentence.
func Ago(now, then time.Time) string {
	if then.IsZero() || now.Sub(then) < dated {
		return Age(now, then) + " ago"
	}
	return Since(now, then)
}

// Size says how many bytes there are, in one unit.
func Size(bytes int64) string {
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

// Took says how long something took.
func Took(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return Age(time.Time{}.Add(time.Hour+d), time.Time{}.Add(time.Hour))
}

// Kept says for how long a workspace is in the trash.
func Kept(now, until time.Time) string {
	switch left := until.Sub(now); {
	case left > 36*time.Hour:
		return fmt.Sprintf("for %d days", int(math.Round(left.Hours()/24)))
	case left > 0:
		return "for " + Age(until, now)
	}
	return "until the next croft gc"
}

// Lines are lines that were added and deleted, in ASCII.
func Lines(added, deleted int) string {
	var parts []string
	if added > 0 {
		parts = append(parts, "+"+strconv.Itoa(added))
	}
	if deleted > 0 {
		parts = append(parts, "-"+strconv.Itoa(deleted))
	}
	return OrDash(strings.Join(parts, " "))
}

// Count is a number for people.
func Count(n int) string {
	text := strconv.Itoa(n)
	if n < 10_000 {
		return text
	}
	var b strings.Builder
	for i, digit := range text {
		if i > 0 && (len(text)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	return b.String()
}

// FewNames names the first of several, and how many there are besides.
func FewNames(names []string) string {
	const shown = 2
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}

// NameOrHash shortens the hash of a commit, and nothing else.
func NameOrHash(text string) string {
	if len(text) < 40 || strings.Trim(text, "0123456789abcdef") != "" {
		return text
	}
	return ShortCommit(text)
}

// ShortIDs are the shortest beginnings that tell the IDs of a list apart, of at least four characters.
func ShortIDs(ids []croft.ID) map[croft.ID]string {
	const least = 4
	short := map[croft.ID]string{}
	for _, id := range ids {
		n := least
		for n < len(id) && slices.ContainsFunc(ids, func(o croft.ID) bool { return o != id && strings.HasPrefix(string(o), string(id[:n])) }) {
			n++
		}
		short[id] = string(id[:min(n, len(id))])
	}
	return short
}

// OrDash is a text, or a dash for an empty one.
func OrDash(text string) string { return cmp.Or(text, "-") }
