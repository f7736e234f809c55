package recording

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Style is how a character looks.
type Style struct {
	IsBold, IsDim bool
	Color         int // as in the escape sequence, 31 to 36; 0: that of the terminal
}

// Span is characters of one style.
type Span struct {
	Text  string
	Style Style
}

type cell struct {
	char  rune
	style Style
}

// Terminal is what stands on a terminal that is as high as need be.
type Terminal struct {
	rows     [][]cell
	row, col int
	style    Style
	rest     string    // the beginning of a character or a sequence
	aside    *Terminal // what stands on the first screen, while a program shows the second
	isHeld   bool      // a program is in the middle of a picture
}

// IsHeld reports whether a program is in the middle of what it wants to show at once.
func (t *Terminal) IsHeld() bool { return t.isHeld || t.rest != "" }

// Write prints, as a terminal does behind a line discipline: a line ends with "\r\n".
func (t *Terminal) Write(p []byte) (int, error) {
	text := t.rest + string(p)
	t.rest = ""
	for text != "" {
		if text[0] == '\x1b' {
			end := strings.IndexFunc(text, func(r rune) bool { return r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' })
			if end < 0 {
				t.rest = text
				break
			}
			if err := t.control(text[:end], text[end]); err != nil {
				return 0, err
			}
			text = text[end+1:]
			continue
		}
		if !utf8.FullRuneInString(text) {
			t.rest = text
			break
		}
		char, size := utf8.DecodeRuneInString(text)
		text = text[size:]
		if err := t.print(char); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

func (t *Terminal) print(char rune) error {
	switch {
	case char == '\r':
		t.col = 0
	case char == '\n':
		t.row++
	case char < ' ':
		return fmt.Errorf("the terminal does not know the character %q", char)
	default:
		t.line()
		for len(t.rows[t.row]) <= t.col {
			t.rows[t.row] = append(t.rows[t.row], cell{char: ' '})
		}
		t.rows[t.row][t.col] = cell{char, t.style}
		t.col++
	}
	return nil
}

// line sees to it that there is a row where the cursor is.
func (t *Terminal) line() {
	for len(t.rows) <= t.row {
		t.rows = append(t.rows, nil)
	}
}

// control does what an escape sequence says.
func (t *Terminal) control(sequence string, final byte) error {
	values, ok := strings.CutPrefix(sequence, "\x1b[")
	unknown := fmt.Errorf("the terminal does not know the sequence %q", sequence+string(final))
	if !ok {
		return unknown
	}
	if mode, ok := strings.CutPrefix(values, "?"); ok {
		if !t.setMode(mode, final) {
			return unknown
		}
		return nil
	}
	number, err := strconv.Atoi("0" + values)
	switch {
	case final == 'm':
		return t.restyle(values)
	case err != nil:
		return unknown
	case final == 'H' && number == 0:
		t.row, t.col = 0, 0
	case final == 'A':
		t.row = max(0, t.row-max(number, 1))
	case final == 'K' && number == 0:
		if t.row < len(t.rows) && t.col < len(t.rows[t.row]) {
			t.rows[t.row] = t.rows[t.row][:t.col]
		}
	case final == 'J' && number == 0:
		if t.row < len(t.rows) {
			t.rows = append(t.rows[:t.row], t.rows[t.row][:min(t.col, len(t.rows[t.row]))])
		}
	default:
		return unknown
	}
	return nil
}

// setMode turns a mode of the terminal on or off, and reports whether it knows it.
func (t *Terminal) setMode(mode string, final byte) bool {
	switch mode + string(final) {
	case "25h", "25l": // the cursor is shown or not; pictures have none
	case "2004h", "2004l": // what is pasted is marked or not; nobody pastes
	case "2026h", "2026l":
		t.isHeld = final == 'h'
	case "1049h":
		first := *t
		*t = Terminal{aside: &first}
	case "1049l":
		if t.aside != nil {
			*t = *t.aside
		}
	default:
		return false
	}
	return true
}

func (t *Terminal) restyle(values string) error {
	for value := range strings.SplitSeq(values, ";") {
		switch {
		case value == "" || value == "0":
			t.style = Style{}
		case value == "1":
			t.style.IsBold = true
		case value == "2":
			t.style.IsDim = true
		case len(value) == 2 && value >= "31" && value <= "36":
			t.style.Color, _ = strconv.Atoi(value)
		default:
			return fmt.Errorf("the terminal does not know the style %q", value)
		}
	}
	return nil
}

// Rows are what stands there now, without spaces at the ends of lines.
func (t *Terminal) Rows() [][]Span {
	rows := make([][]Span, len(t.rows))
	for i, cells := range t.rows {
		var row []Span
		for _, c := range cells {
			if len(row) == 0 || row[len(row)-1].Style != c.style {
				row = append(row, Span{Style: c.style})
			}
			row[len(row)-1].Text += string(c.char)
		}
		for len(row) > 0 {
			last := &row[len(row)-1]
			if last.Text = strings.TrimRight(last.Text, " "); last.Text != "" {
				break
			}
			row = row[:len(row)-1]
		}
		rows[i] = row
	}
	for len(rows) > 0 && len(rows[len(rows)-1]) == 0 {
		rows = rows[:len(rows)-1]
	}
	return rows
}

func isSame(a, b []Span) bool { return slices.Equal(a, b) }
