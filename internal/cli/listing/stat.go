package listing

import (
	"strconv"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/results"
	"github.com/croft-sh/croft/internal/cli/wording"
	"github.com/croft-sh/croft/internal/screen"
)

// StatFile is a file of a difference, with its path as it is shown.
type StatFile struct {
	croft.ReviewFile
	Shown string
}

// leastBar is how many columns are kept for the bar of a file.
const leastBar = 10

// Sum is what all files of a difference come to.
type Sum struct {
	croft.Changes
	IsUncommitted bool // nothing of it is committed
}

// Stat is a line for each file of a difference, with a bar as long as its lines are many, and the sum.
func Stat(files []StatFile, total Sum, to screen.Stream) []string {
	signs := to.Signs()
	most, digits, wide, remarks := 0, 0, 0, 0
	for _, f := range files {
		most = max(most, f.Added+f.Deleted)
		digits = max(digits, len(countOf(f)))
		wide = max(wide, screen.Width(f.Shown))
		if remark := statRemark(f); remark != "" {
			remarks = max(remarks, screen.Width(remark)+len(gap))
		}
	}
	rest := len("  | ") + digits + 1 + remarks
	wide = max(min(wide, to.Width-rest-leastBar), leastLook)
	room := max(min(to.Width-rest-wide, most), 1)
	var lines []string
	for _, f := range files {
		name := screen.CutMiddle(f.Shown, wide, signs.Cut)
		count := countOf(f)
		spans := []screen.Span{
			{Text: " " + name + strings.Repeat(" ", wide-screen.Width(name)) + " "},
			{Text: signs.Bar, Style: screen.Dim},
			{Text: " " + strings.Repeat(" ", digits-len(count)) + count},
		}
		plus, minus := bar(f.Added, f.Deleted, most, room)
		if plus+minus > 0 {
			spans = append(spans, screen.Span{Text: " "}, screen.Span{Text: strings.Repeat("+", plus), Style: screen.Green}, screen.Span{Text: strings.Repeat(signs.Minus, minus), Style: screen.Red})
		}
		if remark := statRemark(f); remark != "" {
			spans = append(spans, screen.Span{Text: gap + remark, Style: screen.Dim})
		}
		lines = append(lines, to.Line(spans...))
	}
	return append(lines, to.Line(total.cell(signs)...))
}

func (s Sum) cell(signs screen.Signs) screen.Cell {
	cell := screen.Cell{{Text: " " + wording.CountNoun(s.Files, "file")}}
	if counted := results.LinesCell(s.Added, s.Deleted, signs, screen.Plain); len(counted) > 0 {
		cell = append(append(cell, screen.Span{Text: ", "}), counted...)
	}
	if s.IsUncommitted {
		cell = append(cell, screen.Span{Text: ", not committed", Style: screen.Dim})
	}
	return cell
}

// countOf is how many lines of a file changed, or that it has none.
func countOf(f StatFile) string {
	if f.IsBinary {
		return "bin"
	}
	return strconv.Itoa(f.Added + f.Deleted)
}

// bar divides the columns of a bar among lines that were added and deleted: each has one at least.
func bar(added, deleted, most, room int) (plus, minus int) {
	scale := func(n int) int {
		if most <= room || n == 0 {
			return n
		}
		return max(n*room/most, 1)
	}
	plus, minus = scale(added), scale(deleted)
	if plus+minus > room && plus > 1 {
		plus = max(room-minus, 1)
	}
	return plus, minus
}

// statRemark says what became of a file, if its lines do not tell.
func statRemark(f StatFile) string {
	switch {
	case f.IsSubmodule:
		return "submodule"
	case f.OldMode == "":
		return "new"
	case f.NewMode == "":
		return "gone"
	case f.OldPath != "":
		return "renamed"
	case f.OldMode != f.NewMode:
		return "mode"
	}
	return ""
}
