package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/croft-sh/croft"
)

// formatVersion is the version of the JSON that every command prints.
const formatVersion = 1

// output remembers the first failure to write, so that a full disk is not
// taken for success.
type output struct {
	w   io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err != nil && o.err == nil {
		o.err = err
	}
	return n, err
}

// emit prints one JSON object: on one line for programs, indented for people.
func (a *app) emit(v any) {
	enc := json.NewEncoder(a.out)
	enc.SetEscapeHTML(false)
	if a.env.Width > 0 {
		enc.SetIndent("", "  ")
	}
	if err := enc.Encode(v); err != nil && a.out.err == nil {
		a.out.err = err
	}
}

// line prints a line of data.
func (a *app) line(text string) {
	fmt.Fprintln(a.out, text) // output remembers it
}

// note makes a remark, unless remarks are not wanted.
func (a *app) note(format string, args ...any) {
	if a.quiet || a.silent {
		return
	}
	fmt.Fprintln(a.env.Stderr, printable(fmt.Sprintf(format, args...)))
}

// tell tells an error: what happened, the details, what to run next.
func (a *app) tell(e *croft.Error) {
	a.tellAs("croft: ", e)
}

func (a *app) tellAs(lead string, e *croft.Error) {
	var b strings.Builder
	b.WriteString(lead)
	if e.Workspace != "" && !strings.Contains(e.Message, e.Workspace) {
		b.WriteString(printable(e.Workspace) + ": ")
	}
	b.WriteString(printable(e.Message) + "\n")
	for line := range strings.Lines(detailsOf(e)) {
		if line = printable(strings.TrimRight(line, "\r\n")); line != "" {
			b.WriteString("  " + line + "\n")
		}
	}
	if e.Hint != "" {
		b.WriteString("hint: " + printable(e.Hint) + "\n")
	}
	fmt.Fprint(a.env.Stderr, b.String()) // there is nowhere left to tell it
}

// detailsOf adds the cause, which a person can often do something about. That
// of an interruption says nothing new.
func detailsOf(e *croft.Error) string {
	if e.Err == nil || e.Code == croft.Canceled {
		return e.Details
	}
	cause := e.Err.Error()
	switch {
	case e.Details == "":
		return cause
	case strings.Contains(e.Details, cause):
		return e.Details
	default:
		return e.Details + "\n" + cause
	}
}

// nonNil makes sure that an empty list is [] in JSON, not null.
func nonNil[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}
