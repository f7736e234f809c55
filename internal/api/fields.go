package api

import (
	"encoding"
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/croft-sh/croft"
)

// Field is a field of a request, also of one that is embedded in it.
type Field struct {
	Name  string // in JSON
	Type  reflect.Type
	index []int
}

// Fields returns the fields of a request that JSON has.
func Fields(request reflect.Type) []Field {
	var out []Field
	for i := range request.NumField() {
		f := request.Field(i)
		if f.Anonymous {
			for _, inner := range Fields(f.Type) {
				inner.index = append([]int{i}, inner.index...)
				out = append(out, inner)
			}
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			out = append(out, Field{Name: name, Type: f.Type, index: []int{i}})
		}
	}
	return out
}

// in returns the field of a request.
func (f Field) in(request reflect.Value) reflect.Value { return request.FieldByIndex(f.index) }

// fieldOf returns the field of a request that has a name in JSON.
func fieldOf(request reflect.Value, name string) (reflect.Value, bool) {
	for _, f := range Fields(request.Type()) {
		if f.Name == name {
			return f.in(request), true
		}
	}
	return reflect.Value{}, false
}

// text returns the value of a field of a query or of a path.
func text(v reflect.Value) string {
	if m, ok := reflect.TypeAssert[encoding.TextMarshaler](v); ok {
		out, _ := m.MarshalText() // a Duration never fails
		return string(out)
	}
	return fmt.Sprint(v.Interface())
}

// setText sets a field to the value that a query or a path has for it.
func setText(v reflect.Value, s string) error {
	if u, ok := reflect.TypeAssert[encoding.TextUnmarshaler](v.Addr()); ok {
		return u.UnmarshalText([]byte(s))
	}
	if v.Kind() == reflect.String {
		v.SetString(s)
		return nil
	}
	return json.Unmarshal([]byte(s), v.Addr().Interface()) // a number
}

// values returns a field as it stands in a query.
func values(q url.Values, f Field, v reflect.Value) {
	switch {
	case v.IsZero():
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			q.Add(f.Name, text(v.Index(i)))
		}
	case v.Kind() == reflect.Map:
		for it := v.MapRange(); it.Next(); {
			q.Set(f.Name+"["+it.Key().String()+"]", it.Value().String())
		}
	default:
		q.Set(f.Name, text(v))
	}
}

// fromQuery sets the fields of a request that a query names.
func fromQuery(request reflect.Value, q url.Values) error {
	for name, list := range q {
		base, key, isMap := strings.Cut(name, "[")
		key, isClosed := strings.CutSuffix(key, "]")
		v, ok := fieldOf(request, base)
		switch {
		case !ok, isMap != (v.Kind() == reflect.Map), isMap != isClosed:
			return invalid("the request has no parameter %.80q", name)
		case isMap && len(list) != 1:
			return invalid("the parameter %.80q is there %d times", name, len(list))
		case isMap:
			if v.IsNil() {
				v.Set(reflect.MakeMap(v.Type()))
			}
			v.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), reflect.ValueOf(list[0]))
		case v.Kind() == reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), len(list), len(list)))
			for i, s := range list {
				if err := setText(v.Index(i), s); err != nil {
					return invalid("the parameter %.80q cannot be %.80q", name, s)
				}
			}
		case len(list) != 1:
			return invalid("the parameter %.80q is there %d times", name, len(list))
		default:
			if err := setText(v, list[0]); err != nil {
				return invalid("the parameter %.80q cannot be %.80q", name, list[0])
			}
		}
	}
	return nil
}

// checkText refuses texts that are not UTF-8, which JSON would change.
func checkText(v reflect.Value) error {
	switch v.Kind() {
	case reflect.String:
		if !utf8.ValidString(v.String()) {
			return &croft.Error{Code: croft.InvalidName, Message: fmt.Sprintf("%.80q is not UTF-8", v.String())}
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return checkText(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				if err := checkText(v.Field(i)); err != nil {
					return err
				}
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			if err := checkText(v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if err := checkText(it.Key()); err != nil {
				return err
			}
			if err := checkText(it.Value()); err != nil {
				return err
			}
		}
	}
	return nil
}

func invalid(format string, args ...any) error {
	return &croft.Error{Code: croft.InvalidRequest, Message: fmt.Sprintf(format, args...)}
}
