// Package script tells which files of a repository a command runs, and how a script is run.
package script

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/croft-sh/croft/internal/shellword"
)

// ExecutableMode is the mode of a file in a tree that can be run.
const ExecutableMode = "100755"

// Command returns the command that runs a script of the repository: the interpreter that its first line names, as a
// kernel reads it; without one, the file itself if it is executable, else a shell. The text is that of the commit, which an approval
// covers: what stands in the workspace does not choose the interpreter.
func Command(name, text, mode string) string {
	file := shellword.Quote("./" + name)
	program, argument := interpreter(text)
	switch {
	case argument != "":
		return shellword.Quote(program) + " " + shellword.Quote(argument) + " " + file
	case program != "":
		return shellword.Quote(program) + " " + file
	case mode == ExecutableMode:
		return file
	}
	return "sh " + file
}

// Lines returns the command for lines that a set-up file has in itself. A first line that names another shell
// is followed; other programs take no lines in a uniform way.
func Lines(lines string) string {
	program, argument := interpreter(lines)
	shell := path.Base(program)
	if shell == "env" {
		shell = argument
	}
	if !slices.Contains([]string{"bash", "zsh", "ksh", "dash", "ash"}, shell) {
		return lines
	}
	if argument != "" {
		program = shellword.Quote(program) + " " + shellword.Quote(argument)
	} else {
		program = shellword.Quote(program)
	}
	return program + " -c " + shellword.Quote(lines)
}

// interpreter returns the program that the first line of a script names, and the rest of that line, which is one argument.
func interpreter(text string) (program, argument string) {
	const most = 255
	line, ok := strings.CutPrefix(text, "#!")
	if !ok {
		return "", ""
	}
	line, _, _ = strings.Cut(line, "\n")
	line = strings.TrimSpace(line)
	if len(line) > most || strings.ContainsFunc(line, func(r rune) bool { return unicode.IsControl(r) && r != '\t' }) {
		return "", ""
	}
	end := strings.IndexAny(line, " \t")
	if end < 0 {
		return line, ""
	}
	return line[:end], strings.TrimSpace(line[end:])
}
