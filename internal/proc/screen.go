package proc

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// screen follows what programs print for a terminal: what they have left switched on there, and whether the last line has an
// end. It understands no more than it needs for that.
type screen struct {
	mu     sync.Mutex
	modes  map[int]bool // of the modes below, those that are not as a terminal begins, with what they are
	keys   int          // sets of keys that were put on top of the terminal's own
	others screenOthers

	isOpen, wasOpen bool // the last line has no end; the same as it was before the other screen was shown

	sequence []byte // what has begun with an escape
}

// screenOthers is what is left beside modes.
type screenOthers struct{ isColored, hasRegion, hasCharset, hasKeypad, hasModifiers bool }

// usualModes are the modes that are followed, with how a terminal begins: keys of cursors, wrapping, mice, the cursor, other
// screens, focus, pasting, updates that are shown at once.
var usualModes = map[int]bool{
	1: false, 7: true, 9: false, 25: true, 47: false, 1000: false, 1001: false, 1002: false, 1003: false, 1004: false, 1005: false, 1006: false, 1015: false, 1016: false,
	1047: false, 1049: false, 2004: false, 2026: false,
}

// otherScreens are the modes that show another screen.
var otherScreens = []int{47, 1047, 1049}

const (
	escape       = 0x1b
	longSequence = 64 // more than one that is followed has
)

// Write follows what is printed.
func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range b {
		switch {
		case c == escape && !isText(s.sequence):
			s.sequence = append(s.sequence[:0], c)
		case len(s.sequence) > 0:
			s.goOn(c)
		case c == '\n':
			s.isOpen = false
		case c >= ' ':
			s.isOpen = true
		}
	}
	return len(b), nil
}

// isText reports whether a sequence has a text in it, such as a title, which ends with another sequence.
func isText(sequence []byte) bool {
	return len(sequence) > 1 && bytes.IndexByte([]byte("]P^_X"), sequence[1]) >= 0
}

// goOn takes the next byte of a sequence.
func (s *screen) goOn(c byte) {
	last := s.sequence[len(s.sequence)-1]
	if len(s.sequence) < longSequence {
		s.sequence = append(s.sequence, c)
	} else if isText(s.sequence) {
		s.sequence[len(s.sequence)-1] = c // only its end counts
	}
	var isWhole bool
	switch second := s.sequence[1]; {
	case isText(s.sequence):
		isWhole = c == 7 || last == escape && c == '\\'
	case second == '[':
		isWhole = len(s.sequence) > 2 && c >= 0x40 && c <= 0x7e || len(s.sequence) >= longSequence
	default:
		isWhole = c < 0x20 || c > 0x2f
	}
	if isWhole {
		s.obey(string(s.sequence[1:]))
		s.sequence = s.sequence[:0]
	}
}

// obey takes a sequence, without its escape.
func (s *screen) obey(sequence string) {
	switch {
	case sequence == "c": // all is as it begins
		s.modes, s.keys, s.others, s.isOpen, s.wasOpen = nil, 0, screenOthers{}, false, false
	case sequence == "=" || sequence == ">":
		s.others.hasKeypad = sequence == "="
	case len(sequence) == 2 && sequence[0] == '(':
		s.others.hasCharset = sequence[1] != 'B'
	case sequence[0] == '[' && len(sequence) > 1:
		s.obeyControl(sequence[1:len(sequence)-1], sequence[len(sequence)-1])
	}
}

func (s *screen) obeyControl(params string, final byte) {
	private, isPrivate := strings.CutPrefix(params, "?")
	switch {
	case isPrivate && (final == 'h' || final == 'l'):
		for word := range strings.SplitSeq(private, ";") {
			if mode, err := strconv.Atoi(word); err == nil {
				s.setMode(mode, final == 'h')
			}
		}
	case final == 'm' && strings.HasPrefix(params, ">4"):
		s.others.hasModifiers = params != ">4" && params != ">4;0"
	case final == 'm':
		s.others.isColored = params != "" && params != "0"
	case final == 'r':
		s.others.hasRegion = params != ""
	case final == 'u' && strings.HasPrefix(params, ">"):
		s.keys++
	case final == 'u' && strings.HasPrefix(params, "<"):
		n, err := strconv.Atoi(params[1:])
		if err != nil {
			n = 1
		}
		s.keys = max(0, s.keys-n)
	}
}

func (s *screen) setMode(mode int, on bool) {
	usual, isFollowed := usualModes[mode]
	if !isFollowed {
		return
	}
	wasOther := s.isOther()
	if s.modes == nil {
		s.modes = map[int]bool{}
	}
	if delete(s.modes, mode); on != usual {
		s.modes[mode] = on
	}
	switch isOther := s.isOther(); {
	case isOther && !wasOther:
		s.wasOpen = s.isOpen
	case wasOther && !isOther:
		s.isOpen = s.wasOpen
	}
}

func (s *screen) isOther() bool {
	return slices.ContainsFunc(otherScreens, func(mode int) bool { return s.modes[mode] })
}

// undone returns what makes a terminal what it was, and nothing if it is. It says no more than it has to: a terminal that
// shows no other screen would move its cursor if it were told to leave it.
func (s *screen) undone() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var text strings.Builder
	for _, mode := range slices.Sorted(maps.Keys(s.modes)) {
		if !slices.Contains(otherScreens, mode) {
			fmt.Fprintf(&text, "\x1b[?%d%c", mode, letterOf(usualModes[mode]))
		}
	}
	if s.keys > 0 {
		fmt.Fprintf(&text, "\x1b[<%du", s.keys)
	}
	for _, other := range []struct {
		is   bool
		text string
	}{
		{s.others.hasModifiers, "\x1b[>4m"},
		{s.others.hasKeypad, "\x1b>"},
		{s.others.hasCharset, "\x1b(B"},
		{s.others.hasRegion, "\x1b7\x1b[r\x1b8"},
		{s.others.isColored, "\x1b[0m"},
	} {
		if other.is {
			text.WriteString(other.text)
		}
	}
	for _, mode := range otherScreens {
		if s.modes[mode] {
			fmt.Fprintf(&text, "\x1b[?%dl", mode)
		}
	}
	if len(s.sequence) > 0 { // one that has no end would take what follows
		return "\x18" + text.String()
	}
	return text.String()
}

// redone returns what brings the modes of a terminal back that undone took.
func (s *screen) redone() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var text strings.Builder
	for _, mode := range slices.Backward(slices.Sorted(maps.Keys(s.modes))) { // other screens first
		fmt.Fprintf(&text, "\x1b[?%d%c", mode, letterOf(s.modes[mode]))
	}
	return text.String()
}

func letterOf(on bool) byte {
	if on {
		return 'h'
	}
	return 'l'
}

// hasOpenLine reports whether the last line has no end.
func (s *screen) hasOpenLine() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isOther() {
		return s.wasOpen
	}
	return s.isOpen
}
