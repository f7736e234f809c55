// Package plaintext takes out of what programs print what is meant for a terminal: sequences that
// move the cursor, set colours and titles, and single characters that ring a bell or switch the character set. What is
// left is not safe to print yet: control characters of Unicode, and carriage returns, are the caller's to replace.
package plaintext

// Filter takes sequences out of a text that comes in pieces. The zero value is ready.
type Filter struct {
	in state
}

type state int

const (
	inText      state = iota
	afterEscape       // ESC was seen
	inSequence        // ESC [ was seen: it ends with a letter
	inString          // ESC ] or the like was seen: it ends with BEL or ESC \
	endsString        // ESC was seen in it
	oneMore           // ESC ( or the like was seen: one more character belongs to it
)

const (
	escape = 0x1b
	bell   = 0x07
)

// Strip returns the next piece of a text without sequences. One that is cut goes on in the next
// piece.
func (f *Filter) Strip(piece []byte) []byte {
	out := make([]byte, 0, len(piece))
	for _, c := range piece {
		switch f.in {
		case inText:
			switch {
			case c == escape:
				f.in = afterEscape
			case isText(c):
				out = append(out, c)
			}
		case afterEscape:
			f.in = afterFirst(c)
		case inSequence:
			if c >= 0x40 && c <= 0x7e || c == '\n' { // no sequence has a line feed: it was broken off
				f.in = inText
			}
		case inString:
			switch c {
			case bell, '\n':
				f.in = inText
			case escape:
				f.in = endsString
			}
		case endsString:
			if f.in = inString; c == '\\' {
				f.in = inText
			}
		case oneMore:
			f.in = inText
		}
	}
	return out
}

// isText reports whether a byte is a part of a text: no control character, but for those that end a line or a cell.
func isText(c byte) bool { return c >= 0x20 && c != 0x7f || c == '\n' || c == '\t' || c == '\r' }

// afterFirst returns what follows after the first character of a sequence.
func afterFirst(c byte) state {
	switch c {
	case '[':
		return inSequence
	case ']', 'P', 'X', '^', '_':
		return inString
	case '(', ')', '*', '+', '#', '%', ' ':
		return oneMore
	case escape:
		return afterEscape
	}
	return inText
}

// Strip returns a whole text without sequences.
func Strip(text string) string { return string(new(Filter).Strip([]byte(text))) }
