package cli

import (
	"slices"

	"github.com/croft-sh/croft/internal/screen"
)

// What stands between the text of a cell and its command, and the columns that are kept of
// a text that is cut.
const (
	commandGap = ": "

	leastLast = 20 // of the last column
	leastText = 8  // of a text before a command; if there is less room, it is left out
	leastName = 16 // of a name, which is cut in the middle
)

// cutTo is the last cell of a row, shortened to what the columns before it leave of the
// terminal. A command is whole, however little that is.
func (c cell) cutTo(width, used int, sign string) string {
	line, room := c.line(), max(width-used, leastLast)
	if width == 0 || screen.Width(line) <= room {
		return line
	}
	if c.command == "" {
		return screen.CutEnd(line, room, sign)
	}
	command := printable(c.command)
	if room = width - used - screen.Width(commandGap+command); room < leastText || c.text == "" {
		return command
	}
	return screen.CutEnd(printable(c.text), room, sign) + commandGap + command
}

// cut stands for what was cut off.
const cut = "…"

func cutEnd(text string, room int) string { return screen.CutEnd(text, room, cut) }

// cutMiddle shortens a name so that its beginning and its end are still seen.
func cutMiddle(text string, room int) string { return screen.CutMiddle(printable(text), room, cut) }

// yield says how a column of a table makes room in a narrow terminal.
type yield struct {
	heading string // of the column
	how     rune   // one of the following
}

const (
	yieldWhole = '-' // the column goes
	yieldName  = '…' // its names are cut
)

// printYielding prints a table whose columns make room for the last one in an order, as
// far as the terminal needs it.
func (a *app) printYielding(rows [][]cell, order ...yield) {
	for _, y := range order {
		if a.env.Width == 0 || leastWidth(rows) <= a.env.Width {
			break
		}
		rows = y.apply(rows)
	}
	a.printTable(rows)
}

// leastWidth is how wide a table is, with the texts of the last column cut that are no
// commands.
func leastWidth(rows [][]cell) int {
	cut := slices.Clone(rows)
	for i, row := range cut {
		last := row[len(row)-1]
		if last.command == "" {
			last.text = cutEnd(printable(last.text), leastLast)
		}
		cut[i] = append(slices.Clone(row[:len(row)-1]), last)
	}
	sum := 0
	for _, width := range columnWidths(cut) {
		sum += width + len(columnGap)
	}
	return sum - len(columnGap)
}

func (y yield) apply(rows [][]cell) [][]cell {
	at := slices.IndexFunc(rows[0], func(c cell) bool { return c.text == y.heading })
	if at < 0 {
		return rows
	}
	out := make([][]cell, len(rows))
	for i, row := range rows {
		if out[i] = slices.Clone(row); y.how == yieldName {
			out[i][at].text = cutMiddle(row[at].text, leastName)
		} else {
			out[i] = slices.Delete(out[i], at, at+1)
		}
	}
	return out
}
