package cli

import (
	"cmp"
	"fmt"

	"github.com/croft-sh/croft/internal/screen"
)

// stdout says how answers are shown.
func (a *app) stdout() screen.Stream {
	return screen.Stream{Width: a.env.Width, IsColor: a.isColored(a.env.Color), IsASCII: a.env.IsASCII}
}

// stderr says how remarks are shown.
func (a *app) stderr() screen.Stream {
	width := a.env.ErrWidth
	if width == 0 && a.env.Terminal == TerminalInteractive {
		width = cmp.Or(a.env.Width, usualWidth)
	}
	return screen.Stream{Width: width, IsColor: a.isColored(a.env.ErrColor), IsASCII: a.env.IsASCII}
}

// isColored decides by the flags whether a stream has colours, and otherwise leaves it at what
// its surroundings say.
func (a *app) isColored(c Color) bool {
	switch {
	case a.plain || a.color == colorNever:
		return false
	case a.color == colorAlways:
		return true
	}
	return c == ColorTerminal
}

// The values of --color.
const (
	colorAuto   = "auto"
	colorAlways = "always"
	colorNever  = "never"
)

// colorFlag is the value of --color.
type colorFlag string

func (f *colorFlag) String() string { return string(*f) }
func (f *colorFlag) Type() string   { return "when" }

func (f *colorFlag) Set(text string) error {
	switch text {
	case colorAuto, colorAlways, colorNever:
		*f = colorFlag(text)
		return nil
	}
	return fmt.Errorf("%s is none of always, never and auto", quoted(text))
}

// remark prints a line of spans on stderr, unless remarks are not wanted.
func (a *app) remark(spans ...screen.Span) {
	if a.quiet || a.silent || a.json {
		return
	}
	fmt.Fprintln(a.env.Stderr, a.stderr().Line(spans...))
}
