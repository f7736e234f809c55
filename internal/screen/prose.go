package screen

import "strings"

// WrapSpans breaks spans between their words into lines of at most a number of columns. A span in the style of
// commands is never divided: one that is longer than a line has one for itself. A path that is longer is cut in the
// middle, with a sign, and any other word goes on in the next line.
func WrapSpans(spans []Span, room int, sign string) []Cell {
	w := wrapping{room: max(room, leastRoom)}
	isSpaced := false
	for _, span := range spans {
		isSpaced = isSpaced || strings.HasPrefix(span.Text, " ")
		switch {
		case isCommand(span.Style):
			w.command(span, isSpaced)
		default:
			for i, word := range strings.Fields(span.Text) {
				w.word(Span{word, span.Style}, i > 0 || isSpaced, sign)
			}
		}
		if span.Text != "" {
			isSpaced = strings.HasSuffix(span.Text, " ")
		}
	}
	if len(w.line) == 0 && len(w.lines) > 0 {
		return w.lines
	}
	return append(w.lines, w.line)
}

// leastRoom is how many columns text gets, however narrow the terminal is.
const leastRoom = 8

// isCommand reports whether a style is that of what can be run.
func isCommand(s Style) bool { return s == Cyan || s == Dim.And(Cyan) || s == Bold.And(Cyan) }

// wrapping is lines that are made of words.
type wrapping struct {
	room    int
	lines   []Cell
	line    Cell
	used    int
	isAlone bool // the last line is a command that is longer than it
}

func (w *wrapping) next() {
	if len(w.line) > 0 {
		w.lines = append(w.lines, w.line)
	}
	w.line, w.used = nil, 0
}

// add puts a span at the end of the line, or on the next one.
func (w *wrapping) add(span Span, isApart bool) {
	wide := Width(span.Text)
	switch {
	case w.used == 0:
	case isApart && w.used+1+wide > w.room:
		w.next()
	case isApart:
		w.line, w.used = append(w.line, Span{Text: " "}), w.used+1
	case w.used+wide > w.room && strings.Trim(span.Text, closing) == "":
		return // it closes a line that is full
	case w.used+wide > w.room:
		w.carry(wide)
	}
	w.line, w.used = append(w.line, span), w.used+wide
}

// closing is what may close a part of a sentence.
const closing = ",;.:"

// carry takes the end of the line to the next one, where it is one word with what comes.
func (w *wrapping) carry(wide int) {
	at := len(w.line)
	for at > 0 && w.line[at-1].Text != " " {
		at--
	}
	end := w.line[at:]
	if at == 0 || end.Width()+wide > w.room {
		w.next()
		return
	}
	w.lines, w.line = append(w.lines, w.line[:at-1]), append(Cell{}, end...)
	w.used = w.line.Width()
}

// command puts a command on a line, alone if there is no other way.
func (w *wrapping) command(span Span, isApart bool) {
	if Width(span.Text) > w.room {
		w.next()
		w.lines, w.isAlone = append(w.lines, Cell{span}), true
		return
	}
	w.isAlone = false
	w.add(span, isApart)
}

// word puts a word of prose on a line. What closes a command that stands alone would be pasted with it, and is left
// out.
func (w *wrapping) word(span Span, isApart bool, sign string) {
	if w.isAlone && !isApart {
		if span.Text = strings.TrimLeft(span.Text, closing); span.Text == "" {
			return
		}
	}
	w.isAlone = false
	if Width(span.Text) <= w.room {
		w.add(span, isApart)
		return
	}
	if strings.ContainsAny(span.Text, `/\`) {
		w.add(Span{CutMiddle(span.Text, w.room, sign), span.Style}, true)
		return
	}
	for text := span.Text; text != ""; isApart = true {
		part := firstColumns(text, w.room)
		if part == "" { // one character is wider than the line
			part = text
		}
		w.add(Span{part, span.Style}, isApart || Width(part) == w.room)
		text = text[len(part):]
	}
}
