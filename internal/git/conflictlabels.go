package git

import (
	"bytes"
	"path"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
)

// label is a label of conflict markers, and the label that replaces it.
type label struct {
	is   func(label string) bool
	name string
}

func isLabel(label string) func(string) bool { return func(l string) bool { return l == label } }

// isObjectName reports whether a label is an object name.
func isObjectName(label string) bool {
	return (len(label) == 40 || len(label) == 64) && strings.Trim(label, "0123456789abcdef") == ""
}

// nameBranches replaces the labels of conflict markers, which are HEAD and a commit, or two
// object names after a revert, by the names of the branches. It does nothing if one of the
// two has no name. An agent may write these files: one that is binary or not a regular file,
// was written meanwhile, or cannot be read or written keeps its labels.
func (c *indexCopy) nameBranches(in MergeSpec, paths []string) {
	if in.Branch == "" || in.Name == "" {
		return
	}
	pairs := [][2]label{{{isLabel("HEAD"), in.Branch}, {isLabel(in.Commit), in.Name}}}
	if len(in.Marked) > 0 { // a revert: the target's side is first
		pairs = append(pairs, [2]label{{isObjectName, in.Name}, {isObjectName, in.Branch}})
	}
	top, err := fsx.OpenDir(c.at.work)
	if err != nil {
		return
	}
	defer top.Close()
	for _, name := range paths {
		dir, err := top.OpenBelow(filepath.FromSlash(path.Dir(name)))
		if err != nil {
			continue
		}
		nameBranchesIn(dir, path.Base(name), pairs)
		_ = dir.Close()
	}
}

func nameBranchesIn(dir *fsx.Dir, name string, pairs [][2]label) {
	before, err := dir.Stat(name)
	if err != nil || !before.Mode.IsRegular() {
		return
	}
	text, err := dir.ReadFile(name, maxMarkerFile)
	if err != nil || bytes.IndexByte(text, 0) >= 0 {
		return
	}
	renamed := replaceLabels(text, pairs)
	if bytes.Equal(renamed, text) {
		return
	}
	if now, err := dir.Stat(name); err == nil && now == before {
		_ = dir.WriteFile(name, renamed, before.Mode.Perm())
	}
}

// replaceLabels replaces the labels in the text of a file. Both the first and the last marker
// of a conflict must have the labels of a pair, and the same length: other lines that look
// like markers are content of the file.
func replaceLabels(text []byte, pairs [][2]label) []byte {
	lines := bytes.SplitAfter(text, []byte("\n"))
	for i, line := range lines {
		size, label, _ := parseMarker(line, '<')
		if size == 0 {
			continue
		}
		end := i + 1
		for end < len(lines) {
			if n, _, _ := parseMarker(lines[end], '>'); n == size {
				break
			}
			if n, _, _ := parseMarker(lines[end], '<'); n == size {
				end = len(lines)
				break
			}
			end++
		}
		if end == len(lines) {
			continue
		}
		_, other, _ := parseMarker(lines[end], '>')
		for _, p := range pairs {
			if p[0].is(label) && p[1].is(other) {
				lines[i], lines[end] = relabel(line, '<', p[0].name), relabel(lines[end], '>', p[1].name)
				break
			}
		}
	}
	return bytes.Join(lines, nil)
}

// parseMarker returns the length and the label of a conflict marker, and what follows the
// label: the file's name on that side, if it was renamed, and the line end.
func parseMarker(line []byte, c byte) (size int, label, rest string) {
	if !isMarker(line, c) {
		return 0, "", ""
	}
	size = len(line) - len(bytes.TrimLeft(line, string(c)))
	text := string(line[size+1:])
	if i := strings.IndexAny(text, ":\r\n"); i >= 0 {
		return size, text[:i], text[i:]
	}
	return size, text, ""
}

func relabel(line []byte, c byte, name string) []byte {
	size, _, rest := parseMarker(line, c)
	return []byte(strings.Repeat(string(c), size) + " " + name + rest)
}
