package jsonschema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft"
)

// Generator makes schemas of types.
type Generator struct {
	Comments *Comments
	// Words names, for a field of type string such as "croft.Event.Kind", the type whose
	// words it has.
	Words map[string]string
	// Usual describes texts and times that have no comment, by their names in JSON.
	Usual map[string]string
	// Open are types with constants that are not all values.
	Open []string
	// Null are the fields that are null where others would be empty, by their names in
	// Go, and Absent those that may be absent although their tag does not say so. Types
	// with a MarshalJSON of their own need them.
	Null, Absent []string
	// Empty are the fields whose word may be empty.
	Empty []string
	// Known are the types whose MarshalJSON the fields above describe.
	Known []reflect.Type
}

// Object returns the schema of a struct as a whole, with the types that it is made of in
// $defs.
func (g *Generator) Object(at reflect.Type) (*Schema, error) {
	d := &definitions{g: g, made: map[string]*Schema{}}
	s, err := d.object(at)
	if err != nil {
		return nil, err
	}
	s.Defs = d.sorted()
	return s, nil
}

// definitions collects the named types that a schema refers to.
type definitions struct {
	g    *Generator
	made map[string]*Schema
}

func (d *definitions) sorted() Properties {
	var defs Properties
	for name, s := range d.made {
		defs = append(defs, Property{name, s})
	}
	slices.SortFunc(defs, func(a, b Property) int { return strings.Compare(a.Name, b.Name) })
	return defs
}

// jsonField is a field of a struct, or of one that is embedded in it.
type jsonField struct {
	reflect.StructField
	key        string // package, type and name in Go
	name       string // in JSON
	isOptional bool
	depth      int
}

// fieldsOf returns the fields as encoding/json has them: one of an embedded struct yields
// to one of the same name outside of it.
func fieldsOf(at reflect.Type, depth int) []jsonField {
	var all []jsonField
	for field := range at.Fields() {
		tag := field.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case tag == "-":
		case field.Anonymous && tag == "":
			all = append(all, fieldsOf(field.Type, depth+1)...)
		case field.IsExported():
			all = append(all, jsonField{field, at.String() + "." + field.Name, name, strings.Contains(options, "omit"), depth})
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(f jsonField) bool {
		return slices.ContainsFunc(all, func(other jsonField) bool { return other.name == f.name && other.depth < f.depth })
	})
}

func (d *definitions) object(at reflect.Type) (*Schema, error) {
	if at.Implements(reflect.TypeFor[json.Marshaler]()) && !slices.Contains(d.g.Known, at) {
		return nil, fmt.Errorf("%s has a MarshalJSON, whose JSON is not known", at)
	}
	fields := fieldsOf(at, 0)
	names := map[string]string{}
	for _, f := range fields {
		names[f.Name] = f.name
	}
	comment := d.g.Comments.inJSON(d.g.Comments.Types[at.String()], names)
	if name := at.Name(); name[:1] == strings.ToLower(name[:1]) { // a name that no reader of JSON has seen
		comment = withoutName(comment, name)
	}
	s := &Schema{Type: Types{"object"}, Description: comment}
	for _, f := range fields {
		value, err := d.value(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.key, err)
		}
		if comment := d.g.Comments.Fields[f.key]; comment != "" {
			value.Description = d.g.Comments.inJSON(comment, names)
		} else if f.Type.Kind() == reflect.String || f.Type == reflect.TypeFor[time.Time]() {
			value.Description = d.g.Usual[f.name]
		}
		s.Properties = append(s.Properties, Property{f.name, value})
		if !f.isOptional && !slices.Contains(d.g.Absent, f.key) {
			s.Required = append(s.Required, f.name)
		}
	}
	return s, nil
}

// value returns the schema of a field.
func (d *definitions) value(f jsonField) (*Schema, error) {
	var s *Schema
	var err error
	if words, ok := d.g.Words[f.key]; ok {
		s = d.words(words)
	} else if s, err = d.of(f.Type); err != nil {
		return nil, err
	}
	if slices.Contains(d.g.Empty, f.key) {
		s = &Schema{AnyOf: []*Schema{s, {Const: ""}}}
	}
	isNull := f.Type.Kind() == reflect.Pointer && !f.isOptional || slices.Contains(d.g.Null, f.key)
	switch {
	case isNull && s.Ref != "":
		s = &Schema{AnyOf: []*Schema{s, {Type: Types{"null"}}}}
	case isNull:
		s.Type = append(s.Type, "null")
	}
	return s, nil
}

func (d *definitions) of(at reflect.Type) (*Schema, error) {
	switch at {
	case reflect.TypeFor[time.Time]():
		return &Schema{Type: Types{"string"}, Format: "date-time"}, nil
	case reflect.TypeFor[croft.Duration]():
		return &Schema{Type: Types{"string"}, Pattern: `^-?([0-9.]+(h|m|s|ms|µs|ns))+$`}, nil
	case reflect.TypeFor[json.RawMessage]():
		return &Schema{Type: Types{"object"}}, nil
	case reflect.TypeFor[[]byte]():
		return &Schema{Type: Types{"string"}, ContentEncoding: "base64"}, nil
	}
	switch at.Kind() {
	case reflect.Pointer:
		return d.of(at.Elem())
	case reflect.Slice:
		items, err := d.of(at.Elem())
		return &Schema{Type: Types{"array"}, Items: items}, err
	case reflect.Map:
		values, err := d.of(at.Elem())
		return &Schema{Type: Types{"object"}, Values: values}, err
	case reflect.Struct:
		return d.reference(at)
	case reflect.String:
		if at.PkgPath() == "" {
			return &Schema{Type: Types{"string"}}, nil
		}
		return d.words(at.String()), nil
	case reflect.Bool:
		return &Schema{Type: Types{"boolean"}}, nil
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return &Schema{Type: Types{"integer"}}, nil
	case reflect.Float64:
		return &Schema{Type: Types{"number"}}, nil
	}
	return nil, fmt.Errorf("%s has no schema", at)
}

// reference defines a struct, if it is new, and refers to it.
func (d *definitions) reference(at reflect.Type) (*Schema, error) {
	name := at.Name()
	if _, ok := d.made[name]; !ok {
		d.made[name] = nil // it may refer to itself
		s, err := d.object(at)
		if err != nil {
			return nil, err
		}
		d.made[name] = s
	}
	return &Schema{Ref: defPrefix + name}, nil
}

const defPrefix = "#/$defs/"

// words defines a string type, if it is new, and refers to it.
func (d *definitions) words(at string) *Schema {
	_, name, _ := strings.Cut(at, ".")
	if _, ok := d.made[name]; !ok {
		s := &Schema{Type: Types{"string"}, Description: d.g.Comments.inJSON(d.g.Comments.Types[at], nil)}
		if words := d.g.Comments.Words[at]; !slices.Contains(d.g.Open, at) {
			for _, w := range words {
				if w.Value != "" { // the default, which answers leave out
					s.Enum = append(s.Enum, w.Value)
				}
			}
		}
		d.made[name] = s
	}
	return &Schema{Ref: defPrefix + name}
}
