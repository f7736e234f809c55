package cli

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// style is the colour of a cell.
type style string

// The styles, as the parameters of a terminal's escape sequence.
const (
	styleNone   style = ""
	styleBold   style = "1"
	styleDim    style = "2"
	styleRed    style = "31"
	styleGreen  style = "32"
	styleYellow style = "33"
	styleCyan   style = "36"
)

// cell is a text in a table.
type cell struct {
	text  string
	style style
}

func plain(text string) cell { return cell{text: text} }

// columnGap is what stands between two columns.
const columnGap = "  "

// table prints rows with aligned columns. The last column takes what the
// terminal's width leaves.
func (a *app) table(rows [][]cell) {
	var widths []int
	for _, row := range rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(printable(c.text)))
		}
	}
	var b strings.Builder // one write, however many rows
	for _, row := range rows {
		b.WriteString(a.row(row, widths) + "\n")
	}
	fmt.Fprint(a.out, b.String()) // output remembers a failure
}

func (a *app) row(row []cell, widths []int) string {
	var b strings.Builder
	used := 0
	for i, c := range row {
		text := printable(c.text)
		last := i == len(row)-1
		if last {
			text = cut(text, a.env.Width, used)
		}
		b.WriteString(a.paint(text, c.style))
		if !last {
			pad := widths[i] - utf8.RuneCountInString(text)
			b.WriteString(strings.Repeat(" ", pad) + columnGap)
			used += widths[i] + len(columnGap)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// cut shortens the last column, but never to less than a few words.
func cut(text string, width, used int) string {
	const least = 20
	if width == 0 {
		return text
	}
	room := max(width-used, least)
	if utf8.RuneCountInString(text) <= room {
		return text
	}
	return string([]rune(text)[:room-1]) + "…"
}

func (a *app) paint(text string, s style) string {
	if s == styleNone || a.plain || a.env.Color == ColorNever || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

func heading(names ...string) []cell {
	row := make([]cell, len(names))
	for i, name := range names {
		row[i] = cell{name, styleDim}
	}
	return row
}
