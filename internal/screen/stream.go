package screen

import "strings"

// Stream says how one stream of a command shows text.
type Stream struct {
	Width   int  // of the terminal, in columns; 0: the stream is no terminal
	IsColor bool // escape sequences for colours are written
	IsASCII bool // Croft's own signs are those of ASCII
}

// IsTerminal reports whether a person reads the stream on a terminal.
func (s Stream) IsTerminal() bool { return s.Width > 0 }

// Signs are the signs of a stream. A program that reads a pipe gets the same ones in every locale.
func (s Stream) Signs() Signs {
	if s.IsASCII || !s.IsTerminal() {
		return asciiSigns()
	}
	return unicodeSigns()
}

// Paint returns a text in a style, as far as the stream has colours.
func (s Stream) Paint(text string, style Style) string {
	if style == Plain || !s.IsColor || text == "" {
		return text
	}
	return "\x1b[" + string(style) + "m" + text + "\x1b[0m"
}

// Line returns spans one after the other, painted.
func (s Stream) Line(spans ...Span) string {
	var b strings.Builder
	for _, span := range spans {
		b.WriteString(s.Paint(span.Text, span.Style))
	}
	return b.String()
}

// Mark is the symbol of a kind in its colour, with a space behind it; on a pipe there is none.
func (s Stream) Mark(k Kind) string {
	if !s.IsTerminal() {
		return ""
	}
	return s.Paint(s.Signs().Of(k), k.Style()) + " "
}

// Style is the parameters of the escape sequence that begins a style. Colours are those of the
// terminal's own theme.
type Style string

// The styles.
const (
	Plain  Style = ""
	Bold   Style = "1"
	Dim    Style = "2"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
	Blue   Style = "34"
	Cyan   Style = "36"
)

// And returns a style with another one added.
func (s Style) And(more Style) Style {
	if s == Plain || more == Plain {
		return s + more
	}
	return s + ";" + more
}

// Span is a text in one style.
type Span struct {
	Text  string
	Style Style
}

// Kind is what a state asks of a person.
type Kind int

// The kinds, in the order in which a list shows them.
const (
	Stuck   Kind = iota // a person must act
	Look                // a person looks before it goes on
	Ready               // it waits for a decision
	Going               // it goes on by itself
	Nothing             // there is nothing to do
	Done                // nothing is left to do
)

// Kinds returns all kinds in their order.
func Kinds() []Kind { return []Kind{Stuck, Look, Ready, Going, Nothing, Done} }

// Style is the colour of a kind.
func (k Kind) Style() Style {
	return map[Kind]Style{Stuck: Red, Look: Yellow, Ready: Green, Going: Blue, Nothing: Dim, Done: Dim.And(Green)}[k]
}

// Signs are Croft's own signs.
type Signs struct {
	kinds map[Kind]string

	Here     string   // before the row of the workspace that one stands in
	Cut      string   // where a text was cut
	Arrow    string   // to a target
	Minus    string   // before lines that were deleted
	Up, Down string   // before commits that the target lacks, or has
	Dot      string   // between remarks; what was not looked at
	Bar      string   // before lines of output
	Turning  []string // of what goes on, one after the other
}

// Of is the symbol of a kind.
func (s Signs) Of(k Kind) string { return s.kinds[k] }

func unicodeSigns() Signs {
	return Signs{
		kinds: map[Kind]string{Stuck: "✗", Look: "!", Ready: "●", Going: "◐", Nothing: "○", Done: "✓"},
		Here:  "›", Cut: "…", Arrow: "→", Minus: "−", Up: "↑", Down: "↓", Dot: "·", Bar: "│",
		Turning: []string{"◐", "◓", "◑", "◒"},
	}
}

func asciiSigns() Signs {
	return Signs{
		kinds: map[Kind]string{Stuck: "x", Look: "!", Ready: "*", Going: "~", Nothing: ".", Done: "="},
		Here:  ">", Cut: "..", Arrow: "->", Minus: "-", Up: "^", Down: "v", Dot: ".", Bar: "|",
		Turning: []string{"~"},
	}
}

// Spell writes a sentence of Croft's own, which has the signs of Unicode, with these signs.
func (s Signs) Spell(text string) string {
	if s.Arrow == "→" {
		return text
	}
	return strings.NewReplacer("…", s.Cut, "→", s.Arrow, "−", s.Minus, "↑", s.Up, "↓", s.Down, "·", s.Dot, "│", s.Bar, "›", s.Here).Replace(text)
}
