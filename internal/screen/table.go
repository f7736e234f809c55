package screen

import (
	"slices"
	"strings"
)

// Cell is a text in a table, in one or more styles.
type Cell []Span

// Text returns a cell of one span.
func Text(text string, style Style) Cell { return Cell{{text, style}} }

// Width is how many columns of the terminal a cell takes.
func (c Cell) Width() int {
	sum := 0
	for _, span := range c {
		sum += Width(span.Text)
	}
	return sum
}

func (c Cell) text() string {
	var b strings.Builder
	for _, span := range c {
		b.WriteString(span.Text)
	}
	return b.String()
}

// Column is a column of a table.
type Column struct {
	Key     string // by which a step names it
	Heading string
	IsRight bool // its cells stand at its right edge
	IsClose bool // one space is behind it, and not two
}

// gap is what stands behind a column that is not the last.
func (c Column) gap() int {
	if c.IsClose {
		return 1
	}
	return 2
}

// Table is rows of cells. All rows have as many cells as there are columns.
type Table struct {
	Columns []Column
	Rows    [][]Cell

	below string // the column whose cells stand on lines of their own
}

// Width is how many columns of the terminal the table takes.
func (t *Table) Width() int {
	sum := 0
	for i, wide := range t.widths() {
		if t.Columns[i].Key != t.below {
			sum += wide + t.Columns[i].gap()
		}
	}
	return sum - 2
}

func (t *Table) widths() []int {
	widths := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		widths[i] = Width(c.Heading)
		for _, row := range t.Rows {
			widths[i] = max(widths[i], row[i].Width())
		}
	}
	return widths
}

// Step makes a table narrower, which is by some columns too wide.
type Step func(t *Table, by int)

// Fit takes steps, one after the other, until the table is as narrow as the terminal. It reports
// whether it is.
func (t *Table) Fit(width int, steps ...Step) bool {
	for _, step := range steps {
		by := t.Width() - width
		if by <= 0 {
			return true
		}
		step(t, by)
	}
	return t.Width() <= width
}

// Clone returns a table that steps can change while this one stays.
func (t *Table) Clone() *Table {
	return &Table{Columns: slices.Clone(t.Columns), Rows: slices.Clone(t.Rows), below: t.below}
}

func (t *Table) find(key string) int {
	return slices.IndexFunc(t.Columns, func(c Column) bool { return c.Key == key })
}

// Drop takes a column out.
func Drop(key string) Step {
	return func(t *Table, _ int) {
		at := t.find(key)
		if at < 0 {
			return
		}
		t.Columns = slices.Delete(slices.Clone(t.Columns), at, at+1)
		for i, row := range t.Rows {
			t.Rows[i] = slices.Delete(slices.Clone(row), at, at+1)
		}
	}
}

// Change puts another text into every cell of a column, and another heading over it.
func Change(key, heading string, change func(text string, row int) string) Step {
	return func(t *Table, _ int) {
		at := t.find(key)
		if at < 0 {
			return
		}
		t.Columns = slices.Clone(t.Columns)
		t.Columns[at].Heading = heading
		for i, row := range t.Rows {
			if len(row[at]) > 0 {
				row = slices.Clone(row)
				row[at] = Text(change(row[at].text(), i), row[at][0].Style)
				t.Rows[i] = row
			}
		}
	}
}

// Shrink cuts the texts of a column by as much as the table is too wide, but leaves them a number of
// columns.
func Shrink(key string, least int, cut func(text string, room int) string) Step {
	return func(t *Table, by int) {
		at := t.find(key)
		if at < 0 {
			return
		}
		room := max(t.widths()[at]-by, least)
		Change(key, t.Columns[at].Heading, func(text string, _ int) string { return cut(text, room) })(t, by)
	}
}

// Below moves the cells of the last column to lines of their own, each below its row.
func Below(key string) Step { return func(t *Table, _ int) { t.below = key } }

// Body is the lines of the table without a heading.
func (t *Table) Body(s Stream) []string { return t.BodyLike(t, s) }

// BodyLike is the body with columns as wide as those of another table, of which this one has some rows.
func (t *Table) BodyLike(whole *Table, s Stream) []string {
	widths := whole.widths()
	var lines []string
	for _, row := range t.Rows {
		lines = append(lines, t.line(s, row, widths))
		if at := t.find(t.below); at >= 0 && row[at].Width() > 0 {
			lines = append(lines, s.below(row[at])...)
		}
	}
	return lines
}

// belowIndent is what stands before the lines of a column below its rows.
const belowIndent = "      "

// below are the lines of a cell that stands below its row.
func (s Stream) below(cell Cell) (lines []string) {
	if !s.IsTerminal() || len(belowIndent)+cell.Width() <= s.Width {
		return []string{belowIndent + s.Line(cell...)}
	}
	for _, line := range WrapSpans(cell, s.Width-len(belowIndent), s.Signs().Cut) {
		lines = append(lines, belowIndent+s.Line(line...))
	}
	return lines
}

// Heading is the line above the body.
func (t *Table) Heading(s Stream) string {
	row := make([]Cell, len(t.Columns))
	for i, c := range t.Columns {
		if c.Key != t.below {
			row[i] = Text(c.Heading, Dim)
		}
	}
	return t.line(s, row, t.widths())
}

func (t *Table) line(s Stream, row []Cell, widths []int) string {
	var b strings.Builder
	for i, cell := range row {
		c := t.Columns[i]
		if c.Key == t.below && t.below != "" {
			continue
		}
		pad := strings.Repeat(" ", max(widths[i]-cell.Width(), 0))
		if c.IsRight {
			b.WriteString(pad)
			pad = ""
		}
		b.WriteString(s.Line(cell...) + pad + strings.Repeat(" ", c.gap()))
	}
	return strings.TrimRight(b.String(), " ")
}
