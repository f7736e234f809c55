package plaintext

import "testing"

// TestStrip: sequences of terminals go, whole or cut into pieces; text stays.
func TestStrip(t *testing.T) {
	for text, want := range map[string]string{
		"plain\ntext\t":                             "plain\ntext\t",
		"\x1b[31mred\x1b[0m":                        "red",
		"\x1b[?2004h> ls\x1b[K":                     "> ls",
		"\x1b]0;title\x07after":                     "after",
		"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\":  "link",
		"\x1bPzz\x1b\\x":                            "x",
		"\x1b(Bascii":                               "ascii",
		"\x1b\x1b[1mbold":                           "bold",
		"\x1b[31\nbroken off":                       "broken off",
		"umlauts äöü and 漢字":                        "umlauts äöü and 漢字",
		"cut \x1b[":                                 "cut ",
		"Tasks:\x1b(B\x0f 94\x07\x00\x08 total\r\n": "Tasks: 94 total\r\n",
	} {
		if got := Strip(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		var f Filter
		var pieces []byte
		for i := range len(text) {
			pieces = append(pieces, f.Strip([]byte{text[i]})...)
		}
		if string(pieces) != want {
			t.Errorf("%q in pieces: %q, want %q", text, pieces, want)
		}
	}
}
