// Package hunks divides a hunk of a patch where lines between its changes are unchanged, and says what a part of one
// puts in the place of which lines.
package hunks

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/croft-sh/croft"
)

// line is a line of a patch: what becomes of it, and its text with its end.
type line struct {
	mark byte // ' ', '-' or '+'
	text string
}

// linesOf are the lines of a hunk. A line is without an end where the file is.
func linesOf(h croft.Hunk) []line {
	text := h.Text
	if len(h.Raw) > 0 {
		text = string(h.Raw)
	}
	var list []line
	for l := range strings.Lines(text) {
		if l[0] == '\\' {
			if n := len(list); n > 0 {
				list[n-1].text = strings.TrimSuffix(list[n-1].text, "\n")
			}
			continue
		}
		list = append(list, line{l[0], l[1:]})
	}
	return list
}

// Split divides a hunk into those that have one run of changes each, with the unchanged lines around it. One that cannot be
// divided is returned as it is.
func Split(h croft.Hunk) []croft.Hunk {
	lines := linesOf(h)
	var runs [][2]int // of lines that are changed
	for i, l := range lines {
		switch n := len(runs); {
		case l.mark == ' ':
		case n > 0 && runs[n-1][1] == i:
			runs[n-1][1]++
		default:
			runs = append(runs, [2]int{i, i + 1})
		}
	}
	if len(runs) < 2 {
		return []croft.Hunk{h}
	}
	var parts []croft.Hunk
	for i := range runs {
		from, to := 0, len(lines)
		if i > 0 {
			from = runs[i-1][1]
		}
		if i < len(runs)-1 {
			to = runs[i+1][0]
		}
		parts = append(parts, part(h, lines, from, to))
	}
	return parts
}

// part is the part of a hunk that has some of its lines.
func part(h croft.Hunk, lines []line, from, to int) croft.Hunk {
	p := croft.Hunk{ID: h.ID, OldStart: firstLine(h.OldStart, h.OldLines), NewStart: firstLine(h.NewStart, h.NewLines)}
	var b strings.Builder
	for i, l := range lines[:to] {
		old, now := 0, 0
		if l.mark != '+' {
			old = 1
		}
		if l.mark != '-' {
			now = 1
		}
		if i < from {
			p.OldStart += old
			p.NewStart += now
			continue
		}
		p.OldLines += old
		p.NewLines += now
		b.WriteByte(l.mark)
		b.WriteString(l.text)
		if !strings.HasSuffix(l.text, "\n") {
			b.WriteString("\n\\ No newline at end of file\n")
		}
	}
	if p.Text = b.String(); !utf8.ValidString(p.Text) {
		p.Text, p.Raw = strings.ToValidUTF8(p.Text, "\uFFFD"), []byte(p.Text)
	}
	if p.OldLines == 0 {
		p.OldStart--
	}
	if p.NewLines == 0 {
		p.NewStart--
	}
	p.Header = fmt.Sprintf("@@ -%d,%d +%d,%d @@", p.OldStart, p.OldLines, p.NewStart, p.NewLines)
	return p
}

// firstLine is the line that a range begins with: one of no lines names the line before it.
func firstLine(start, count int) int {
	if count == 0 {
		return start + 1
	}
	return start
}

// Edits say what hunks and parts of some, in their order, put in the place of which lines.
func Edits(parts []croft.Hunk) []croft.Edit {
	var list []croft.Edit
	for _, h := range parts {
		at := firstLine(h.OldStart, h.OldLines)
		lines := linesOf(h)
		for i := 0; i < len(lines); {
			if lines[i].mark == ' ' {
				at++
				i++
				continue
			}
			end := i + slices.IndexFunc(lines[i:], func(l line) bool { return l.mark == ' ' })
			if end < i {
				end = len(lines)
			}
			e := edit(at, lines[i:end])
			list = append(list, e)
			at, i = at+e.OldLines, end
		}
	}
	return list
}

// edit is a run of changes that begins at a line.
func edit(at int, run []line) croft.Edit {
	var e croft.Edit
	var b strings.Builder
	for _, l := range run {
		if l.mark == '-' {
			e.OldLines++
		} else {
			b.WriteString(l.text)
		}
	}
	if e.OldStart = at; e.OldLines == 0 {
		e.OldStart = at - 1
	}
	if e.Text = b.String(); !utf8.ValidString(e.Text) {
		e.Text, e.Raw = "", []byte(b.String())
	}
	return e
}
