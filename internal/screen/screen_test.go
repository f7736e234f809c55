package screen

import (
	"strings"
	"testing"
)

// TestWidth: a text is as wide as it is on a terminal, not as long as it is in memory.
func TestWidth(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "fix-login": 9, "検索": 4, "e\u0301": 1, "🚀": 2, "👩‍🚀": 2, "🇩🇪": 2, "✗●◐○✓›…→−↑↓·│◓◑◒": 16, "\uFFFD": 1,
	} {
		if got := Width(text); got != want {
			t.Errorf("Width(%q) = %d, want %d", text, got, want)
		}
	}
}

// TestCut: what is left fits, and no character is divided.
func TestCut(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{CutEnd("fix-login", 9, "…"), "fix-login"},
		{CutEnd("fix-login", 8, "…"), "fix-log…"},
		{CutEnd("検索検索", 6, "…"), "検索…"},
		{CutEnd("a👩‍🚀b👩‍🚀", 4, ".."), "a.."},
		{CutMiddle("upgrade-dependencies-2026", 16, "…"), "upgrade-…es-2026"},
		{CutMiddle("upgrade-dependencies-2026", 16, ".."), "upgrade..es-2026"},
		{CutMiddle("検索検索検索", 7, "…"), "検…索"},
		{CutMiddle("検索検索検索", 12, "…"), "検索検索検索"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
	for _, text := range []string{"plain-name-of-a-workspace", "検索検索検索検索検索", strings.Repeat("👩‍🚀🇩🇪e\u0301", 9)} {
		for room := 3; room < Width(text); room++ {
			for _, cut := range []string{CutEnd(text, room, "…"), CutMiddle(text, room, "…")} {
				if got := Width(cut); got > room || got < room-2 {
					t.Errorf("%q in %d columns is %q, %d wide", text, room, cut, got)
				}
			}
		}
	}
}

func TestWrap(t *testing.T) {
	got := strings.Join(Wrap("its work  goes back to 検索検索検索検索 again", 11), "|")
	if want := "its work|goes back|to|検索検索検索検索|again"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestWrapSpans: no line is wider than its room but a command that is wider, which stands alone; no word is lost, and a
// path shows where it begins and ends.
func TestWrapSpans(t *testing.T) {
	run := func(text string) Span { return Span{text, Cyan} }
	for _, tt := range []struct {
		room  int
		spans []Span
		want  string
	}{
		{20, []Span{{"in the trash: ", Plain}, run("croft restore a"), {" brings it back", Dim}}, "in the trash:|croft restore a|brings it back"},
		{40, []Span{{"in the trash: ", Plain}, run("croft restore a")}, "in the trash: croft restore a"},
		{15, []Span{{"it waits: ", Plain}, run("croft restore a"), {", or not", Plain}}, "it waits:|croft restore a|or not"},
		{12, []Span{{"it waits: ", Plain}, run("croft restore a"), {", or ", Plain}, run("croft undo"), {", too", Plain}}, "it waits:|croft restore a|or|croft undo,|too"},
		{12, []Span{{"a ", Plain}, {"croft restore a", Dim.And(Cyan)}}, "a|croft restore a"},
		{12, []Span{run("croft restore a")}, "croft restore a"},
		{10, []Span{{"at src/deeper/and/deeper.go now", Plain}}, "at|src/d…r.go|now"},
		{10, []Span{{"検索検索検索検索 and", Plain}}, "検索検索検|索検索 and"},
		{10, []Span{{"abcdefghijklmnopqrstuvwxyz", Plain}}, "abcdefghij|klmnopqrst|uvwxyz"},
		{10, []Span{{"so see", Plain}, {"(a)", Plain}, {" then", Plain}}, "so see(a)|then"},
		{10, []Span{{"and so see", Plain}, {"(a)", Plain}}, "and so|see(a)"},
		{10, []Span{{" ", Plain}, {"a", Plain}, {" ", Plain}, {"b", Plain}}, "a b"},
		{10, nil, ""},
	} {
		var lines []string
		for _, cell := range WrapSpans(tt.spans, tt.room, "…") {
			if line := cell.text(); Width(line) > tt.room && !strings.HasPrefix(line, "croft restore a") {
				t.Errorf("%d columns: %q is wider", tt.room, line)
			}
			lines = append(lines, cell.text())
		}
		if got := strings.Join(lines, "|"); got != tt.want {
			t.Errorf("%d columns:\n got %q\nwant %q", tt.room, got, tt.want)
		}
	}
}

// TestPrintable: nothing of a text that an agent wrote is a command to the terminal, changes the
// direction of writing, or is invisible.
func TestPrintable(t *testing.T) {
	if got, want := Printable("a\x1b[2J\u202eb\u200bc\u0007\u009b"), "a\uFFFD[2J\uFFFDb\uFFFDc\uFFFD\uFFFD"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestPrintableShowsWhatIsThere: two texts that differ do not look alike, and nobody's marks cover other lines.
func TestPrintableShowsWhatIsThere(t *testing.T) {
	for text, want := range map[string]string{
		"fix\u034f": "fix\uFFFD", "\u3164": "\uFFFD", "\u115f\u1160\uffa0": "\uFFFD\uFFFD\uFFFD", "a\u2800b": "a\uFFFDb", "a\ufe0f": "a\uFFFD", "a\ufe00\U000E0101": "a\uFFFD\uFFFD",
		"\u2764\ufe0f": "\u2764\ufe0f", "e\u0301": "e\u0301", "\u091c\u093c\u0940\u0902": "\u091c\u093c\u0940\u0902", "\ud55c\uae00": "\ud55c\uae00",
		"a\u0301\u0301\u0301\u0301b\u0301": "a\u0301\u0301\u0301\uFFFDb\u0301",
	} {
		if got := Printable(text); got != want {
			t.Errorf("%+q is shown as %+q, want %+q", text, got, want)
		}
	}
	if got := Width("x\u0903\u0903"); got != 3 {
		t.Errorf("marks that take columns: %d, want 3", got)
	}
	if got := CutEnd("x\u0903\u0903yz", 4, "…"); Width(got) > 4 {
		t.Errorf("%q is wider than 4", got)
	}
}

// TestSigns: a program reads the same signs in every locale, and a terminal without Unicode gets
// none of it.
func TestSigns(t *testing.T) {
	for _, s := range []Stream{{}, {Width: 80, IsASCII: true}} {
		signs := s.Signs()
		text := signs.Spell("a → b … −1 ↑2 ↓3 · │ ›")
		for _, k := range Kinds() {
			text += signs.Of(k)
		}
		if want := "a -> b .. -1 ^2 v3 . | >x!*~.="; text != want {
			t.Errorf("%+v: %q, want %q", s, text, want)
		}
	}
	seen := map[string]bool{}
	for _, k := range Kinds() {
		sign := Stream{Width: 80}.Signs().Of(k)
		if seen[sign] || Width(sign) != 1 || k.Style() == Plain {
			t.Errorf("kind %d has the sign %q and the style %q", k, sign, k.Style())
		}
		seen[sign] = true
	}
	if got := (Stream{}).Mark(Done) + (Stream{Width: 80, IsColor: true}).Mark(Stuck); got != "\x1b[31m✗\x1b[0m " {
		t.Errorf("marks %q", got)
	}
}

// TestTableYields: columns go in the order of the steps, and no further than they must.
func TestTableYields(t *testing.T) {
	table := func() *Table {
		return &Table{
			Columns: []Column{{Key: "A", Heading: "A"}, {Key: "N", Heading: "N", IsRight: true}, {Key: "B", Heading: "B"}, {Key: "C", Heading: "C"}},
			Rows: [][]Cell{
				{Text("検索検索", Plain), Text("7", Plain), Text("because", Dim), Text("run this", Cyan)},
				{Text("ab", Plain), Text("123", Plain), nil, nil},
			},
		}
	}
	steps := []Step{
		Shrink("B", 4, func(text string, room int) string { return CutEnd(text, room, "…") }),
		Drop("B"), Change("C", "C2", func(string, int) string { return "this" }), Below("C"),
	}
	for width, want := range map[int]string{
		40: "A           N  B        C|検索検索    7  because  run this|ab        123",
		30: "A           N  B      C|検索検索    7  beca…  run this|ab        123",
		23: "A           N  C|検索検索    7  run this|ab        123",
		20: "A           N  C2|検索検索    7  this|ab        123",
		13: "A           N|検索検索    7|      this|ab        123",
	} {
		got := table()
		if !got.Fit(width, steps...) {
			t.Errorf("%d columns are not enough", width)
		}
		text := strings.Join(append([]string{got.Heading(Stream{})}, got.Body(Stream{})...), "|")
		if text != want {
			t.Errorf("%d columns:\n got %q\nwant %q", width, text, want)
		}
	}
	if table().Fit(5, steps...) {
		t.Error("5 columns are enough")
	}
}

// TestFold: a line that is too wide has all of its text in several, each of which is painted by itself.
func TestFold(t *testing.T) {
	for _, tt := range []struct {
		line string
		room int
		want string
	}{
		{"", 5, ""},
		{"12345", 5, "12345"},
		{"123456", 5, "12345|6"},
		{"a\x1b[1mbcd\x1b[0mefg", 3, "a\x1b[1mbc\x1b[0m|\x1b[1md\x1b[0mef|g"},
		{"\x1b[32m検索検索\x1b[0m", 5, "\x1b[32m検索\x1b[0m|\x1b[32m検索\x1b[0m"},
		{"検索", 1, "検|索"},
	} {
		if got := strings.Join(Fold(tt.line, tt.room), "|"); got != tt.want {
			t.Errorf("%q in %d columns:\n got %q\nwant %q", tt.line, tt.room, got, tt.want)
		}
	}
}

// TestPaintedText: escape sequences take no columns, and what is cut has none.
func TestPaintedText(t *testing.T) {
	painted := "a\x1b[31mred\x1b[0m b\x1b[1;2m検索\x1b[0m"
	if got := CutPainted(painted, 10, "…"); got != painted {
		t.Errorf("%q", got)
	}
	if got := CutPainted(painted, 8, "…"); got != "ared b…" {
		t.Errorf("%q", got)
	}
	for text, want := range map[string]int{"": 0, "\n": 1, "a": 1, "a\n": 1, "a\n\nb": 3, strings.Repeat("検", 10): 2, painted + "\n": 1, strings.Repeat(painted, 2): 2, strings.Repeat("x", 21): 3} {
		if got := Rows(text, 10); got != want {
			t.Errorf("Rows(%q) = %d, want %d", text, got, want)
		}
	}
}
