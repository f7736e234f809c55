package screen

import (
	"strings"
	"unicode"

	"github.com/clipperhouse/displaywidth"
)

// Width is how many columns of a terminal a text takes.
func Width(text string) int { return displaywidth.String(text) }

// Printable replaces what a terminal would act upon, and what is not seen: controls, marks that
// change the direction of writing, and characters without a width. An agent may have written the
// text.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, text)
}

// CutEnd shortens a text to a number of columns. What is cut off is shown by a sign.
func CutEnd(text string, room int, sign string) string {
	if Width(text) <= room {
		return text
	}
	return firstColumns(text, room-Width(sign)) + sign
}

// CutMiddle shortens a name so that its beginning and its end are still seen.
func CutMiddle(text string, room int, sign string) string {
	if Width(text) <= room {
		return text
	}
	rest := room - Width(sign)
	end := rest / 2
	return firstColumns(text, rest-end) + sign + lastColumns(text, end)
}

// firstColumns returns the beginning of a text that fits into a number of columns. No character is
// divided.
func firstColumns(text string, room int) string {
	at, used := 0, 0
	for g := displaywidth.StringGraphemes(text); g.Next(); at += len(g.Value()) {
		if used += g.Width(); used > room {
			break
		}
	}
	return text[:at]
}

func lastColumns(text string, room int) string {
	at, left := 0, Width(text)
	for g := displaywidth.StringGraphemes(text); left > room && g.Next(); at += len(g.Value()) {
		left -= g.Width()
	}
	return text[at:]
}

// Wrap breaks a text between its words into lines of at most a number of columns. A word that is
// longer than a line has one for itself.
func Wrap(text string, room int) []string {
	var lines []string
	line, used := "", 0
	for word := range strings.FieldsSeq(text) {
		wide := Width(word)
		switch {
		case line == "":
			line, used = word, wide
		case used+1+wide <= room:
			line, used = line+" "+word, used+1+wide
		default:
			lines = append(lines, line)
			line, used = word, wide
		}
	}
	return append(lines, line)
}

// CutPainted shortens a painted line. What is cut has no colours.
func CutPainted(line string, room int, sign string) string {
	text := unpainted(line)
	if Width(text) <= room {
		return line
	}
	return CutEnd(text, room, sign)
}

// PaintedWidth is how many columns of a terminal a painted text takes.
func PaintedWidth(text string) int { return Width(unpainted(text)) }

// unpainted is a painted text without its escape sequences.
func unpainted(text string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "\x1b[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		_, text, _ = strings.Cut(rest, "m")
	}
}

// Rows is how many rows of a terminal a painted text takes.
func Rows(text string, width int) int {
	rows := 0
	for line := range strings.Lines(text) {
		rows += max((Width(unpainted(strings.TrimSuffix(line, "\n")))+width-1)/max(width, 1), 1)
	}
	return rows
}
