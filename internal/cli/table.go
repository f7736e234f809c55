package cli

import (
	"fmt"
	"strings"

	"github.com/croft-sh/croft/internal/screen"
)

// style is the colour of a cell.
type style = screen.Style

// The styles.
const (
	styleNone   = screen.Plain
	styleBold   = screen.Bold
	styleDim    = screen.Dim
	styleRed    = screen.Red
	styleGreen  = screen.Green
	styleYellow = screen.Yellow
	styleCyan   = screen.Cyan
)

// cell is a text in a table.
type cell struct {
	text    string
	style   style
	command string // what to run, after the text; it is never cut
}

func plainCell(text string) cell           { return cell{text: text} }
func styledCell(text string, s style) cell { return cell{text: text, style: s} }

// line is the text of a cell with its command.
func (c cell) line() string {
	if c.text == "" || c.command == "" {
		return printable(c.text + c.command)
	}
	return printable(c.text + commandGap + c.command)
}

// plainRow is a row of texts without a style.
func plainRow(texts ...string) []cell {
	row := make([]cell, len(texts))
	for i, text := range texts {
		row[i] = plainCell(text)
	}
	return row
}

// columnGap is what stands between two columns.
const columnGap = "  "

// printTable prints rows with aligned columns. The last column takes what the
// terminal's width leaves.
func (a *app) printTable(rows [][]cell) { a.printTableLike(rows, columnWidths(rows)) }

// printTableLike prints a table with columns of some widths; what is wider than its column stands out of it.
func (a *app) printTableLike(rows [][]cell, widths []int) {
	var b strings.Builder // one write, however many rows
	for _, row := range rows {
		b.WriteString(a.rowText(row, widths) + "\n")
	}
	fmt.Fprint(a.out, b.String()) // output remembers a failure
}

func columnWidths(rows [][]cell) []int {
	var widths []int
	for _, row := range rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], screen.Width(c.line()))
		}
	}
	return widths
}

// The room for sentences in a terminal.
const (
	widestProse = 100 // columns that a line of sentences has at most
	deepest     = 24  // columns that may be left free beside them
)

// printSentences prints rows whose last column are sentences. In a terminal those are
// wrapped, never cut: what to do stands at their end. Where the columns before them
// take much room, they stand below.
func (a *app) printSentences(rows [][]cell) {
	widths := columnWidths(rows)
	before, all := 0, 0
	for i, w := range widths {
		before, all = all, all+w
		if i < len(widths)-1 {
			all += len(columnGap)
		}
	}
	room := min(a.env.Width, widestProse)
	if a.env.Width == 0 || all <= a.env.Width {
		a.printTable(rows)
		return
	}
	var b strings.Builder
	for _, row := range rows {
		last := row[len(row)-1]
		lead, indent := a.paddedText(row[:len(row)-1], widths), before
		if before > deepest {
			b.WriteString(strings.TrimRight(lead, " ") + "\n")
			lead, indent = columnGap, len(columnGap)
		}
		for i, line := range screen.Wrap(last.line(), room-indent) {
			if i > 0 {
				lead = strings.Repeat(" ", indent)
			}
			b.WriteString(lead + a.paintText(line, last.style) + "\n")
		}
	}
	fmt.Fprint(a.out, b.String()) // output remembers a failure
}

// paddedText is the text of the columns before the last, padded to their widths.
func (a *app) paddedText(row []cell, widths []int) string {
	var b strings.Builder
	for i, c := range row {
		text := c.line()
		b.WriteString(a.paintText(text, c.style) + strings.Repeat(" ", max(widths[i]-screen.Width(text), 0)) + columnGap)
	}
	return b.String()
}

func (a *app) rowText(row []cell, widths []int) string {
	var b strings.Builder
	used := 0
	b.WriteString(a.paddedText(row[:len(row)-1], widths))
	for i := range len(row) - 1 {
		used += widths[i] + len(columnGap)
	}
	last := row[len(row)-1]
	b.WriteString(a.paintText(last.cutTo(a.env.Width, used, a.stdout().Signs().Cut), last.style))
	return strings.TrimRight(b.String(), " ")
}

func (a *app) paintText(text string, s style) string {
	return a.stdout().Paint(text, s)
}

func headingRow(names ...string) []cell {
	row := make([]cell, len(names))
	for i, name := range names {
		row[i] = styledCell(name, styleDim)
	}
	return row
}
