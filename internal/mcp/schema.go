package mcp

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// object is a JSON object: a schema, or the arguments of a call.
type object = map[string]any

// argumentsOf returns the schema of the arguments of a tool, made of its Go type. The tags of
// a field are its rules: desc, enum (words with | between them), min, max, minLength,
// maxLength, minItems, maxItems, pattern, and required.
func argumentsOf(t reflect.Type) object {
	s := structOf(t, func(f reflect.StructField) bool { return f.Tag.Get("required") != "" })
	s["additionalProperties"] = false
	return s
}

// answerOf returns the schema of the answer of a tool. Fields that are always there are required.
func answerOf(t reflect.Type) object {
	return structOf(t, func(f reflect.StructField) bool { return !strings.HasSuffix(f.Tag.Get("json"), ",omitempty") })
}

func structOf(t reflect.Type, isRequired func(reflect.StructField) bool) object {
	properties, required := object{}, []any{}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		properties[name] = fieldOf(f, isRequired)
		if isRequired(f) {
			required = append(required, name)
		}
	}
	s := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

func fieldOf(f reflect.StructField, isRequired func(reflect.StructField) bool) object {
	s := typeOf(f.Type, isRequired)
	rules := s
	if items, ok := s["items"].(object); ok && f.Tag.Get("pattern") != "" {
		rules = items
	}
	if text := f.Tag.Get("pattern"); text != "" {
		rules["pattern"] = text
	}
	if text := f.Tag.Get("desc"); text != "" {
		s["description"] = text
	}
	for tag, key := range map[string]string{"min": "minimum", "max": "maximum", "minLength": "minLength", "maxLength": "maxLength", "minItems": "minItems", "maxItems": "maxItems"} {
		if n, err := strconv.ParseFloat(f.Tag.Get(tag), 64); err == nil {
			s[key] = n
		}
	}
	if words := f.Tag.Get("enum"); words != "" {
		delete(s, "type")
		list := []any{}
		for word := range strings.SplitSeq(words, "|") {
			list = append(list, word)
		}
		s["enum"] = list
	}
	return s
}

func typeOf(t reflect.Type, isRequired func(reflect.StructField) bool) object {
	switch t.Kind() {
	case reflect.Pointer:
		return typeOf(t.Elem(), isRequired)
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int:
		return object{"type": "integer"}
	case reflect.Slice:
		return object{"type": "array", "items": typeOf(t.Elem(), isRequired)}
	case reflect.Struct:
		return structOf(t, isRequired)
	default: // a map: its fields are not promised
		return object{"type": "object"}
	}
}

// checkArguments decodes arguments and holds them to a schema that argumentsOf made.
func checkArguments(schema object, arguments json.RawMessage) error {
	if len(arguments) == 0 {
		arguments = []byte("{}")
	}
	var value any
	if err := json.Unmarshal(arguments, &value); err != nil {
		return fmt.Errorf("arguments are not JSON: %w", err)
	}
	return check(schema, value, "arguments")
}

func check(s object, value any, at string) error {
	if enum, ok := s["enum"].([]any); ok && !slices.ContainsFunc(enum, func(word any) bool { return word == value }) {
		return fmt.Errorf("%s: %.80q is none of %v", at, fmt.Sprint(value), enum)
	}
	want, _ := s["type"].(string)
	switch v := value.(type) {
	case string:
		if want != "string" && want != "" {
			return fmt.Errorf("%s must be of type %s", at, want)
		}
		return checkText(s, v, at)
	case bool:
		if want != "boolean" {
			return fmt.Errorf("%s must be of type %s", at, want)
		}
	case float64:
		if want != "integer" || v != math.Trunc(v) {
			return fmt.Errorf("%s must be of type %s", at, want)
		}
		return checkRange(s, v, "minimum", "maximum", at)
	case []any:
		if want != "array" {
			return fmt.Errorf("%s must be of type %s", at, want)
		}
		for i, item := range v {
			if err := check(s["items"].(object), item, fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
		return checkRange(s, float64(len(v)), "minItems", "maxItems", at)
	case object:
		if want != "object" {
			return fmt.Errorf("%s must be of type %s", at, want)
		}
		return checkObject(s, v, at)
	default: // null
		return fmt.Errorf("%s must be of type %s", at, want)
	}
	return nil
}

func checkObject(s, v object, at string) error {
	properties, _ := s["properties"].(object)
	required, _ := s["required"].([]any)
	for _, name := range required {
		if _, ok := v[name.(string)]; !ok {
			return fmt.Errorf("%s: %q is missing", at, name)
		}
	}
	for name, item := range v {
		property, ok := properties[name].(object)
		if !ok {
			return fmt.Errorf("%s: %.80q is unknown", at, name)
		}
		if err := check(property, item, at+"."+name); err != nil {
			return err
		}
	}
	return nil
}

func checkText(s object, text, at string) error {
	if pattern, ok := s["pattern"].(string); ok && !regexp.MustCompile(pattern).MatchString(text) {
		return fmt.Errorf("%s: %.80q does not match %s", at, text, pattern)
	}
	return checkRange(s, float64(utf8.RuneCountInString(text)), "minLength", "maxLength", at)
}

func checkRange(s object, n float64, least, most, at string) error {
	if low, ok := s[least].(float64); ok && n < low {
		return fmt.Errorf("%s: %s is %v", at, least, low)
	}
	if high, ok := s[most].(float64); ok && n > high {
		return fmt.Errorf("%s: %s is %v", at, most, high)
	}
	return nil
}
