package jsonschema

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Strictness says what Validate thinks of a property that a schema does not name.
type Strictness int

const (
	// Lenient allows it, as the schema does: fields are added.
	Lenient Strictness = iota
	// Strict refuses it, so that no field is without a schema.
	Strict
)

// Validate checks a value, as encoding/json decodes it into an any.
func (s *Schema) Validate(value any, how Strictness) error {
	return validator{s, how}.check(s, value, "")
}

type validator struct {
	root *Schema
	how  Strictness
}

func (v validator) check(s *Schema, value any, at string) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("%s: %s", strings.TrimPrefix(at, "."), fmt.Sprintf(format, args...))
	}
	if name, ok := strings.CutPrefix(s.Ref, defPrefix); ok {
		def := v.root.Defs.Get(name)
		if def == nil {
			return fail("the schema does not define %s", name)
		}
		if err := v.check(def, value, at); err != nil {
			return err
		}
	}
	if len(s.AnyOf) > 0 {
		var failures []error
		for _, one := range s.AnyOf {
			failures = append(failures, v.check(one, value, at))
		}
		if !slices.Contains(failures, nil) {
			return errors.Join(failures...)
		}
	}
	if len(s.Type) > 0 && !slices.ContainsFunc(s.Type, func(name string) bool { return isOfType(value, name) }) {
		return fail("%v is no %s", value, strings.Join(s.Type, " or "))
	}
	if s.Const != nil && !reflect.DeepEqual(value, s.Const) {
		return fail("%v is not %v", value, s.Const)
	}
	if len(s.Enum) > 0 && !slices.Contains(s.Enum, value) {
		return fail("%v is none of %v", value, s.Enum)
	}
	switch value := value.(type) {
	case string:
		if err := checkText(s, value); err != nil {
			return fail("%v", err)
		}
	case []any:
		for i, item := range value {
			if s.Items == nil {
				break
			}
			if err := v.check(s.Items, item, fmt.Sprintf("%s.%d", at, i)); err != nil {
				return err
			}
		}
	case map[string]any:
		return v.checkObject(s, value, at)
	}
	return nil
}

func (v validator) checkObject(s *Schema, object map[string]any, at string) error {
	for _, name := range s.Required {
		if _, ok := object[name]; !ok {
			return fmt.Errorf("%s.%s is missing", at, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		property := s.Properties.Get(name)
		switch {
		case property != nil:
		case s.Values != nil:
			property = s.Values
		case v.how == Strict && len(s.Properties) > 0:
			return fmt.Errorf("%s.%s is not in the schema", at, name)
		default:
			continue
		}
		if err := v.check(property, object[name], at+"."+name); err != nil {
			return err
		}
	}
	return nil
}

func isOfType(value any, name string) bool {
	switch value := value.(type) {
	case nil:
		return name == "null"
	case string:
		return name == "string"
	case bool:
		return name == "boolean"
	case float64:
		return name == "number" || name == "integer" && value == math.Trunc(value)
	case []any:
		return name == "array"
	case map[string]any:
		return name == "object"
	}
	return false
}

func checkText(s *Schema, text string) error {
	if s.Format == "date-time" {
		if _, err := time.Parse(time.RFC3339Nano, text); err != nil {
			return err
		}
	}
	if s.Pattern != "" && !regexp.MustCompile(s.Pattern).MatchString(text) {
		return fmt.Errorf("%q does not match %s", text, s.Pattern)
	}
	if s.ContentEncoding != "" {
		if _, err := base64.StdEncoding.DecodeString(text); err != nil {
			return err
		}
	}
	return nil
}
