// Package jsonschema makes JSON Schemas (2020-12) of Go types and of their comments, and
// checks JSON against them. It is used by tests, which keep docs/schema and docs/json.md
// as they follow from the code: no released program needs the source.
//
// It knows only the keywords that it writes. Reading a schema with another one fails, so
// that a check never passes over a rule.
package jsonschema

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Draft is the dialect of the schemas.
const Draft = "https://json-schema.org/draft/2020-12/schema"

// Schema is a JSON Schema, or a part of one.
type Schema struct {
	Draft           string     `json:"$schema,omitempty"`
	ID              string     `json:"$id,omitempty"`
	Ref             string     `json:"$ref,omitempty"`
	Title           string     `json:"title,omitempty"`
	Description     string     `json:"description,omitempty"`
	Type            Types      `json:"type,omitempty"`
	Const           any        `json:"const,omitempty"`
	Enum            []any      `json:"enum,omitempty"`
	Format          string     `json:"format,omitempty"`
	Pattern         string     `json:"pattern,omitempty"`
	ContentEncoding string     `json:"contentEncoding,omitempty"`
	Properties      Properties `json:"properties,omitempty"`
	Required        []string   `json:"required,omitempty"`
	Items           *Schema    `json:"items,omitempty"`
	Values          *Schema    `json:"additionalProperties,omitempty"` // of a map
	AnyOf           []*Schema  `json:"anyOf,omitempty"`
	Defs            Properties `json:"$defs,omitempty"`
}

// Types are the types that a value may have. One type is a string in JSON.
type Types []string

// MarshalJSON implements json.Marshaler.
func (t Types) MarshalJSON() ([]byte, error) {
	if len(t) == 1 {
		return json.Marshal(t[0])
	}
	return json.Marshal([]string(t))
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Types) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = Types{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(t))
}

// Property is a named schema.
type Property struct {
	Name   string
	Schema *Schema
}

// Properties are named schemas in the order in which JSON has them.
type Properties []Property

// Get returns the schema of a name, or nil.
func (p Properties) Get(name string) *Schema {
	for _, property := range p {
		if property.Name == name {
			return property.Schema
		}
	}
	return nil
}

// MarshalJSON implements json.Marshaler.
func (p Properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, property := range p {
		if i > 0 {
			b.WriteByte(',')
		}
		value, err := encode(property.Schema)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%q:%s", property.Name, value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *Properties) UnmarshalJSON(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if _, err := dec.Token(); err != nil {
		return err
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		property := Property{Name: fmt.Sprint(name), Schema: &Schema{}}
		if err := dec.Decode(property.Schema); err != nil {
			return fmt.Errorf("%s: %w", property.Name, err)
		}
		*p = append(*p, property)
	}
	return nil
}

// Parse reads a schema. A keyword that this package does not know is an error.
func Parse(text []byte) (*Schema, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	var s Schema
	return &s, dec.Decode(&s)
}

// Text returns a schema as a file has it.
func (s *Schema) Text() ([]byte, error) {
	line, err := encode(s)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = json.Indent(&b, line, "", "  ")
	b.WriteByte('\n')
	return b.Bytes(), err
}

// encode writes JSON without escapes for HTML, and without the newline that a json.Encoder
// adds.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
