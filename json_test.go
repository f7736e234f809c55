package croft_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft"
)

// TestTypesSurviveJSON: every request and every answer of the Service, events and errors
// are the same after they were sent as JSON. CROFT_LONG=1 tries 10,000 values of each type.
func TestTypesSurviveJSON(t *testing.T) {
	count := 100
	if os.Getenv("CROFT_LONG") != "" {
		count = 10_000
	}
	types := []reflect.Type{reflect.TypeFor[croft.Event](), reflect.TypeFor[croft.Error]()}
	seen := map[reflect.Type]bool{}
	for method := range reflect.TypeFor[croft.Service]().Methods() {
		if m := method.Type; m.NumIn() == 2 {
			types = append(types, m.In(1))
			if out := m.Out(0); out.Kind() == reflect.Pointer {
				types = append(types, out.Elem())
			}
		}
	}
	for _, at := range types {
		if seen[at] {
			continue
		}
		seen[at] = true
		t.Run(at.Name(), func(t *testing.T) {
			t.Parallel()
			g := generator{rand.New(rand.NewPCG(1, uint64(len(at.Name()))))}
			for range count {
				before := reflect.New(at)
				g.fill(before.Elem(), 0)
				text, err := json.Marshal(before.Interface())
				if err != nil {
					t.Fatalf("%+v: %v", before.Elem(), err)
				}
				after := reflect.New(at)
				if err := json.Unmarshal(text, after.Interface()); err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				if diff := cmp.Diff(before.Interface(), after.Interface()); diff != "" {
					t.Fatalf("changed by JSON (-sent +received):\n%s\n%s", diff, text)
				}
			}
		})
	}
	if len(seen) < 90 {
		t.Errorf("%d types were tried", len(seen))
	}
}

// generator makes values that a Service may send: text is valid UTF-8, times are UTC, and
// a list without items is nil.
type generator struct{ *rand.Rand }

const maxDepth = 5

func (g generator) fill(v reflect.Value, depth int) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(g.Int64N(4e9), g.Int64N(1e9)).UTC()))
		return
	case json.RawMessage:
		v.SetBytes(fmt.Appendf(nil, `{"n":%d}`, g.IntN(1000)))
		return
	}
	isLeft := g.IntN(3) == 0 || depth > maxDepth // nil, or empty
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() && field.Tag.Get("json") != "-" {
				g.fill(v.Field(i), depth+1)
			}
		}
	case reflect.Pointer:
		if !isLeft {
			v.Set(reflect.New(v.Type().Elem()))
			g.fill(v.Elem(), depth+1)
		}
	case reflect.Slice:
		if !isLeft {
			v.Set(reflect.MakeSlice(v.Type(), 1+g.IntN(2), 2))
			for i := range v.Len() {
				g.fill(v.Index(i), depth+1)
			}
		}
	case reflect.Map:
		if !isLeft {
			v.Set(reflect.MakeMap(v.Type()))
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			g.fill(key, depth+1)
			g.fill(value, depth+1)
			v.SetMapIndex(key, value)
		}
	case reflect.String:
		v.SetString(g.text())
	case reflect.Bool:
		v.SetBool(g.IntN(2) == 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(g.Int64N(1<<53) - 1<<52)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint:
		v.SetUint(g.Uint64N(200))
	case reflect.Float64:
		v.SetFloat(g.NormFloat64())
	default:
		panic(v.Type().String() + " cannot be generated")
	}
}

func (g generator) text() string {
	var b strings.Builder
	for range g.IntN(8) {
		b.WriteRune([]rune("aZ0 /\\\"<>&\n\t\x00\u00e4\u2028\U0001f33f-:")[g.IntN(18)])
	}
	return b.String()
}
