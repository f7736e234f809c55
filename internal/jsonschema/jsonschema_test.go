package jsonschema

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
)

// Noun is for tests.
type Noun struct {
	ID    croft.ID        `json:"id"`
	State croft.State     `json:"state,omitempty"`
	Since time.Time       `json:"since,omitzero"`
	Took  croft.Duration  `json:"took,omitempty"`
	Parts []Part          `json:"parts"`
	Env   map[string]int  `json:"env,omitempty"`
	Raw   []byte          `json:"raw,omitempty"`
	Inner *Noun           `json:"inner"`
	Any   json.RawMessage `json:"any,omitempty"`
	Part
}

// Part is embedded, and in a list.
type Part struct {
	ID   int  `json:"id"` // yields to that of Noun
	IsOn bool `json:"on"`
}

func nounSchema(t *testing.T) *Schema {
	t.Helper()
	comments, err := ReadComments(nil, "../..")
	if err != nil {
		t.Fatal(err)
	}
	s, err := (&Generator{Comments: comments}).Object(reflect.TypeFor[Noun]())
	if err != nil {
		t.Fatal(err)
	}
	text, err := s.Text()
	if err != nil {
		t.Fatal(err)
	}
	if s, err = Parse(text); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestValidate(t *testing.T) {
	s := nounSchema(t)
	for _, tc := range []struct {
		name, json, want string
	}{
		{"least", `{"id":"a","parts":[],"on":true,"inner":null}`, ""},
		{"all", `{"id":"a","state":"ready","since":"2026-01-02T03:04:05Z","took":"1m0.5s","parts":[{"id":1,"on":false}],` +
			`"env":{"A":1},"raw":"aGk=","on":true,"any":{"x":1},"inner":{"id":"b","parts":[],"on":false,"inner":null}}`, ""},
		{"missing", `{"id":"a","parts":[],"inner":null}`, "on is missing"},
		{"missing below", `{"id":"a","parts":[{"id":1}],"on":true,"inner":null}`, "parts.0.on is missing"},
		{"another type", `{"id":1,"parts":[],"on":true,"inner":null}`, "1 is no string"},
		{"no integer", `{"id":"a","parts":[{"id":1.5,"on":true}],"on":true,"inner":null}`, "1.5 is no integer"},
		{"null", `{"id":"a","parts":null,"on":true,"inner":null}`, "is no array"},
		{"an unknown word", `{"id":"a","state":"gone","parts":[],"on":true,"inner":null}`, "gone is none of"},
		{"no time", `{"id":"a","since":"today","parts":[],"on":true,"inner":null}`, "cannot parse"},
		{"no duration", `{"id":"a","took":"1","parts":[],"on":true,"inner":null}`, "does not match"},
		{"no base64", `{"id":"a","raw":"?","parts":[],"on":true,"inner":null}`, "illegal base64"},
		{"a value of a map", `{"id":"a","env":{"A":"1"},"parts":[],"on":true,"inner":null}`, "1 is no integer"},
		{"in a pointer", `{"id":"a","parts":[],"on":true,"inner":{"id":"b"}}`, "is missing"},
		{"unknown", `{"id":"a","parts":[],"on":true,"inner":null,"more":1}`, "more is not in the schema"},
		{"unknown below", `{"id":"a","parts":[{"id":1,"on":true,"more":1}],"on":true,"inner":null}`, "more is not in the schema"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var value any
			if err := json.Unmarshal([]byte(tc.json), &value); err != nil {
				t.Fatal(err)
			}
			err := s.Validate(value, Strict)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if strings.Contains(tc.want, "not in the schema") && s.Validate(value, Lenient) != nil {
				t.Error("a field that was added is refused")
			}
		})
	}
}

// TestParseRefusesUnknownKeywords: a rule that is not checked is not passed over.
func TestParseRefusesUnknownKeywords(t *testing.T) {
	for _, text := range []string{`{"maxLength":1}`, `{"properties":{"a":{"minimum":1}}}`, `{"$defs":{"a":{"oneOf":[]}}}`} {
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("%s was read", text)
		}
	}
}

type ownJSON struct{}

func (ownJSON) MarshalJSON() ([]byte, error) { return []byte(`1`), nil }

// TestOwnJSON: a type that writes its own JSON has no schema by reflection.
func TestOwnJSON(t *testing.T) {
	if _, err := (&Generator{Comments: &Comments{}}).Object(reflect.TypeFor[ownJSON]()); err == nil {
		t.Error("a schema was made")
	}
}

func TestComments(t *testing.T) {
	c, err := ReadComments(map[string]string{"Event": "EventKind"}, "../..")
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"croft.Snapshot.Commit":    "it hangs on a ref under refs/croft/snapshot/",
		"croft.Workspace.Env":      "what a process that works here should have in its environment.",
		"croft.Workspace.IsLocked": "",
	} {
		if got := c.Fields[key]; got != want && want != "" {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
	for key, want := range map[string]string{
		"croft.Workspace.KeptUntil":   "RemovedAt is when it went to the trash, and KeptUntil how long it can be restored",
		"croft.Workspace.FaultReason": "what kept the last attempt to put its files back",
	} {
		if got := c.Fields[key]; !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want the sentence that names it: %q", key, got, want)
		}
	}
	var kinds []string
	for _, w := range c.Words["croft.EventKind"] {
		kinds = append(kinds, w.Value)
	}
	if !slices.Equal(kinds, croft.EventKinds()) {
		t.Errorf("kinds of events: %v", kinds)
	}
	if got := c.inJSON("Fault says, with ScopeAll and [Radar.Conflicts], what Planned is", map[string]string{"Fault": "fault"}); got != "fault says, with all and Radar.Conflicts, what Planned is" {
		t.Errorf("in JSON: %q", got)
	}
}

func TestPromises(t *testing.T) {
	object := func(properties ...Property) *Schema { return &Schema{Properties: properties} }
	text, number := &Schema{Type: Types{"string"}}, &Schema{Type: Types{"integer"}}
	before := object(Property{"a", text}, Property{"b", text})
	before.Required = []string{"b"}
	before.Defs = Properties{{"Word", &Schema{Enum: []any{"x", "y"}}}}
	promised := Promises{}
	promised.Add("it", before)
	version, read, err := ParsePromises(promised.Text(7))
	if err != nil || version != 7 || !reflect.DeepEqual(read, promised) || len(read) != 4 {
		t.Fatalf("version %d, %v, %v", version, read, err)
	}
	for name, tc := range map[string]struct {
		change func(s *Schema)
		want   string
	}{
		"nothing":           {func(*Schema) {}, ""},
		"a field is added":  {func(s *Schema) { s.Properties = append(s.Properties, Property{"c", text}) }, ""},
		"always there now":  {func(s *Schema) { s.Required = []string{"a", "b"} }, ""},
		"a field is gone":   {func(s *Schema) { s.Properties = s.Properties[1:] }, "it.a is gone"},
		"another type":      {func(s *Schema) { s.Properties = Properties{{"a", number}, {"b", text}} }, "it.a is"},
		"null now":          {func(s *Schema) { s.Properties = Properties{{"a", &Schema{Type: Types{"string", "null"}}}, {"b", text}} }, "it.a is"},
		"not always there":  {func(s *Schema) { s.Required = nil }, "it.b is"},
		"a word is gone":    {func(s *Schema) { s.Defs = Properties{{"Word", &Schema{Enum: []any{"x"}}}} }, "Word=y is gone"},
		"a word came along": {func(s *Schema) { s.Defs = Properties{{"Word", &Schema{Enum: []any{"x", "y", "z"}}}} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			after := *before
			tc.change(&after)
			now := Promises{}
			now.Add("it", &after)
			broken := strings.Join(read.Broken(now), "\n")
			if (broken == "") != (tc.want == "") || !strings.HasPrefix(broken, tc.want) {
				t.Errorf("broken: %q, want %q", broken, tc.want)
			}
		})
	}
}
