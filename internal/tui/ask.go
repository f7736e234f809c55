package tui

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/croft-sh/croft/internal/screen"
)

// Page is what a person is asked about: a first line that stays, a body that may be longer than the terminal, and a
// question that is answered with a letter.
type Page struct {
	Title    string   // painted
	Body     []string // painted lines; one that is wider than the terminal has several rows
	Question string
	Answers  string   // the letters
	Help     []string // what they mean, for "?"
}

// Asker shows pages in place of what the terminal has.
type Asker struct {
	Keys   Keyboard
	Out    io.Writer // the terminal
	Stream screen.Stream
	Size   func() (width, height int)
}

// The sequences that show another screen, and the former one.
const (
	enterOther = "\x1b[?1049h" + hideCursor
	leaveOther = showCursor + "\x1b[?1049l"
	beginFrame = "\x1b[?2026h\x1b[H"
	endLine    = "\x1b[K\r\n"
	endFrame   = "\x1b[K\x1b[J\x1b[?2026l"
)

// helpQuestion stands below the help, which no letter answers.
const helpQuestion = "any key goes back"

// Begin takes the screen, and End gives it back.
func (a *Asker) Begin() { a.show(enterOther) }

// End gives the screen back.
func (a *Asker) End() { a.show(leaveOther) }

func (a *Asker) show(text string) { _, _ = io.WriteString(a.Out, text) } // there is nowhere left to tell it

// Ask shows a page until one of its letters is typed, and returns that. It fails with ErrLeft if the person leaves, or with the cause
// of the context.
func (a *Asker) Ask(ctx context.Context, p Page) (rune, error) {
	top, isHelp := 0, false
	for {
		shown := p
		if isHelp {
			shown.Body, shown.Question = p.Help, helpQuestion
		}
		body := a.fold(shown.Body)
		rows := a.draw(shown, body, top)
		key, err := a.Keys.Next(ctx)
		if err != nil {
			return 0, err
		}
		last := max(len(body)-rows, 0)
		switch key.Kind {
		case Escape, Interrupt:
			if !isHelp || key.Kind == Interrupt {
				return 0, ErrLeft
			}
			isHelp, top = false, 0
		case Suspend:
			a.End()
			a.Keys.Suspend()
			a.Begin()
		case Rune:
			switch {
			case key.Rune == ' ':
				top = min(top+rows, last)
			case isHelp:
				isHelp, top = false, 0
			case key.Rune == '?':
				isHelp, top = true, 0
			case strings.ContainsRune(p.Answers, key.Rune):
				return key.Rune, nil
			}
		case Enter, Backspace:
			isHelp = false
		default:
			top = scrolled(key.Kind, top, rows, last)
		}
	}
}

// fold makes rows of lines: what a person is asked about is seen whole.
func (a *Asker) fold(lines []string) []string {
	width, _ := a.Size()
	rows := make([]string, 0, len(lines))
	for _, line := range lines {
		rows = append(rows, screen.Fold(line, width-1)...)
	}
	return rows
}

// scrolled is the first line of a body that is seen after a key.
func scrolled(kind Kind, top, rows, last int) int {
	switch kind {
	case Up:
		top--
	case Down:
		top++
	case PageUp:
		top -= rows
	case PageDown:
		top += rows
	case Home:
		top = 0
	case End:
		top = last
	}
	return min(max(top, 0), last)
}

// draw shows a page from a row of its body on, and returns how many rows of that there is room for.
func (a *Asker) draw(p Page, body []string, top int) int {
	width, height := a.Size()
	sign := a.Stream.Signs().Cut
	rows := max(height-4, 1) // beside the title, an empty line, one before the question, and that
	var b strings.Builder
	b.WriteString(beginFrame + screen.CutPainted(p.Title, width-1, sign) + endLine + endLine)
	for i := top; i < min(top+rows, len(body)); i++ {
		b.WriteString(body[i] + endLine)
	}
	question := p.Question
	if len(body) > rows {
		question = fmt.Sprintf("%s (%d-%d of %d, space: more)", question, top+1, min(top+rows, len(body)), len(body))
	}
	b.WriteString(endLine + screen.CutPainted(a.Stream.Paint(question, screen.Cyan.And(screen.Bold)), width-1, sign) + endFrame)
	a.show(b.String())
	return rows
}
