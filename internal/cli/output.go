package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

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

// emit prints a value that is a JSON object, with the version of the JSON before its
// own fields: on one line for programs, indented for people.
func (a *app) emit(v any) {
	var object bytes.Buffer
	enc := json.NewEncoder(&object)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		a.out.err = cmp.Or(a.out.err, err)
		return
	}
	text := fmt.Appendf(nil, `{"version":%d,%s`, formatVersion, object.Bytes()[1:])
	if a.env.Width > 0 {
		object.Reset()
		_ = json.Indent(&object, text, "", "  ") // it is valid: it was just made
		text = object.Bytes()
	}
	_, _ = a.out.Write(text) // output remembers a failure
}

// emitAs prints a JSON object that has one field beside its version.
func (a *app) emitAs(name string, value any) { a.emit(map[string]any{name: value}) }

// printLine prints a line of data.
func (a *app) printLine(text string) {
	fmt.Fprintln(a.out, text) // output remembers it
}

// note makes a remark, unless remarks are not wanted.
func (a *app) note(format string, args ...any) {
	if a.quiet || a.silent {
		return
	}
	fmt.Fprintln(a.env.Stderr, printable(fmt.Sprintf(format, args...)))
}

// tellError tells an error: what happened, the details, what to run next.
func (a *app) tellError(e *croft.Error) {
	a.tellErrorAs("croft: ", e)
}

func (a *app) tellErrorAs(lead string, e *croft.Error) {
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

// detailsOf is the details of an error and its cause, unless the details have it or the
// error is an interruption.
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

const (
	progressAfter = time.Second
	progressEvery = 250 * time.Millisecond
)

// progress shows on a terminal that something takes its time: one line that
// is rewritten and at the end erased. The returned function ends it.
func (a *app) progress(what string) (stop func()) {
	if a.env.Terminal != TerminalInteractive || a.quiet || a.json {
		return func() {}
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		showProgress(a.env.Stderr, what, quit)
	}()
	return func() {
		close(quit)
		<-done
	}
}

// showProgress writes over its own line with blanks: every terminal can do
// that, and not every one knows the sequence that erases a line.
func showProgress(w io.Writer, what string, quit <-chan struct{}) {
	start := time.Now()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	width := 0
	for {
		select {
		case <-quit:
			if width > 0 {
				fmt.Fprint(w, "\r"+strings.Repeat(" ", width)+"\r")
			}
			return
		case <-tick.C:
			if spent := time.Since(start); spent > progressAfter {
				line := fmt.Sprintf("%s … %ds", what, int(spent.Seconds()))
				width = utf8.RuneCountInString(line) // it never gets shorter
				fmt.Fprint(w, "\r"+line)
			}
		}
	}
}
