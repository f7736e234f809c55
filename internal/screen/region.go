package screen

import (
	"fmt"
	"io"
	"strings"
)

// Region is lines at the end of what a terminal shows, which are written over. It needs a terminal
// that knows the sequences for that.
type Region struct {
	W     io.Writer
	lines int // that stand there now
}

// Show writes lines over those that were shown before. Each must be narrower than the terminal.
func (r *Region) Show(lines []string) {
	var b strings.Builder
	b.WriteString(r.back())
	for _, line := range lines {
		b.WriteString(line + "\x1b[K\n")
	}
	b.WriteString("\x1b[J")
	r.lines = len(lines)
	_, _ = io.WriteString(r.W, b.String()) // there is nowhere left to tell it
}

// back moves to the first of the lines.
func (r *Region) back() string {
	if r.lines == 0 {
		return ""
	}
	return fmt.Sprintf("\r\x1b[%dA", r.lines)
}

// Erase takes the lines away.
func (r *Region) Erase() {
	if r.lines > 0 {
		_, _ = io.WriteString(r.W, r.back()+"\x1b[J")
		r.lines = 0
	}
}

// Leave lets the lines stand.
func (r *Region) Leave() { r.lines = 0 }
