// Package mutant reads small changes of the code, each with the test that must
// fail because of it. They are in files mutants.txt, beside the code that they
// change; .ci/mutants tries them. A block there is
//
//	mutant: what goes wrong
//	file: leases.go
//	test: engine TestReapOwners/Alive
//	tags: failpoints
//	  if Liveness(owner) == proc.Alive {
//	- 	return kept
//	+ 	return gone
//
// The file is named from the directory of mutants.txt, the test's package from
// the module's root, "." being that. Tags are optional. The lines that begin with
// two spaces or with "- " have to be in the file exactly once, in a row, whatever
// their indentation; those with "- " go, and those with "+ " take their place. What
// is empty, or begins with "#", separates blocks.
package mutant

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Mutant is one change of a file.
type Mutant struct {
	At      string // the place of its block, for messages
	Name    string // what goes wrong
	File    string // with slashes, from the module's root
	Package string // the directory of the test, likewise
	Test    string // with its subtests
	Tags    string
	change  []string // the lines of the block that are code, each with its two characters
}

// Run is the pattern for go test that selects the test alone.
func (m Mutant) Run() string { return "^" + strings.ReplaceAll(m.Test, "/", "$/^") + "$" }

// Pattern is the package's name for the go command.
func (m Mutant) Pattern() string { return "./" + m.Package }

// All reads every mutants.txt of a module, in the order of their paths.
func All(root string) ([]Mutant, error) {
	var all []Mutant
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != root && strings.ContainsAny(d.Name()[:1], "._") {
			return fs.SkipDir
		}
		if d.IsDir() || d.Name() != "mutants.txt" {
			return nil
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		found, err := Parse(filepath.ToSlash(rel), string(text))
		all = append(all, found...)
		return err
	})
	return all, err
}

// Parse reads one file, whose name is with slashes from the module's root.
func Parse(name, text string) ([]Mutant, error) {
	var all []Mutant
	for n, line := range strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		at := fmt.Sprintf("%s:%d", name, n+1)
		if value, ok := strings.CutPrefix(line, "mutant: "); ok {
			all = append(all, Mutant{At: at, Name: value})
			continue
		}
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if len(all) == 0 {
			return nil, fmt.Errorf("%s: a block begins with \"mutant: \"", at)
		}
		if err := all[len(all)-1].add(path.Dir(name), line); err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
	}
	for _, m := range all {
		if m.File == "" || m.Test == "" || !slices.ContainsFunc(m.change, isNoContext) {
			return nil, fmt.Errorf("%s: it needs a file, a test, and lines that go or come", m.At)
		}
	}
	return all, nil
}

func isNoContext(line string) bool { return line[0] != ' ' }

// add takes one line of a block.
func (m *Mutant) add(dir, line string) error {
	key, value, _ := strings.Cut(line, ": ")
	switch {
	case key == "file":
		m.File = path.Join(dir, value)
	case key == "test":
		var ok bool
		if m.Package, m.Test, ok = strings.Cut(value, " "); !ok {
			return errors.New("a test is a package and a name")
		}
	case key == "tags":
		m.Tags = value
	case slices.Contains([]string{"  ", "- ", "+ "}, line[:min(2, len(line))]):
		m.change = append(m.change, line)
	default:
		return fmt.Errorf("%q is no line of a block", line)
	}
	return nil
}

// Apply makes the change in the text of the mutant's file.
func (m Mutant) Apply(text string) (string, error) {
	lines := strings.SplitAfter(text, "\n")
	var was []string // what has to be there
	for _, line := range m.change {
		if line[0] != '+' {
			was = append(was, strings.TrimSpace(line[2:]))
		}
	}
	found := -1
	for i := 0; i+len(was) <= len(lines); i++ {
		if !slices.EqualFunc(lines[i:i+len(was)], was, func(line, want string) bool { return strings.TrimSpace(line) == want }) {
			continue
		}
		if found >= 0 {
			return "", fmt.Errorf("%s: the text is in %s more than once, in lines %d and %d", m.At, m.File, found+1, i+1)
		}
		found = i
	}
	if found < 0 || len(was) == 0 {
		return "", fmt.Errorf("%s: the text is not in %s", m.At, m.File)
	}
	var is []string
	at := found
	for _, line := range m.change {
		switch line[0] {
		case '+':
			is = append(is, line[2:]+"\n")
			continue
		case ' ':
			is = append(is, lines[at])
		}
		at++
	}
	return strings.Join(slices.Replace(lines, found, at, is...), ""), nil
}
