package recording

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

func shown(t *testing.T, chunks ...string) string {
	t.Helper()
	var screen Terminal
	for _, chunk := range chunks {
		if _, err := screen.Write([]byte(chunk)); err != nil {
			t.Fatalf("%q: %v", chunk, err)
		}
	}
	r := Recording{}
	r.Add(0, screen.Rows())
	return r.Text()
}

func TestTerminal(t *testing.T) {
	for name, tt := range map[string]struct {
		chunks []string
		want   string
	}{
		"lines":                      {[]string{"one\r\ntwo  \r\n"}, "one\ntwo\n"},
		"a line is written over":     {[]string{"12 of 50\r\n", "\r\x1b[1A13\x1b[K\r\n\x1b[J"}, "13\n"},
		"lines are taken away":       {[]string{"a\r\nb\r\nc\r\n\r\x1b[2A\x1b[Jd\r\n"}, "a\nd\n"},
		"a character in two pieces":  {[]string{"\xe2\x9c", "\x93 done"}, "✓ done\n"},
		"a sequence in two pieces":   {[]string{"a\x1b[", "31mb\x1b[0m"}, "ab\n"},
		"a second screen comes back": {[]string{"before\r\n\x1b[?2004h\x1b[?1049h\x1b[?25l\x1b[?2026h\x1b[Hlist\x1b[K\r\n\x1b[J\x1b[?2026l", "\x1b[?25h\x1b[?1049l\x1b[?2004lafter"}, "before\nafter\n"},
	} {
		if got := shown(t, tt.chunks...); got != tt.want {
			t.Errorf("%s: %q, and not %q", name, got, tt.want)
		}
	}
}

// TestUnknown: a picture never lacks what a terminal would have shown.
func TestUnknown(t *testing.T) {
	for _, text := range []string{"\x1b[2K", "\x1b[48;5;1m", "\x1b[?7h", "\x1b]0;title", "a\tb", "\x1b[3B"} {
		var screen Terminal
		_, err := screen.Write([]byte(text + "m"))
		if err == nil {
			t.Errorf("%q is taken for known", text)
		}
	}
}

func TestSVG(t *testing.T) {
	r := Recording{Title: "a <title> & more", Columns: 80}
	var screen Terminal
	for i, chunk := range []string{"\x1b[1m$\x1b[0m croft\r\n", "\x1b[34m◐\x1b[0m a  working\r\n", "\r\x1b[1A\x1b[32m●\x1b[0m a  pending <b>\x1b[K\r\n"} {
		_, _ = screen.Write([]byte(chunk))
		r.Add(time.Duration(i)*time.Second, screen.Rows())
	}
	svg := r.SVG()
	decoder := xml.NewDecoder(strings.NewReader(string(svg)))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if got, want := TextOf(svg), "$ croft\n● a  pending <b>\n"; got != want {
		t.Errorf("the text is %q, and not %q", got, want)
	}
	for _, want := range []string{
		`<g class="s" style="animation-duration:0.00s"><text x="16" y="62" class="b">$</text>`,
		`<g class="o" style="animation-duration:1.00s;animation-delay:1.00s"><text x="16" y="82" class="c34">◐</text>`,
		`<g class="s" style="animation-duration:2.00s"><text x="16" y="82" class="c32">●</text><text x="32.8" y="82">a</text><text x="58" y="82" textLength="92.4">pending &lt;b&gt;</text>`,
	} {
		if !strings.Contains(string(svg), want) {
			t.Errorf("%s is not in\n%s", want, svg)
		}
	}
	for _, elsewhere := range []string{"href", "url(", "@import"} {
		if strings.Contains(string(svg), elsewhere) {
			t.Errorf("the picture loads something: %s", elsewhere)
		}
	}
}
