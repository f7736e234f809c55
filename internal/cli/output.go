package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/croft-sh/croft"
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
	text, err := marshalAnswer(v, a.readOnly)
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
}

// emitLine prints a value like emit, on one line also for people: more follow.
func (a *app) emitLine(v any) {
	text, err := marshalAnswer(v, a.readOnly)
	if err != nil {
		a.out.err = cmp.Or(a.out.err, err)
		return
	}
	_, _ = a.out.Write(text) // output remembers a failure
}

// MarshalAnswer returns the line that a command prints of a value of one of the types of
// Answers.
func MarshalAnswer(v any) ([]byte, error) { return marshalAnswer(v, nil) }

// marshalAnswer is MarshalAnswer with how a state was read that cannot be written.
func marshalAnswer(v any, how *croft.ReadOnlyState) ([]byte, error) {
	text, err := marshalObject(v)
	if err != nil {
		return nil, err
	}
	if how == nil {
		return fmt.Appendf(nil, `{"version":%d,%s`, FormatVersion, text), nil
	}
	source, err := json.Marshal(how)
	return fmt.Appendf(nil, `{"version":%d,"readOnly":%s,%s`, FormatVersion, source, text), err
}

// marshalObject returns a value as JSON, without the brace that opens it.
func marshalObject(v any) ([]byte, error) {
	filled := reflect.New(reflect.TypeOf(v))
	filled.Elem().Set(reflect.ValueOf(v))
	filler{}.fill(filled)
	var object bytes.Buffer
	enc := json.NewEncoder(&object)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(filled.Interface()); err != nil {
		return nil, err
	}
	return escapeUnprintable(object.Bytes()[1:]), nil
}

// escapeUnprintable escapes in JSON what a terminal would act upon and encoding/json leaves
// as it is: an agent may have written it into a name or a reason. A reader of the JSON gets
// the same text.
func escapeUnprintable(text []byte) []byte {
	isHarmless := func(r rune) bool { return r == '\n' || unicode.IsPrint(r) }
	if bytes.IndexFunc(text, func(r rune) bool { return !isHarmless(r) }) < 0 {
		return text
	}
	var out []byte
	for _, r := range string(text) {
		if isHarmless(r) {
			out = utf8.AppendRune(out, r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			out = fmt.Appendf(out, `\u%04x`, unit)
		}
	}
	return out
}

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

// filler makes every list and map empty that is nil and that JSON would show as null: null
// means that something is not known. It remembers which fields of a type it has to look at,
// because a list may have a thousand items.
type filler map[reflect.Type][]fillField

type fillField struct {
	index      int
	isOptional bool // it is left out if it is nil
}

func (f filler) fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			f.fill(v.Elem())
		}
	case reflect.Slice:
		if !f.isFilled(v.Type()) {
			return
		}
		if v.IsNil() {
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		}
		if f.isFilled(v.Type().Elem()) {
			for i := range v.Len() {
				f.fill(v.Index(i))
			}
		}
	case reflect.Map:
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
		for key, value := range v.Seq2() {
			if value.Kind() == reflect.Slice && value.IsNil() {
				v.SetMapIndex(key, reflect.MakeSlice(value.Type(), 0, 0))
			}
		}
	case reflect.Struct:
		for _, field := range f.fieldsOf(v.Type()) {
			if value := v.Field(field.index); !field.isOptional || !value.IsNil() {
				f.fill(value)
			}
		}
	}
}

func (f filler) fieldsOf(at reflect.Type) []fillField {
	if fields, ok := f[at]; ok {
		return fields
	}
	var fields []fillField
	for i := range at.NumField() {
		if field := at.Field(i); field.IsExported() && f.isFilled(field.Type) {
			isOptional := field.Type.Kind() != reflect.Struct && strings.Contains(field.Tag.Get("json"), ",omit")
			fields = append(fields, fillField{i, isOptional})
		}
	}
	f[at] = fields
	return fields
}

// isFilled reports whether a value of a type is a list or a map, or may have one in it.
func (filler) isFilled(at reflect.Type) bool {
	switch at.Kind() {
	case reflect.Slice:
		return at.Elem().Kind() != reflect.Uint8 // bytes
	case reflect.Pointer, reflect.Map, reflect.Struct:
		return at != reflect.TypeFor[time.Time]()
	}
	return false
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
	if a.env.Terminal != TerminalInteractive || a.env.IsDumb || a.quiet || a.json {
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
