package tui

import (
	"fmt"
	"io"
	"strings"
)

// block is lines below the prompt of a terminal in raw mode. The cursor stays at the beginning of the first one: wherever
// a terminal moves that when it gets another size, all that is to be erased lies behind it.
type block struct {
	w    io.Writer
	isOn bool
}

// The sequences that hide the cursor and show it.
const (
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
)

// show writes lines over those that were shown before. Each must be narrower than the terminal.
func (b *block) show(lines []string) {
	text := hideCursor + "\r\x1b[J" + strings.Join(lines, "\r\n") + "\r"
	if up := len(lines) - 1; up > 0 {
		text += fmt.Sprintf("\x1b[%dA", up)
	}
	b.isOn = true
	_, _ = io.WriteString(b.w, text) // there is nowhere left to tell it
}

// erase takes the lines away.
func (b *block) erase() {
	if b.isOn {
		b.isOn = false
		_, _ = io.WriteString(b.w, "\r\x1b[J"+showCursor)
	}
}
