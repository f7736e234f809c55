package dashboard

import (
	"strings"

	"github.com/croft-sh/croft"
)

// diffHunk is a hunk as rows of a table.
type diffHunk struct {
	ID     int // its number in the file
	Header string
	Lines  []diffLine
	IsRest bool // it begins on a page before
}

// diffLine is a line of a diff: its numbers in both files, its sign and its text.
type diffLine struct {
	Old, New int // zero: it is not in that file
	Sign     string
	Class    string // a: added, d: deleted
	Text     string
	Parts    []diffPart // of the text, if its words were compared with those of another line
}

// hunksOf turns the lines of patches into rows.
func hunksOf(hunks []croft.Hunk) []diffHunk {
	var all []diffHunk
	steps := wordsSteps
	for _, h := range hunks {
		out := diffHunk{ID: h.ID, Header: h.Header}
		old, now := h.OldStart, h.NewStart
		for line := range strings.SplitSeq(strings.TrimSuffix(h.Text, "\n"), "\n") {
			if line == "" {
				continue // a hunk without its lines
			}
			text := line[1:]
			if t, ok := strings.CutSuffix(text, "\r"); ok {
				text = t + "␍"
			}
			switch line[0] {
			case '+':
				out.Lines = append(out.Lines, diffLine{New: now, Sign: "+", Class: "a", Text: text})
				now++
			case '-':
				out.Lines = append(out.Lines, diffLine{Old: old, Sign: "−", Class: "d", Text: text})
				old++
			case '\\':
				out.Lines = append(out.Lines, diffLine{Text: text, Class: "c"})
			default:
				out.Lines = append(out.Lines, diffLine{Old: old, New: now, Text: text})
				old++
				now++
			}
		}
		markWords(out.Lines, &steps)
		all = append(all, out)
	}
	return all
}

// cutLines returns the rows of hunks from a place on, at most so many, and how many there are in all.
func cutLines(hunks []diffHunk, from, limit int) ([]diffHunk, int) {
	var out []diffHunk
	total := 0
	for _, h := range hunks {
		begin, end := max(from-total, 0), min(from+limit-total, len(h.Lines))
		if begin < end || len(h.Lines) == 0 && total >= from && total < from+limit {
			out = append(out, diffHunk{ID: h.ID, Header: h.Header, Lines: h.Lines[min(begin, len(h.Lines)):max(end, 0)], IsRest: begin > 0})
		}
		total += len(h.Lines)
	}
	return out, total
}

// baseName is the last part of a path.
func baseName(p string) string { return p[strings.LastIndexByte(p, '/')+1:] }
