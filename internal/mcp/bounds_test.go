package mcp

import (
	"fmt"
	"io"
	"log"
	"strings"
	"testing"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/croft-sh/croft"
)

// textOf is the text of a result.
func textOf(t *testing.T, r *sdk.CallToolResult) string {
	t.Helper()
	if len(r.Content) != 1 {
		t.Fatalf("%+v", r)
	}
	return r.Content[0].(*sdk.TextContent).Text
}

// TestLongAnswers: an answer that is longer than hosts take is an error that says so, and so is an error.
func TestLongAnswers(t *testing.T) {
	s := &Server{log: log.New(io.Discard, "", 0)}
	long := object{"text": strings.Repeat("x", maxAnswer)}
	if r := s.result(tool{about: about{name: "diff"}}, long); !r.IsError || !strings.Contains(textOf(t, r), string(croft.LimitReached)) || r.StructuredContent != nil {
		t.Errorf("%.200s", textOf(t, r))
	}
	many := map[string]string{}
	for i := range maxAnswer / 10 {
		many[fmt.Sprint("field", i)] = "value"
	}
	if r := s.errorResult(&croft.Error{Code: croft.InvalidRequest, Message: "no", Fields: many}); !r.IsError || len(textOf(t, r)) > maxAnswer {
		t.Errorf("%d bytes", len(textOf(t, r)))
	}
	if f := s.failureOf(&croft.Error{Code: croft.InvalidRequest, Message: strings.Repeat("ä", maxText), Hint: strings.Repeat("ä", maxText)}); len(f.Message)+len(f.Hint) > 2*maxText+20 {
		t.Errorf("%d and %d bytes", len(f.Message), len(f.Hint))
	}
	if f := s.failureOf(&croft.Error{Code: croft.Internal, Message: "no", Details: "/home/me", Hint: "cd /home/me", Fields: map[string]string{"path": "/home/me"}}); f.Details+f.Hint != "" || f.Fields != nil {
		t.Errorf("what is told of the host: %+v", f)
	}
}

// TestClean: what hides or turns text, or controls a terminal, is taken out everywhere; texts are cut between characters.
func TestClean(t *testing.T) {
	for _, c := range []string{"\x1b", "\x07", "\r", "\u0085", "\u202e", "\u2066", "\U000e0041"} {
		text, err := encode(object{"a" + c: []any{"b" + c, object{"c" + c: "d" + c}}})
		if want := `{"a":["b",{"c":"d"}]}`; err != nil || string(text) != want {
			t.Errorf("%q: %s, %v", c, text, err)
		}
	}
	if got := clean("a\n\tb"); got != "a\n\tb" {
		t.Errorf("%q", got)
	}
	long := strings.Repeat("ä€", 10)
	for n := range len(long) {
		if got, end := cut(long, n), tail(long, n); !utf8.ValidString(got) || !utf8.ValidString(end) {
			t.Errorf("%d: %q, %q", n, got, end)
		}
	}
}
