package main

import (
	"os"
	"runtime"
	"strings"

	"github.com/croft-sh/croft/internal/cli"
	"github.com/croft-sh/croft/internal/tui"
	"golang.org/x/term"
)

// display describes the terminal that the program runs on, if there is one.
type display struct {
	terminal        cli.Terminal
	color, errColor cli.Color
	width, errWidth int
	isInput         bool // it is what this process reads from
	isASCII         bool // it shows no more than ASCII
	isDumb          bool // it cannot write over a line
}

func detectDisplay(environ []string) display {
	l := display{isASCII: isASCIIOnly(environ)}
	isTerminal := func(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
	if isTerminal(os.Stdin) && isTerminal(os.Stderr) {
		l.terminal = cli.TerminalInteractive
	}
	l.isInput = isTerminal(os.Stdin)
	l.width, _ = sizeOfTerminal(os.Stdout)
	l.errWidth, _ = sizeOfTerminal(os.Stderr)
	l.color = colorFor(environ, l.width > 0)
	l.errColor = colorFor(environ, l.errWidth > 0)
	l.isDumb = isDumb(environ)
	return l
}

// sizeOfTerminal returns the size of a terminal as it is now, or 0 for a file that is none. A terminal
// that does not know its size is as wide and as high as they used to be.
func sizeOfTerminal(f *os.File) (width, height int) {
	if !term.IsTerminal(int(f.Fd())) {
		return 0, 0
	}
	width, height, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return 80, 24
	}
	return width, height
}

// keysOf reads a terminal key by key. Only Unix can.
func keysOf(in, out *os.File) func() (tui.Keyboard, error) {
	if runtime.GOOS == "windows" {
		return nil
	}
	return func() (tui.Keyboard, error) { return tui.Open(in, out) }
}

// isDumb reports whether a terminal acts upon no escape sequences, or nobody knows which. An old console
// of Windows has no TERM either.
func isDumb(environ []string) bool {
	switch lookUp(environ, "TERM") {
	case "dumb":
		return true
	case "":
		return runtime.GOOS != "windows" || lookUp(environ, "WT_SESSION") == ""
	}
	return false
}

// isASCIIOnly reports whether the user's locale has no UTF-8. The first of the variables that is set
// says so. Windows has none of them, and its terminals have Unicode.
func isASCIIOnly(environ []string) bool {
	if lookUp(environ, "CROFT_ASCII") == "1" {
		return true
	}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := lookUp(environ, name); locale != "" {
			_, charset, _ := strings.Cut(strings.ToLower(locale), ".")
			charset, _, _ = strings.Cut(charset, "@")
			return charset != "utf-8" && charset != "utf8"
		}
	}
	return runtime.GOOS != "windows"
}

// colorFor decides by NO_COLOR, CLICOLOR_FORCE and CLICOLOR, in this order, whether
// output is coloured. A terminal without TERM and an old console of Windows get no
// colour: they would print the escape sequences as they are.
func colorFor(environ []string, isTerminal bool) cli.Color {
	force := lookUp(environ, "CLICOLOR_FORCE")
	switch {
	case lookUp(environ, "NO_COLOR") != "":
		return cli.ColorNever
	case force != "" && force != "0":
		return cli.ColorTerminal
	case !isTerminal, lookUp(environ, "CLICOLOR") == "0", isDumb(environ):
		return cli.ColorNever
	default:
		return cli.ColorTerminal
	}
}
