package screen

import (
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// Fold breaks a painted line into lines of at most a number of columns, painted as they were. Nothing is left out: it is for
// what has to be seen as a whole.
func Fold(line string, room int) []string {
	if Width(unpainted(line)) <= room {
		return []string{line}
	}
	f := folded{room: max(room, 2)} // a character may be that wide
	for line != "" {
		text, rest, isPainted := strings.Cut(line, "\x1b[")
		f.add(text)
		if line = rest; isPainted {
			var style string
			style, line, _ = strings.Cut(rest, "m")
			f.paint(style)
		}
	}
	return append(f.done, f.row.String())
}

// folded are lines that are being filled.
type folded struct {
	room  int
	done  []string
	row   strings.Builder
	used  int
	style string // which the next line begins with
}

func (f *folded) paint(style string) {
	f.row.WriteString("\x1b[" + style + "m")
	if f.style = style; style == "0" {
		f.style = ""
	}
}

func (f *folded) add(text string) {
	for g := displaywidth.StringGraphemes(text); g.Next(); f.used += g.Width() {
		if f.used+g.Width() > f.room {
			f.next()
		}
		f.row.WriteString(g.Value())
	}
}

// next begins a line.
func (f *folded) next() {
	style := f.style
	if style != "" {
		f.paint("0")
	}
	f.done = append(f.done, f.row.String())
	f.row.Reset()
	if f.used = 0; style != "" {
		f.paint(style)
	}
}
