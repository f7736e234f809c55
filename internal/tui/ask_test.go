package tui

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/screen"
)

func asker(keys Keyboard, out *bytes.Buffer, height int) *Asker {
	return &Asker{Keys: keys, Out: out, Stream: screen.Stream{Width: 40, IsASCII: true}, Size: func() (int, int) { return 40, height }}
}

func longPage(n int) Page {
	p := Page{Title: "search-index -> main   file 1 of 2", Question: "apply this hunk? y n q ?", Answers: "ynq", Help: []string{"y - apply it"}}
	for i := range n {
		p.Body = append(p.Body, fmt.Sprintf("+line %d %s", i+1, strings.Repeat("wide ", i)))
	}
	return p
}

// TestAsk: a letter answers, another one does not, and help is shown and goes away.
func TestAsk(t *testing.T) {
	for typed, want := range map[string]rune{"y": 'y', "xXn": 'n', "?~q": 'q', "?yn": 'n', " vvP^E y": 'y', "=Zy": 'y'} {
		var out bytes.Buffer
		keys := typing(typed)
		got, err := asker(keys, &out, 12).Ask(t.Context(), longPage(30))
		if err != nil || got != want || len(keys.keys) > 0 {
			t.Errorf("%q: %c, %v, want %c", typed, got, err, want)
		}
		if strings.Contains(typed, "?") != strings.Contains(out.String(), "y - apply it") {
			t.Errorf("%q: %q", typed, out.String())
		}
	}
	var out bytes.Buffer
	if _, err := asker(typing("~"), &out, 12).Ask(t.Context(), longPage(3)); !errors.Is(err, ErrLeft) {
		t.Error(err)
	}
}

// TestAskHelp: no letter answers below the help, and it says so.
func TestAskHelp(t *testing.T) {
	var out bytes.Buffer
	if key, err := asker(typing("?yn"), &out, 24).Ask(t.Context(), longPage(3)); err != nil || key != 'n' {
		t.Errorf("%c, %v", key, err)
	}
	frames := strings.Split(out.String(), beginFrame)[1:]
	if len(frames) != 3 || !strings.Contains(frames[1], "any key goes back") || strings.Contains(frames[1], "apply this hunk?") || !strings.Contains(frames[2], "apply this hunk?") {
		t.Errorf("%q", frames)
	}
}

// TestAskScrolls: the whole body can be seen, below a title that stays, and no frame is larger than the terminal.
func TestAskScrolls(t *testing.T) {
	for _, height := range []int{5, 12, 24, 60} {
		var out bytes.Buffer
		page := longPage(30)
		page.Body = append(page.Body, "\x1b[32m+harmless"+strings.Repeat(" ", 200)+"harmful\x1b[0m")
		if _, err := asker(typing(strings.Repeat(" ", 150)+"y"), &out, height).Ask(t.Context(), page); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "harmful\x1b[0m"+endLine) {
			t.Errorf("%d rows: the end of a long line is never seen", height)
		}
		seen := map[string]bool{}
		for _, frame := range strings.Split(out.String(), beginFrame)[1:] {
			lines := strings.Split(strings.TrimSuffix(frame, endFrame), endLine)
			if len(lines) > height || !strings.HasPrefix(lines[0], "search-index") || !strings.HasPrefix(lines[len(lines)-1], "apply this hunk?") {
				t.Errorf("%d rows: %q", height, lines)
			}
			for _, line := range lines {
				seen[strings.Join(strings.Fields(line)[:min(2, len(strings.Fields(line)))], " ")] = true
				if screen.Rows(line, 39) > 1 {
					t.Errorf("%q is too wide", line)
				}
			}
		}
		for i := range 30 {
			if want := fmt.Sprintf("+line %d", i+1); !seen[want] {
				t.Errorf("%d rows: %s is never seen", height, want)
			}
		}
	}
}
