package git

import (
	"bytes"
	"path"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
)

// side is what conflict markers call one side of a merge, and what it is called
// instead.
type side struct {
	is   func(label string) bool
	name string
}

func called(label string) func(string) bool { return func(l string) bool { return l == label } }

// isObjectName reports whether a label is the name of an object.
func isObjectName(label string) bool {
	return (len(label) == 40 || len(label) == 64) && strings.Trim(label, "0123456789abcdef") == ""
}

// nameSides gives the sides of conflicts the names of the branches: git knows only
// HEAD and a commit. The files lie where an agent may write: what is no regular
// file by now, or was written meanwhile, stays as it is, and so does what cannot be
// read or written: it is resolved with other names.
func (c *indexCopy) nameSides(in BringIn, paths []string) {
	if in.Branch == "" || in.Name == "" {
		return
	}
	pairs := [][2]side{{{called("HEAD"), in.Branch}, {called(in.Commit), in.Name}}}
	if len(in.Marked) > 0 { // the target's side is first
		pairs = append(pairs, [2]side{{isObjectName, in.Name}, {isObjectName, in.Branch}})
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
		nameSidesIn(dir, path.Base(name), pairs)
		_ = dir.Close()
	}
}

func nameSidesIn(dir *fsx.Dir, name string, pairs [][2]side) {
	before, err := dir.Stat(name)
	if err != nil || !before.Mode.IsRegular() {
		return
	}
	text, err := dir.ReadFile(name, mostText)
	if err != nil || bytes.IndexByte(text, 0) >= 0 {
		return
	}
	renamed := withNames(text, pairs)
	if bytes.Equal(renamed, text) {
		return
	}
	if now, err := dir.Stat(name); err == nil && now == before {
		_ = dir.WriteFile(name, renamed, before.Mode.Perm())
	}
}

// withNames renames the sides in the text of a file. Both ends of a conflict have to
// be what a pair says, with markers of one length: other lines that look like them
// are the file's.
func withNames(text []byte, pairs [][2]side) []byte {
	lines := bytes.SplitAfter(text, []byte("\n"))
	for i, line := range lines {
		size, label, _ := markerOf(line, '<')
		if size == 0 {
			continue
		}
		end := i + 1
		for end < len(lines) {
			if n, _, _ := markerOf(lines[end], '>'); n == size {
				break
			}
			if n, _, _ := markerOf(lines[end], '<'); n == size {
				end = len(lines)
				break
			}
			end++
		}
		if end == len(lines) {
			continue
		}
		_, other, _ := markerOf(lines[end], '>')
		for _, p := range pairs {
			if p[0].is(label) && p[1].is(other) {
				lines[i], lines[end] = relabel(line, '<', p[0].name), relabel(lines[end], '>', p[1].name)
				break
			}
		}
	}
	return bytes.Join(lines, nil)
}

// markerOf is the length and the label of a line that is the end of a conflict, and
// what follows the label: the file's name on that side, if it was renamed, and the
// line's end.
func markerOf(line []byte, c byte) (size int, label, rest string) {
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
	size, _, rest := markerOf(line, c)
	return []byte(strings.Repeat(string(c), size) + " " + name + rest)
}
