// Package answer writes the JSON of commands: one object on a line, whose lists are never null and in which
// nothing is that a terminal would act upon.
package answer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/listjson"
	"github.com/croft-sh/croft/internal/parallel"
)

// Marshal returns the line of JSON that a command prints of a value: the version of the JSON, how a state
// was read that cannot be written, if that is so, and the value's own fields.
func Marshal(version int, v any, how *croft.ReadOnlyState) ([]byte, error) {
	text, err := marshalObject(v)
	if err != nil {
		return nil, err
	}
	if how == nil {
		return fmt.Appendf(nil, `{"version":%d,%s`, version, text), nil
	}
	source, err := json.Marshal(how)
	return fmt.Appendf(nil, `{"version":%d,"readOnly":%s,%s`, version, source, text), err
}

// marshalObject returns a value as JSON, without the brace that opens it.
func marshalObject(v any) ([]byte, error) {
	filled := reflect.New(reflect.TypeOf(v))
	filled.Elem().Set(reflect.ValueOf(v))
	text, err := marshalFilled(filled.Elem())
	if err != nil {
		return nil, err
	}
	return escapeUnprintable(text[1:]), nil
}

// fewItems are encoded at once.
const fewItems = 50

// marshalFilled returns a value as JSON with no list that is null. A long list of workspaces that it begins with is encoded on all
// cores.
func marshalFilled(v reflect.Value) ([]byte, error) {
	var list []croft.Workspace
	name := ""
	if v.Kind() == reflect.Struct && v.NumField() > 0 && v.Type().Field(0).Type == reflect.TypeFor[[]croft.Workspace]() && v.Field(0).Len() > fewItems {
		list = slices.Clone(v.Field(0).Interface().([]croft.Workspace))
		name, _, _ = strings.Cut(v.Type().Field(0).Tag.Get("json"), ",")
		parts := slices.Collect(slices.Chunk(list, fewItems))
		parallel.EachLong(len(parts), func(i int) { filler{}.fill(reflect.ValueOf(&parts[i])) })
		v.Field(0).Set(reflect.ValueOf([]croft.Workspace{}))
	}
	filler{}.fill(v)
	var object bytes.Buffer
	enc := json.NewEncoder(&object)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v.Addr().Interface()); err != nil || list == nil {
		return object.Bytes(), err
	}
	return listjson.Encode(object.Bytes(), name, list)
}

// escapeUnprintable escapes in JSON what a terminal would act upon and encoding/json leaves
// as it is: an agent may have written it into a name or a reason. A reader of the JSON gets
// the same text.
func escapeUnprintable(text []byte) []byte {
	isHarmless := func(r rune) bool { return r == '\n' || unicode.IsPrint(r) }
	if isPlainASCII(text) || bytes.IndexFunc(text, func(r rune) bool { return !isHarmless(r) }) < 0 {
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

// isPlainASCII reports whether a text has printable characters of ASCII and line ends only.
func isPlainASCII(text []byte) bool {
	for _, c := range text {
		if c != '\n' && (c < ' ' || c > '~') {
			return false
		}
	}
	return true
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
