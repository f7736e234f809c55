package main

import (
	"os"
	"runtime"

	"github.com/croft-sh/croft/internal/cli"
	"golang.org/x/term"
)

// display describes the terminal that the program runs on, if there is one.
type display struct {
	terminal cli.Terminal
	color    cli.Color
	width    int
	isInput  bool // it is what this process reads from
}

func detectDisplay(environ []string) display {
	var l display
	isTerminal := func(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
	if isTerminal(os.Stdin) && isTerminal(os.Stderr) {
		l.terminal = cli.TerminalInteractive
	}
	l.isInput = isTerminal(os.Stdin)
	isOut := isTerminal(os.Stdout)
	if isOut {
		l.width = 80
		if width, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil && width > 0 {
			l.width = width
		}
	}
	l.color = colorFor(environ, isOut)
	return l
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
	case !isTerminal, lookUp(environ, "CLICOLOR") == "0", lookUp(environ, "TERM") == "dumb":
		return cli.ColorNever
	case lookUp(environ, "TERM") == "" && (runtime.GOOS != "windows" || lookUp(environ, "WT_SESSION") == ""):
		return cli.ColorNever
	default:
		return cli.ColorTerminal
	}
}
