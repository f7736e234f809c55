package wire

import (
	"encoding/json"
	"reflect"
	"time"
)

// lostIn compares a value with what came of it after it was JSON, and returns the path of
// the first field that differs; empty if none does. A nil slice or map equals an empty
// one, and a field that is not for other processes, such as the cause of an error, does
// not count.
func lostIn(sent, got any) string { return lost(reflect.ValueOf(sent), reflect.ValueOf(got), "") }

func lost(a, b reflect.Value, at string) string {
	if a.Kind() == reflect.Pointer || a.Kind() == reflect.Interface {
		if a.IsNil() || b.IsNil() {
			return unless(a.IsNil() == b.IsNil(), at)
		}
		return lost(a.Elem(), b.Elem(), at)
	}
	if when, ok := reflect.TypeAssert[time.Time](a); ok {
		return unless(when.Equal(b.Interface().(time.Time)), at)
	}
	if raw, ok := reflect.TypeAssert[json.RawMessage](a); ok {
		return unless(string(raw) == string(b.Interface().(json.RawMessage)), at)
	}
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			field := a.Type().Field(i)
			if field.Tag.Get("json") == "-" {
				continue
			}
			if l := lost(a.Field(i), b.Field(i), at+"."+field.Name); l != "" {
				return l
			}
		}
		return ""
	case reflect.Slice, reflect.Array:
		if a.Len() != b.Len() {
			return at
		}
		for i := range a.Len() {
			if l := lost(a.Index(i), b.Index(i), at+"[]"); l != "" {
				return l
			}
		}
		return ""
	case reflect.Map:
		if a.Len() != b.Len() {
			return at
		}
		for _, k := range a.MapKeys() {
			other := b.MapIndex(k)
			if !other.IsValid() {
				return at
			}
			if l := lost(a.MapIndex(k), other, at+"[]"); l != "" {
				return l
			}
		}
		return ""
	default:
		return unless(reflect.DeepEqual(a.Interface(), b.Interface()), at)
	}
}

func unless(isSame bool, at string) string {
	if isSame {
		return ""
	}
	if at == "" {
		return "it"
	}
	return at
}
