package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
)

// ReadJSON reads a JSON object into a request; no data is an empty object. It refuses what
// encoding/json passes over, because two readers could take it for two requests: a key twice, a
// key in other letters than the field has, a key that the request does not have, and text after
// the object.
func ReadJSON(data []byte, request any) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil // all fields have their defaults
	}
	d := json.NewDecoder(bytes.NewReader(data))
	err := checkKeys(d, reflect.TypeOf(request).Elem(), 0)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("there is something after the object")
		}
	}
	if err == nil {
		err = json.Unmarshal(data, request)
	}
	if err != nil {
		return invalid("the body cannot be read: %.200s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// maxDepth is how deep the objects and lists of a request may lie in each other.
const maxDepth = 32

// checkKeys reads one value and compares the keys of its objects with the fields of a type. A
// nil type has no fields to compare with.
func checkKeys(d *json.Decoder, typ reflect.Type, depth int) error {
	token, err := d.Token()
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	if err != nil {
		return err
	}
	begin, ok := token.(json.Delim)
	if !ok {
		return nil
	}
	if depth == maxDepth {
		return errors.New("it is nested too deeply")
	}
	seen := map[string]bool{}
	within := fieldsOf(typ)
	for d.More() {
		inner := within.all
		if begin == '{' {
			token, err := d.Token()
			if err != nil {
				return err
			}
			key, _ := token.(string)
			if seen[key] {
				return invalid("%.80q is there twice", key)
			}
			seen[key] = true
			if within.byName != nil {
				if inner, ok = within.byName[key]; !ok {
					return invalid("there is no field %.80q", key)
				}
			}
		}
		if err := checkKeys(d, inner, depth+1); err != nil {
			return err
		}
	}
	_, err = d.Token() // the end of the object or list
	return err
}

// inside says which types the parts of a value have.
type inside struct {
	byName map[string]reflect.Type // of a struct: the fields
	all    reflect.Type            // of a list or a map: the elements
}

func fieldsOf(typ reflect.Type) inside {
	for typ != nil && typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if typ == nil || reflect.PointerTo(typ).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return inside{}
	}
	switch typ.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		return inside{all: typ.Elem()}
	case reflect.Struct:
		in := inside{byName: map[string]reflect.Type{}}
		for _, f := range Fields(typ) {
			in.byName[f.Name] = f.Type
		}
		return in
	}
	return inside{}
}
