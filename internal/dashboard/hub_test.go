package dashboard

import (
	"context"
	"hash/maphash"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/croft-sh/croft"
)

// silent is a Service without events.
type silent struct{ croft.UnimplementedService }

// TestHubCutsWhoIsBehind: a reader that takes nothing is cut when it is too far behind, is not waited
// for, and the others get everything.
func TestHubCutsWhoIsBehind(t *testing.T) {
	h := newHub(silent{}, nil)
	makePage := func(context.Context, extent) (*made, error) { return &made{}, nil }
	slow, _ := h.join("p", "", makePage)
	quick, _ := h.join("p", "", makePage)
	s := h.screens["p"]
	done := make(chan int)
	go func() {
		n := 0
		for range quick.messages {
			n++
			if n == 3*maxBehind {
				break
			}
		}
		done <- n
	}()
	for range 3 * maxBehind {
		h.send(s, slow, message{"element", "x"})
		h.send(s, quick, message{"element", "x"})
		time.Sleep(time.Millisecond / 4)
	}
	select {
	case n := <-done:
		if n != 3*maxBehind {
			t.Errorf("the quick reader got %d messages", n)
		}
	case <-time.After(10 * time.Second):
		t.Error("the quick reader waits")
	}
	if !slow.isCut || s.readers[slow] {
		t.Fatal("the slow reader was not cut")
	}
	n := 0
	for range slow.messages { // it ends
		n++
	}
	if n != maxBehind {
		t.Errorf("the slow reader got %d messages", n)
	}
	h.leave("p", slow)
	h.leave("p", quick)
	if h.readers != 0 || len(h.screens) != 0 || h.stop != nil {
		t.Errorf("%d readers, %d screens are left", h.readers, len(h.screens))
	}
}

// TestJoinLosesNothing: when a reader comes, those who were there before get what has changed until then.
func TestJoinLosesNothing(t *testing.T) {
	h := newHub(silent{}, nil)
	var text atomic.Value
	text.Store("one")
	calls := make(chan struct{}, 100)
	makePage := func(context.Context, extent) (*made, error) {
		now, _ := text.Load().(string)
		calls <- struct{}{}
		return &made{isWhole: true, watch: func(*croft.Event) bool { return true }, elements: []element{{maphash.String(seedOfTest, now), now}}}, nil
	}
	next := func(r *reader) string {
		t.Helper()
		select {
		case m := <-r.messages:
			return m.data
		case <-time.After(5 * time.Second):
			t.Fatal("nothing came")
			return ""
		}
	}
	first, _ := h.join("p", "", makePage)
	if got := next(first); got != "one" {
		t.Fatalf("the first reader got %q", got)
	}
	<-calls
	<-calls // the tail has begun, and had the page made again
	text.Store("two")
	second, _ := h.join("p", "", makePage)
	if got := next(second); got != "two" {
		t.Errorf("the second reader got %q", got)
	}
	for next(first) != "two" { // what it has may come again
	}
	h.leave("p", first)
	h.leave("p", second)
}

var seedOfTest = maphash.MakeSeed()

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b[31mred\x1b[0m":                          "red",
		"\x1b]0;title\x07text":                        "text",
		"\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\": "link",
		"\x1bPq#0\x1b\\x":                             "x",
		"10%\r20%\r100%\ndone\r\n":                    "100%\ndone\n",
		"a\x00b\x08c":                                 "a\uFFFDb\uFFFDc",
		"\xff\xfe":                                    "\uFFFD",
		"\u202eevil\u2066":                            "\uFFFDevil\uFFFD",
		"\u009b31mx":                                  "x",
		"👨\u200d👩":                                    "👨\u200d👩",
		"\x1b":                                        "\uFFFD",
		"\x1b[":                                       "",
	} {
		if got := plain([]byte(in)); got != want {
			t.Errorf("plain(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestFilterOverWrites(t *testing.T) {
	var b strings.Builder
	f := &filter{w: &b}
	for _, c := range []byte("a\u202eb\x1bc–\xff") {
		if _, err := f.Write([]byte{c}); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.String(); got != "a\uFFFDb\uFFFDc–\uFFFD" && got != "a\uFFFDb\uFFFDc–" {
		t.Errorf("filtered: %q", got)
	}
}

func TestEventTextHasNoOtherFields(t *testing.T) {
	got := eventText(message{"element", "a\n\nevent: reload\r\ndata: x\rid: 1"})
	for line := range strings.SplitSeq(strings.TrimSuffix(got, "\n\n"), "\n") {
		if line != "event: element" && !strings.HasPrefix(line, "data: ") {
			t.Errorf("a line of its own: %q", line)
		}
	}
}

// TestKeyOfForms: the key of a form, which is another one each time, is no change of its element; other fields are.
func TestKeyOfForms(t *testing.T) {
	seed := maphash.MakeSeed()
	html := func(here string) string { return "<form>" + string(formFields(&frame{Here: here})) + "</form>" }
	one, two := html("/"), html("/")
	if one == two || keyOf(seed, region{}, one) != keyOf(seed, region{}, two) {
		t.Errorf("%s and %s", one, two)
	}
	if keyOf(seed, region{}, one) == keyOf(seed, region{}, html("/new")) {
		t.Error("a form of another page is the same")
	}
}
