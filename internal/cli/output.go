package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/answer"
	"github.com/croft-sh/croft/internal/cli/results"
	"github.com/croft-sh/croft/internal/cli/wording"
	"github.com/croft-sh/croft/internal/screen"
)

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

// emit prints a value of one of the types of Answers, with the version of the JSON before
// its own fields: on one line for programs, indented for people.
func (a *app) emit(v any) {
	text, err := answer.Marshal(FormatVersion, v, a.readOnly)
	if err != nil {
		a.out.err = cmp.Or(a.out.err, err)
		return
	}
	if a.env.Width > 0 {
		var object bytes.Buffer
		_ = json.Indent(&object, text, "", "  ") // it is valid: it was just made
		text = object.Bytes()
	}
	_, _ = a.out.Write(text) // output remembers a failure
	a.hasAnswered = true
}

// emitLine prints a value like emit, on one line also for people: more follow.
func (a *app) emitLine(v any) {
	text, err := answer.Marshal(FormatVersion, v, a.readOnly)
	if err != nil {
		a.out.err = cmp.Or(a.out.err, err)
		return
	}
	_, _ = a.out.Write(text) // output remembers a failure
}

// MarshalAnswer returns the line that a command prints of a value of one of the types of
// Answers.
func MarshalAnswer(v any) ([]byte, error) { return answer.Marshal(FormatVersion, v, nil) }

// printLine prints a line of data.
func (a *app) printLine(text string) {
	fmt.Fprintln(a.out, text) // output remembers it
}

// note makes a remark, unless remarks are not wanted. On a terminal it is wrapped there, with commands whole.
func (a *app) note(format string, args ...any) {
	if a.quiet || a.silent {
		return
	}
	text := printable(fmt.Sprintf(format, args...))
	to := a.stderr()
	if hint, ok := strings.CutPrefix(text, hintLead); ok {
		fmt.Fprintln(a.env.Stderr, hintLine(to, hint))
		return
	}
	for _, line := range wrapSentence(to, "", text) {
		fmt.Fprintln(a.env.Stderr, line)
	}
}

// hintLead stands before a command to run next.
const hintLead = "hint: "

// hintLine is the line of a command to run next, which is never divided.
func hintLine(to screen.Stream, hint string) string {
	return to.Line(screen.Span{Text: hintLead, Style: styleBold.And(styleCyan)}, command(hint))
}

// wrapSentence wraps a sentence with a lead in front, below which its lines stand indented, as wide as its
// stream. On a pipe it is one line.
func wrapSentence(to screen.Stream, lead, text string) []string {
	if !to.IsTerminal() {
		return []string{lead + text}
	}
	if screen.Width(lead+text) <= to.Width {
		return []string{to.Paint(lead, styleBold.And(styleRed)) + to.Line(results.Sentence(text)...)}
	}
	rest := strings.TrimLeft(text, " ")
	indent := text[:len(text)-len(rest)]
	lines, after := []string{}, indent
	if lead != "" {
		after += columnGap
	}
	room := min(to.Width, widestProse) - max(screen.Width(lead), screen.Width(after))
	for i, spans := range screen.WrapSpans(results.Sentence(rest), room, to.Signs().Cut) {
		before := indent + to.Paint(lead, styleBold.And(styleRed))
		if i > 0 {
			before = after
		}
		lines = append(lines, before+to.Line(spans...))
	}
	return lines
}

// hasWord reports whether a text has a word, with no letter or digit before or after it.
func hasWord(text, word string) bool {
	isPart := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	for rest := text; ; {
		before, after, found := strings.Cut(rest, word)
		if !found {
			return false
		}
		last, _ := utf8.DecodeLastRuneInString(text[:len(text)-len(rest)+len(before)])
		next, _ := utf8.DecodeRuneInString(after)
		if !isPart(last) && !isPart(next) {
			return true
		}
		_, size := utf8.DecodeRuneInString(word)
		rest = rest[len(before)+size:]
	}
}

// printError prints an error to stderr: what happened, the details, what to run next.
func (a *app) printError(e *croft.Error) {
	a.printErrorAs("croft: ", e)
}

// printErrorAs is printError with a prefix of the caller's choice.
func (a *app) printErrorAs(lead string, e *croft.Error) {
	to := a.stderr()
	e = wording.OfError(e, a.env.Now(), a.shownPath)
	message := printable(e.Message)
	if e.Workspace != "" && !hasWord(e.Message, e.Workspace) {
		message = printable(e.Workspace) + ": " + message
	}
	lines := wrapSentence(to, lead, message)
	for line := range strings.Lines(detailsOf(e)) {
		if line = printable(strings.TrimRight(line, "\r\n")); line != "" {
			lines = append(lines, wrapSentence(to, "", columnGap+line)...)
		}
	}
	if e.Hint != "" {
		lines = append(lines, hintLine(to, printable(e.Hint)))
	}
	fmt.Fprintln(a.env.Stderr, strings.Join(lines, "\n")) // there is nowhere left to tell it
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

const (
	usualWidth    = 80 // of a terminal whose width is not known
	progressAfter = time.Second
	progressEvery = 250 * time.Millisecond
)

// startProgress shows on a terminal that something takes its time: one line that is
// rewritten and at the end erased. The returned function ends it.
func (a *app) startProgress(what string) (stop func()) {
	return a.startProgressOf(func() workStage { return workStage{text: what} })
}

// workStage is what takes its time, and how far it has come, if that is known.
type workStage struct{ text, count string }

// line is the stage on a line of at most room columns, with the time that it has taken.
func (s workStage) line(spent time.Duration, running string, room int) string {
	if s.count == "" {
		took := fmt.Sprintf(" … %ds", int(spent.Seconds()))
		return cutEnd(printable(s.text), room-1-screen.Width(took)) + took
	}
	rest := columnGap + s.count + ", " + wording.Took(spent)
	lead := running + " "
	return lead + cutEnd(printable(s.text), room-1-screen.Width(lead)-screen.Width(rest)) + rest
}

// startProgressOf is startProgress for something that goes through several stages. The
// time is that of the stage.
func (a *app) startProgressOf(now func() workStage) (stop func()) {
	if a.env.Terminal != TerminalInteractive || a.env.IsDumb || a.quiet || a.json {
		return func() {}
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		showProgress(a.env.Stderr, cmp.Or(a.env.Width, usualWidth), a.stderr().Signs().Of(screen.Going), now, quit)
	}()
	return func() {
		close(quit)
		<-done
	}
}

// showProgress writes over its own line with blanks: every terminal can do
// that, and not every one knows the sequence that erases a line.
func showProgress(w io.Writer, room int, running string, now func() workStage, quit <-chan struct{}) {
	start, what := time.Now(), now().text
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
			is := now()
			if is.text != what {
				start, what = time.Now(), is.text
			}
			if spent := time.Since(start); width > 0 || spent > progressAfter {
				line := is.line(spent, running, room)
				was := width
				width = screen.Width(line)
				fmt.Fprint(w, "\r"+line+strings.Repeat(" ", max(was-width, 0)))
				width = max(width, was)
			}
		}
	}
}
