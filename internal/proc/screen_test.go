package proc

import "testing"

// TestScreen: what is left switched on is switched off, and nothing else; whether the last line has an end is known.
func TestScreen(t *testing.T) {
	for _, c := range []struct {
		printed, undone string
		isOpen          bool
	}{
		{"", "", false},
		{"text\n", "", false},
		{"text", "", true},
		{"text\r\n\x1b[0m", "", false},
		{"\x1b[31mred", "\x1b[0m", true},
		{"\x1b[31mred\x1b[m\n", "", false},
		{"open\x1b[?1049h\x1b[?25l\x1b[2J\x1b[?1000;1006h\x1b[?2004hfull\n", "\x1b[?25h\x1b[?1000l\x1b[?1006l\x1b[?2004l\x1b[?1049l", true},
		{"line\n\x1b[?1049h\x1b[Hfull\x1b[?1049l", "", false},
		{"\x1b[?1049h\x1b[?25l\x1bc", "", false},
		{"\x1b]0;a title\x07", "", false},
		{"\x1b]0;a title\x1b\\x\n", "", false},
		{"\x1b]0;cut off", "\x18", false},
		{"\x1b[>1u\x1b[>1u\x1b[<u", "\x1b[<1u", false},
		{"\x1b[2;10r\x1b(0\x1b=", "\x1b>\x1b(B\x1b7\x1b[r\x1b8", false},
		{"\x1b[?12345h\x1b[?7l", "\x1b[?7h", false},
	} {
		whole, bytewise := &screen{}, &screen{}
		_, _ = whole.Write([]byte(c.printed))
		for i := range len(c.printed) {
			_, _ = bytewise.Write([]byte{c.printed[i]})
		}
		for _, s := range []*screen{whole, bytewise} {
			if s.undone() != c.undone || s.hasOpenLine() != c.isOpen {
				t.Errorf("%q: %q, open: %v", c.printed, s.undone(), s.hasOpenLine())
			}
		}
	}
	s := &screen{}
	_, _ = s.Write([]byte("\x1b[?25l\x1b[?1049h"))
	if s.redone() != "\x1b[?1049h\x1b[?25l" {
		t.Errorf("redone: %q", s.redone())
	}
}
