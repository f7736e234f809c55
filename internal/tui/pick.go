package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/croft-sh/croft/internal/screen"
)

// ErrLeft is the error of a person who has chosen nothing.
var ErrLeft = errors.New("nothing was chosen")

// Picker is a list to choose from, below the prompt.
type Picker struct {
	Question string // before what is typed
	Verb     string // what enter does, as in "merge"
	IsMany   bool   // several may be chosen
	// Lines returns the items for a terminal of a width, and the heading above them.
	Lines func(width int) (heading string, lines []string)
	Names []string // of the items, by which they are found

	Keys   Keyboard
	Out    io.Writer // the terminal
	Stream screen.Stream
	Size   func() (width, height int)
}

// maxRows is how many items are shown at once.
const maxRows = 10

// picking is a picker while it is open.
type picking struct {
	Picker
	block  block
	typed  []rune // what the names have to have in them
	shown  []int  // the items that do
	at     int    // of those, the one that enter takes
	top    int    // of those, the first on the screen
	chosen []int  // in the order in which they were
}

// Pick asks until something is chosen, and returns the numbers of the items. It fails with ErrLeft if the person leaves, or
// with the cause of the context. The terminal is as before.
func (p Picker) Pick(ctx context.Context) ([]int, error) {
	s := &picking{Picker: p, block: block{w: p.Out}}
	s.filter()
	defer s.block.erase()
	for {
		s.draw()
		key, err := p.Keys.Next(ctx)
		if err != nil {
			return nil, err
		}
		switch key.Kind {
		case Escape, Interrupt:
			return nil, ErrLeft
		case Enter:
			if taken := s.taken(); len(taken) > 0 {
				return taken, nil
			}
		case Suspend:
			s.block.erase()
			p.Keys.Suspend()
		default:
			s.press(key)
		}
	}
}

// taken returns what enter takes: what was chosen, or the item that one stands at.
func (s *picking) taken() []int {
	if len(s.chosen) > 0 {
		return s.chosen
	}
	if len(s.shown) > 0 {
		return []int{s.shown[s.at]}
	}
	return nil
}

// press does what a key says.
func (s *picking) press(key Key) {
	switch key.Kind {
	case Rune:
		if key.Rune == ' ' {
			if s.IsMany {
				s.toggle()
			}
			return
		}
		if unicode.IsPrint(key.Rune) {
			s.typed = append(s.typed, key.Rune)
			s.filter()
		}
	case Backspace:
		s.typed = s.typed[:max(len(s.typed)-1, 0)]
		s.filter()
	case EraseWord, EraseLine:
		s.typed = nil
		s.filter()
	case Up:
		s.move(-1)
	case Down, Tab:
		s.move(1)
	case PageUp:
		s.at = max(s.at-maxRows, 0)
	case PageDown:
		s.at = max(min(s.at+maxRows, len(s.shown)-1), 0)
	case Home:
		s.at = 0
	case End:
		s.at = max(len(s.shown)-1, 0)
	}
}

// move goes to the next item, and from the last one to the first.
func (s *picking) move(by int) {
	if n := len(s.shown); n > 0 {
		s.at = (s.at + by + n) % n
	}
}

// toggle chooses the item that one stands at, or not any more, and goes on to the next.
func (s *picking) toggle() {
	if len(s.shown) == 0 {
		return
	}
	item := s.shown[s.at]
	if i := slices.Index(s.chosen, item); i >= 0 {
		s.chosen = slices.Delete(s.chosen, i, i+1)
	} else {
		s.chosen = append(s.chosen, item)
	}
	s.at = min(s.at+1, len(s.shown)-1)
}

// filter leaves the items whose names have what was typed, and goes to the first whose name begins with it.
func (s *picking) filter() {
	was := -1
	if len(s.shown) > 0 {
		was = s.shown[s.at]
	}
	s.shown, s.at = nil, -1
	word := strings.ToLower(string(s.typed))
	for i, name := range s.Names {
		name = strings.ToLower(name)
		if !strings.Contains(name, word) {
			continue
		}
		if s.at < 0 && word != "" && strings.HasPrefix(name, word) || word == "" && i == was {
			s.at = len(s.shown)
		}
		s.shown = append(s.shown, i)
	}
	s.at = max(s.at, 0)
}

// draw shows the list as it is now.
func (s *picking) draw() {
	width, height := s.Size()
	to := s.Stream
	heading, lines := s.Lines(width - gutter - 1)
	rows := max(min(maxRows, height-4), 1)
	if s.at < s.top || s.top+rows > len(s.shown) {
		s.top = min(s.at, max(len(s.shown)-rows, 0))
	}
	s.top = max(s.top, s.at-rows+1)
	out := []string{s.cut(to.Paint(s.Question, screen.Bold)+" "+screen.Printable(string(s.typed))+to.Paint("_", screen.Dim), width)}
	if heading != "" {
		out = append(out, s.cut(strings.Repeat(" ", gutter)+heading, width))
	}
	for i := s.top; i < min(s.top+rows, len(s.shown)); i++ {
		out = append(out, s.cut(s.gutter(i)+lines[s.shown[i]], width))
	}
	s.block.show(append(out, s.cut(to.Paint(s.foot(), screen.Dim), width)))
}

// gutter is how many columns stand before an item: where one is, and whether it is chosen.
const gutter = 2

func (s *picking) gutter(i int) string {
	at, chosen := " ", " "
	if i == s.at {
		at = s.Stream.Paint(s.Stream.Signs().Here, screen.Bold)
	}
	if slices.Contains(s.chosen, s.shown[i]) {
		chosen = s.Stream.Paint("+", screen.Green)
	}
	return at + chosen
}

// foot says what the keys do.
func (s *picking) foot() string {
	signs := s.Stream.Signs()
	if len(s.shown) == 0 {
		return "  nothing of that name; esc leaves"
	}
	words := []string{"enter " + s.Verb}
	if s.IsMany {
		words = append(words, "space takes several")
	}
	words = append(words, "type to search", "esc leaves")
	text := "  " + strings.Join(words, " "+signs.Dot+" ")
	if len(s.Names) > min(len(s.shown), maxRows) {
		text = fmt.Sprintf("  %d of %d ", len(s.shown), len(s.Names)) + signs.Dot + " " + strings.TrimPrefix(text, "  ")
	}
	return text
}

// cut shortens a line that is wider than the terminal.
func (s *picking) cut(line string, width int) string {
	return screen.CutPainted(line, max(width-1, 1), s.Stream.Signs().Cut)
}
