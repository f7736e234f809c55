package tui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/screen"
)

// hands types keys one after the other.
type hands struct {
	keys      []Key
	suspended int
}

func (h *hands) Next(ctx context.Context) (Key, error) {
	if len(h.keys) == 0 {
		<-ctx.Done()
		return Key{}, context.Cause(ctx)
	}
	key := h.keys[0]
	h.keys = h.keys[1:]
	return key, nil
}

func (h *hands) Suspend() { h.suspended++ }
func (h *hands) Close()   {}

// typing are the keys of a text, in which "^" is up, "v" down, "!" enter, "~" escape, "<" backspace.
func typing(text string) *hands {
	h := &hands{}
	for _, r := range text {
		kind, ok := map[rune]Kind{'^': Up, 'v': Down, '!': Enter, '~': Escape, '<': Backspace, '=': Redraw, 'Z': Suspend, 'P': PageDown, 'E': End}[r]
		if !ok {
			h.keys = append(h.keys, Key{Rune: r})
			continue
		}
		h.keys = append(h.keys, Key{Kind: kind})
	}
	return h
}

func picker(keys Keyboard, out *bytes.Buffer, many bool, names ...string) Picker {
	return Picker{
		Question: "which?", Verb: "takes it", IsMany: many, Names: names, Keys: keys, Out: out,
		Stream: screen.Stream{Width: 80, IsASCII: true},
		Size:   func() (int, int) { return 60, 24 },
		Lines: func(int) (string, []string) {
			var lines []string
			for _, name := range names {
				lines = append(lines, name+" is "+screen.Stream{IsColor: true}.Paint("ready", screen.Green))
			}
			return "NAME", lines
		},
	}
}

// TestPick: what is typed, arrows and space choose as they say.
func TestPick(t *testing.T) {
	names := []string{"fix-login", "search-index", "Fix-cache"}
	for typed, want := range map[string][]int{
		"!": {0}, "v!": {1}, "^!": {2}, "fix!": {0}, "fixv!": {2}, "CACHE!": {2}, "sx<<!": {1}, "nothing!<<<<<<<!": {0}, "EE!": {2}, "P!": {2}, "=Zv!": {1},
		"in!": {0}, "ind!": {1}, " v!": {1}, "login<<<<<!": {0}, "cache<<<<<!": {1}, "-cache<v!": {2},
	} {
		var out bytes.Buffer
		keys := typing(typed)
		got, err := picker(keys, &out, false, names...).Pick(t.Context())
		if err != nil || !slices.Equal(got, want) || len(keys.keys) > 0 {
			t.Errorf("%q: %v, %v, want %v", typed, got, err, want)
		}
	}
	for typed, want := range map[string][]int{"v !": {1}, "v ^^ !": {1, 0}, " ^ v!": {2}, "search !": {1}, "cache <<<<<fix !": {2, 0}} {
		var out bytes.Buffer
		got, err := picker(typing(typed), &out, true, names...).Pick(t.Context())
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("several, %q: %v, %v, want %v", typed, got, err, want)
		}
	}
}

// TestPickIsLeft: nothing is chosen by leaving, and the lines go away.
func TestPickIsLeft(t *testing.T) {
	var out bytes.Buffer
	if got, err := picker(typing("fix~!"), &out, true, "fix-login").Pick(t.Context()); !errors.Is(err, ErrLeft) || got != nil {
		t.Errorf("%v, %v", got, err)
	}
	if !strings.HasSuffix(out.String(), "\r\x1b[J"+showCursor) {
		t.Errorf("%q is left on the terminal", out.String())
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	signal := errors.New("terminated")
	cancel(signal)
	if got, err := picker(typing(""), &out, true, "fix-login").Pick(ctx); !errors.Is(err, signal) || got != nil {
		t.Errorf("%v, %v", got, err)
	}
}

// TestPickFits: no line is as wide as the terminal, and no more lines are shown than it has.
func TestPickFits(t *testing.T) {
	var names []string
	for i := range 40 {
		names = append(names, fmt.Sprintf("workspace-%02d-%s", i, strings.Repeat("検", i)))
	}
	for _, size := range [][2]int{{80, 24}, {20, 8}, {12, 5}, {2, 2}, {200, 50}} {
		var out bytes.Buffer
		p := picker(typing("vvvvvvvvvvvvPv^E!"), &out, true, names...)
		p.Size = func() (int, int) { return size[0], size[1] }
		if _, err := p.Pick(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, frame := range strings.Split(out.String(), hideCursor)[1:] {
			text, _, _ := strings.Cut(strings.TrimPrefix(frame, "\r\x1b[J"), "\r\x1b[")
			lines := strings.Split(text, "\r\n")
			if len(lines) > max(maxRows+3, 4) || len(lines) > size[1] && size[1] > 4 {
				t.Errorf("%v: %d lines", size, len(lines))
			}
			for _, line := range lines {
				if line = screen.CutPainted(line, 0, ""); screen.Width(line) >= size[0] {
					t.Errorf("%v: %q is too wide", size, line)
				}
			}
		}
	}
}

// TestPickGoesToTheBeginning: what begins with the typed word comes before what has it in it.
func TestPickGoesToTheBeginning(t *testing.T) {
	var out bytes.Buffer
	got, err := picker(typing("cache!"), &out, false, "a", "no-cache", "cache-2").Pick(t.Context())
	if err != nil || !slices.Equal(got, []int{2}) {
		t.Errorf("%v, %v", got, err)
	}
}

// TestPickIsAsWideAsItSays: what is as wide as it was asked to be is not cut.
func TestPickIsAsWideAsItSays(t *testing.T) {
	var out bytes.Buffer
	p := picker(typing("!"), &out, true, "fix-login")
	p.Lines = func(width int) (string, []string) {
		return strings.Repeat("-", width-4) + "head", []string{strings.Repeat("-", width-4) + "tail"}
	}
	if _, err := p.Pick(t.Context()); err != nil || !strings.Contains(out.String(), "-head") || !strings.Contains(out.String(), "-tail") {
		t.Errorf("%v, %q", err, out.String())
	}
}
