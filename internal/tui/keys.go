package tui

import (
	"context"
	"unicode/utf8"
)

// Kind says which key was typed.
type Kind int

// The kinds of keys, and what else a keyboard tells.
const (
	Rune      Kind = iota // a character
	Enter                 // the choice is made
	Escape                // nothing is chosen
	Interrupt             // ctrl-c, ctrl-d or ctrl-\
	Suspend               // ctrl-z
	Backspace
	EraseWord // ctrl-w
	EraseLine // ctrl-u
	Tab
	Up
	Down
	PageUp
	PageDown
	Home
	End
	Redraw // the size of the terminal has changed, or another program has written on it
	Other  // a key that means nothing
)

// Key is a key that was typed.
type Key struct {
	Kind Kind
	Rune rune // of the kind Rune
}

// Keyboard tells the keys that a person types.
type Keyboard interface {
	// Next waits for a key. It fails if the context ends, or if nobody can type any more.
	Next(ctx context.Context) (Key, error)
	// Suspend gives the terminal back, stops this process with its group until a shell lets it go on, and takes
	// the terminal again.
	Suspend()
	// Close gives the terminal back.
	Close()
}

// The bytes of keys.
const (
	escape   = 0x1b
	ctrlC    = 0x03
	ctrlD    = 0x04
	ctrlH    = 0x08
	ctrlN    = 0x0e
	ctrlP    = 0x10
	ctrlU    = 0x15
	ctrlW    = 0x17
	ctrlZ    = 0x1a
	ctrlBack = 0x1c // ctrl-\
	deleted  = 0x7f
)

// The sequences by which a terminal brackets what is pasted.
const (
	pasteBegins  = "\x1b[200~"
	pasteEnds    = "\x1b[201~"
	pasteSwitch  = "\x1b[?2004h"
	pasteSwitch0 = "\x1b[?2004l"
)

// maxSequence is longer than a sequence of a key is.
const maxSequence = 16

// decoder makes keys of bytes.
type decoder struct {
	typed    []byte
	isPasted bool // what comes was pasted: no character of it is a command
}

// next returns the next key, and false if more bytes are needed. isAll says that none follow: an escape is the key
// then, and not the beginning of a sequence.
func (d *decoder) next(isAll bool) (Key, bool) {
	for len(d.typed) > 0 {
		key, size := d.decode(isAll)
		if size == 0 {
			return Key{}, false
		}
		sequence := string(d.typed[:size])
		d.typed = d.typed[size:]
		switch {
		case sequence == pasteBegins || sequence == pasteEnds:
			d.isPasted = sequence == pasteBegins
		case d.isPasted && key.Kind != Rune:
		default:
			return key, true
		}
	}
	return Key{}, false
}

// decode returns the first key of what was typed, and how many bytes it has: 0, if more are needed.
func (d *decoder) decode(isAll bool) (Key, int) {
	first := d.typed[0]
	if first == escape {
		return decodeSequence(d.typed, isAll)
	}
	if kind, ok := map[byte]Kind{
		'\r': Enter, '\n': Enter, '\t': Tab, ctrlC: Interrupt, ctrlD: Interrupt, ctrlBack: Interrupt, ctrlZ: Suspend,
		ctrlH: Backspace, deleted: Backspace, ctrlW: EraseWord, ctrlU: EraseLine, ctrlP: Up, ctrlN: Down,
	}[first]; ok {
		return Key{Kind: kind}, 1
	}
	if first < ' ' {
		return Key{Kind: Other}, 1
	}
	if !utf8.FullRune(d.typed) && !isAll {
		return Key{}, 0
	}
	r, size := utf8.DecodeRune(d.typed)
	return Key{Kind: Rune, Rune: r}, size
}

// decodeSequence decodes a key that begins with an escape.
func decodeSequence(typed []byte, isAll bool) (Key, int) {
	if len(typed) == 1 {
		if isAll {
			return Key{Kind: Escape}, 1
		}
		return Key{}, 0
	}
	if typed[1] != '[' && typed[1] != 'O' {
		if typed[1] == escape {
			return Key{Kind: Escape}, 1
		}
		return Key{Kind: Other}, 2 // a key with alt
	}
	for i := 2; i < len(typed); i++ {
		if c := typed[i]; c >= 0x40 && c <= 0x7e {
			return Key{Kind: kindOf(string(typed[2 : i+1]))}, i + 1
		}
		if i >= maxSequence {
			return Key{Kind: Other}, i + 1
		}
	}
	if isAll {
		return Key{Kind: Other}, len(typed)
	}
	return Key{}, 0
}

// kindOf returns the kind of a key by the sequence behind its introducer.
func kindOf(sequence string) Kind {
	kind, ok := map[string]Kind{
		"A": Up, "B": Down, "H": Home, "F": End, "1~": Home, "7~": Home, "4~": End, "8~": End, "5~": PageUp, "6~": PageDown, "Z": Up,
	}[sequence]
	if !ok {
		return Other
	}
	return kind
}
