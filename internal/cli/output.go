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

// printError prints an error to stderr: what happened, the details, what to run next.
func (a *app) printError(e *croft.Error) {
	a.printErrorAs("croft: ", e)
}

// printErrorAs is printError with a prefix of the caller's choice.
func (a *app) printErrorAs(lead string, e *croft.Error) {
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
	usualWidth    = 80 // of a terminal whose width is not known
	progressAfter = time.Second
	progressEvery = 250 * time.Millisecond
)

// startProgress shows on a terminal that something takes its time: one line that is
// rewritten and at the end erased. The returned function ends it.
func (a *app) startProgress(what string) (stop func()) {
	return a.startProgressOf(func() string { return what })
}

// startProgressOf is startProgress for something that goes through several stages. The
// time is that of the stage.
func (a *app) startProgressOf(stage func() string) (stop func()) {
	if a.env.Terminal != TerminalInteractive || a.quiet || a.json {
		return func() {}
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		showProgress(a.env.Stderr, cmp.Or(a.env.Width, usualWidth), stage, quit)
	}()
	return func() {
		close(quit)
		<-done
	}
}

// showProgress writes over its own line with blanks: every terminal can do
// that, and not every one knows the sequence that erases a line.
func showProgress(w io.Writer, room int, stage func() string, quit <-chan struct{}) {
	start, what := time.Now(), stage()
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
			if now := stage(); now != what {
				start, what = time.Now(), now
			}
			if spent := time.Since(start); width > 0 || spent > progressAfter {
				time := fmt.Sprintf(" … %ds", int(spent.Seconds()))
				line := cutEnd(printable(what), room-1-utf8.RuneCountInString(time)) + time
				was := width
				width = utf8.RuneCountInString(line)
				fmt.Fprint(w, "\r"+line+strings.Repeat(" ", max(was-width, 0)))
				width = max(width, was)
			}
		}
	}
}
