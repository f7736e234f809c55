package screen

import (
	"strings"
	"unicode"

	"github.com/clipperhouse/displaywidth"
	"github.com/croft-sh/croft/internal/plaintext"
)

// Width is how many columns of a terminal a text takes.
func Width(text string) int {
	if !strings.ContainsFunc(text, isSpacing) {
		return displaywidth.String(text)
	}
	wide := 0
	for g := displaywidth.StringGraphemes(text); g.Next(); {
		wide += graphemeWidth(g.Value(), g.Width())
	}
	return wide
}

// isSpacing reports marks that combine with a character and take a column of their own on most terminals.
func isSpacing(r rune) bool { return r >= 0x903 && unicode.Is(unicode.Mc, r) }

// graphemeWidth is the width of a character with its marks.
func graphemeWidth(value string, wide int) int {
	marks := 0
	rest := strings.Map(func(r rune) rune {
		if isSpacing(r) {
			marks++
			return -1
		}
		return r
	}, value)
	if marks == 0 {
		return wide
	}
	return max(wide, displaywidth.String(rest)+marks)
}

// maxMarks is how many marks a character keeps: what Hindi writes above and below one. More of them cover other lines.
const maxMarks = 3

// Printable replaces what a terminal would act upon, and what is not seen: controls, marks that
// change the direction of writing, characters without a width or a shape, and marks that are heaped upon one character. An
// agent may have written the text.
func Printable(text string) string {
	var before rune
	marks := 0
	return strings.Map(func(r rune) rune {
		isUnseen := plaintext.IsUnseen(r, before)
		if before = r; r >= 0x300 && unicode.IsMark(r) {
			marks++
		} else {
			marks = 0
		}
		if unicode.IsPrint(r) {
			if isUnseen || marks > maxMarks {
				return '\uFFFD'
			}
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
		if used += graphemeWidth(g.Value(), g.Width()); used > room {
			break
		}
	}
	return text[:at]
}

func lastColumns(text string, room int) string {
	at, left := 0, Width(text)
	for g := displaywidth.StringGraphemes(text); left > room && g.Next(); at += len(g.Value()) {
		left -= graphemeWidth(g.Value(), g.Width())
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
