// Package foreign reads the set-up files of other tools: which commands, files and links they
// want in a new checkout. It runs nothing and looks at nothing but those files. What it
// returns are commands of whoever wrote the commit: a person approves them before they run.
//
// A file that cannot be read as its tool reads it is left out with a remark, and never fails a
// command.
package foreign

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// Files reads the files of a commit. Read fails with [fs.ErrNotExist] if there is no regular
// file at a path, which is relative and has slashes.
type Files interface {
	Read(path string) ([]byte, error)
}

// MaxFile is how long a set-up file may be.
const MaxFile = 256 << 10

// maxEntries is how many commands, links or patterns a set-up file may have.
const maxEntries = 100

// Setup is what a set-up file asks for.
type Setup struct {
	Source   string    `json:"source"`
	Setup    []Command `json:"setup,omitempty"`
	Teardown []Command `json:"teardown,omitempty"`
	Actions  []Action  `json:"actions,omitempty"` // what its tool offers to start; Croft only names them
	Include  []string  `json:"include,omitempty"` // patterns, as in .worktreeinclude
	Links    []string  `json:"links,omitempty"`   // patterns of what is linked to the project's files
	Sparse   []string  `json:"sparse,omitempty"`  // directories, for git sparse-checkout
	BaseRef  string    `json:"baseRef,omitempty"` // "fresh" or "head"

	// Env are the variables that its tool promises to the commands. The values are templates.
	Env map[string]Template `json:"env,omitempty"`
	// Hashes are the files that decide what is run, if there is another one besides the source.
	Hashes []string `json:"hashes,omitempty"`
	// Skipped are the parts that Croft does not do.
	Skipped []Skipped `json:"skipped,omitempty"`
}

// HasCommands reports whether the file wants something to run.
func (s *Setup) HasCommands() bool { return len(s.Setup)+len(s.Teardown) > 0 }

// Command is a command of a set-up file: a line for a shell, or a script.
type Command struct {
	Name   string   `json:"name,omitempty"`
	Run    Template `json:"run,omitzero"`
	Script string   `json:"script,omitempty"` // a file of the repository, instead of Run
}

// Action is a command that a tool offers.
type Action struct {
	Name string   `json:"name,omitempty"`
	Run  Template `json:"run"`
}

// Skipped is a part of a set-up file that Croft does not do.
type Skipped struct {
	Key     string `json:"key"`
	Why     string `json:"why"`
	Command string `json:"-"` // the name of the command, if it is one
}

// LeftOut names the commands that Croft does not run, in one sentence. It is empty if there are none.
func (s *Setup) LeftOut() string {
	var names []string
	for _, skipped := range s.Skipped {
		if skipped.Command != "" {
			names = append(names, fmt.Sprintf("%s (%s)", skipped.Command, skipped.Why))
		}
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("%s: 1 command is left out: %s", s.Source, names[0])
	}
	return fmt.Sprintf("%s: %d commands are left out: %s", s.Source, len(names), strings.Join(names, ", "))
}

// Found is what the set-up files of a commit ask for.
type Found struct {
	Used    *Setup   // the first with commands; nil: none
	Plain   []Setup  // those without commands, which are honoured beside it
	Others  []string // files that are there and not used, because another one comes first
	Remarks []string // files that are there and cannot be read
}

// All returns what the files that are honoured ask for.
func (f Found) All() []Setup {
	list := slices.Clone(f.Plain)
	if f.Used != nil {
		list = append(list, *f.Used)
	}
	return list
}

// reader reads one kind of file.
type reader struct {
	path string
	read func(text []byte, files Files) (*Setup, error)
}

// readers are the kinds of files, in the order in which the first one is used.
func readers() []reader {
	return []reader{
		{".cursor/worktrees.json", readCursor},
		{".codex/environments/environment.toml", readCodex},
		{".conductor/settings.toml", readConductor},
		{"conductor.json", readConductorLegacy},
		{".config/wt.toml", readWorktrunk},
		{".claude/settings.json", readClaude},
		{".worktreelink", readLinks},
	}
}

// Read reads the set-up files of a commit. allowed names the files that are read; nil stands for
// all of them.
func Read(files Files, allowed []string) Found {
	var found Found
	for _, r := range readers() {
		if allowed != nil && !slices.Contains(allowed, r.path) {
			continue
		}
		s, err := readFile(files, r)
		switch {
		case errors.Is(err, fs.ErrNotExist) || err == nil && s == nil:
		case err != nil:
			found.Remarks = append(found.Remarks, fmt.Sprintf("%s is not used: %v", r.path, err))
		case !s.HasCommands():
			found.Plain = append(found.Plain, *s)
		case found.Used != nil:
			found.Others = append(found.Others, r.path)
		default:
			found.Used = s
		}
	}
	return found
}

// errShape says that a file is not of the shape that its tool reads.
var errShape = errors.New("it does not have the shape that its tool reads")

func readFile(files Files, r reader) (*Setup, error) {
	text, err := readText(files, r.path)
	if err != nil {
		return nil, err
	}
	s, err := r.read(text, files)
	if s != nil {
		s.Source = r.path
		if max(len(s.Setup), len(s.Teardown), len(s.Links), len(s.Include)) > maxEntries {
			return nil, fmt.Errorf("it asks for more than %d things", maxEntries)
		}
	}
	return s, err
}

func readText(files Files, path string) ([]byte, error) {
	text, err := files.Read(path)
	switch {
	case err != nil:
		return nil, err
	case len(text) > MaxFile:
		return nil, fmt.Errorf("it is longer than %d KiB", MaxFile>>10)
	case !utf8.Valid(text):
		return nil, errors.New("it is no UTF-8")
	}
	return text, nil
}

// scriptIn returns the path of a script that a set-up file in dir names, which has to stay in the
// repository.
func scriptIn(dir, name string) (string, error) {
	if path.IsAbs(name) || strings.Contains(name, `\`) {
		return "", fmt.Errorf("the script %q is no path in the repository", name)
	}
	script := path.Join(dir, name)
	if script == ".." || strings.HasPrefix(script, "../") {
		return "", fmt.Errorf("the script %q lies outside of the repository", name)
	}
	return script, nil
}

// commandOf returns a script of lines as one command, or nil if it is empty.
func commandOf(script string) []Command {
	if script = strings.Trim(script, "\n"); strings.TrimSpace(script) == "" {
		return nil
	}
	return []Command{{Run: Text(script)}}
}

func actionsOf(name, run string) []Action {
	if strings.TrimSpace(run) == "" {
		return nil
	}
	return []Action{{Name: name, Run: Text(run)}}
}

// patternLines returns the lines of a text that are no comments.
func patternLines(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\r\n"); strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return out
}
