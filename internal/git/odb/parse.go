package odb

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"iter"
	"strings"
)

// maxField bounds one NUL-terminated field; longer ones are not paths.
const maxField = 1 << 20

// nulFields yields the NUL-terminated fields of git's -z output.
func nulFields(r io.Reader) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		s := bufio.NewScanner(r)
		s.Buffer(nil, maxField)
		s.Split(func(data []byte, atEOF bool) (int, []byte, error) {
			if i := bytes.IndexByte(data, 0); i >= 0 {
				return i + 1, data[:i], nil
			}
			if atEOF && len(data) > 0 {
				return 0, nil, fmt.Errorf("output ends within a field: %w", io.ErrUnexpectedEOF)
			}
			return 0, nil, nil
		})
		for s.Scan() {
			if !yield(s.Text(), nil) {
				return
			}
		}
		if err := s.Err(); err != nil {
			yield("", err)
		}
	}
}

// StatusEntry is one path that differs from HEAD.
type StatusEntry struct {
	Path       string
	Index      byte // state of the index against HEAD: '.', 'M', 'A', 'D', 'T', 'U'; '?' for untracked
	Work       byte // state of the file against the index
	Submodule  bool
	Conflicted bool
	Hidden     bool // git was told not to compare the file, and does not report that it differs
}

// IsUntracked reports whether the path is untracked.
func (e StatusEntry) IsUntracked() bool { return e.Index == '?' }

// IsAdded reports whether the path is staged, or marked intent-to-add, and HEAD lacks it.
func (e StatusEntry) IsAdded() bool { return e.Index == 'A' || e.Work == 'A' }

// ParseStatus parses `git status --porcelain=v2 -z`. It skips headers and ignored files.
func ParseStatus(r io.Reader) iter.Seq2[StatusEntry, error] {
	return func(yield func(StatusEntry, error) bool) {
		skip := false
		for field, err := range nulFields(r) {
			if err != nil {
				yield(StatusEntry{}, err)
				return
			}
			if skip { // the old path of a rename
				skip = false
				continue
			}
			e, kind, err := parseStatusField(field)
			if err != nil {
				yield(StatusEntry{}, err)
				return
			}
			skip = kind == '2'
			if kind != '#' && kind != '!' && !yield(e, nil) {
				return
			}
		}
		if skip {
			yield(StatusEntry{}, fmt.Errorf("output ends within a rename: %w", io.ErrUnexpectedEOF))
		}
	}
}

// statusColumns is the number of columns before the path, by the first character of the
// line.
var statusColumns = map[byte]int{'1': 8, '2': 9, 'u': 10, '?': 1, '!': 1, '#': 1}

func parseStatusField(field string) (StatusEntry, byte, error) {
	if field == "" {
		return StatusEntry{}, 0, fmt.Errorf("status: an empty line")
	}
	kind := field[0]
	n, known := statusColumns[kind]
	if !known {
		return StatusEntry{}, kind, fmt.Errorf("status: unknown line %q", field)
	}
	cols := strings.SplitN(field, " ", n+1)
	if len(cols) <= n || cols[n] == "" {
		return StatusEntry{}, kind, fmt.Errorf("status: short line %q", field)
	}
	e := StatusEntry{Path: cols[n], Index: '?', Work: '?'}
	if n > 1 {
		if len(cols[1]) != 2 || len(cols[2]) != 4 {
			return StatusEntry{}, kind, fmt.Errorf("status: bad columns %q", field)
		}
		e.Index, e.Work = cols[1][0], cols[1][1]
		e.Submodule = cols[2][0] == 'S'
		e.Conflicted = kind == 'u'
	}
	return e, kind, nil
}
