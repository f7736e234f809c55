package croft_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/docs/schema"
	"github.com/croft-sh/croft/internal/cli"
	"github.com/croft-sh/croft/internal/jsonschema"
)

const (
	schemas     = "docs/schema"
	schemaID    = "https://github.com/croft-sh/croft/schema/%d/%s.json"
	promises    = schemas + "/promised.txt"
	updateHint  = "CROFT_UPDATE=1 go test -run 'TestSchemas|TestOpenAPI' . writes it"
	jsonPage    = "docs/json.md"
	jsonPageTop = schemas + "/json.md.tmpl"
)

// TestSchemas: docs/schema and docs/json.md are those that are generated from the types and
// their comments, and no answer has lost what an earlier one promised. With CROFT_UPDATE=1
// it writes them.
func TestSchemas(t *testing.T) {
	files, page := generateSchemas(t)
	checkPromises(t, files)
	want := schemaFiles(t, files)
	want[jsonPage] = page
	if t.Failed() {
		return
	}
	old, err := filepath.Glob(schemas + "/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range old {
		if path = filepath.ToSlash(path); want[path] != "" {
			continue
		}
		t.Errorf("%s is the schema of no answer", path)
		if os.Getenv("CROFT_UPDATE") != "" {
			_ = os.Remove(path)
		}
	}
	for path, text := range want {
		compareGenerated(t, path, text)
	}
}

// schemaFiles returns the files of schemas. Types are in one file, so that a change of one
// is a change of one file; schema.Read puts them together.
func schemaFiles(t *testing.T, files map[string]*jsonschema.Schema) map[string]string {
	t.Helper()
	types := finished(&jsonschema.Schema{}, "types", "The types that the answers are made of", nil)
	texts := map[string]string{}
	for name, s := range files {
		for _, def := range s.Defs {
			if types.Defs.Get(def.Name) == nil {
				types.Defs = append(types.Defs, def)
			}
		}
		answer := *s
		answer.Defs = nil
		texts[name] = strings.ReplaceAll(schemaText(t, &answer), `"#/$defs/`, `"types.json#/$defs/`)
	}
	slices.SortFunc(types.Defs, func(a, b jsonschema.Property) int { return strings.Compare(a.Name, b.Name) })
	texts["types"] = schemaText(t, types)
	paths := map[string]string{}
	for name, text := range texts {
		paths[schemas+"/"+name+".json"] = text
	}
	return paths
}

func schemaText(t *testing.T, s *jsonschema.Schema) string {
	t.Helper()
	text, err := s.Text()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// compareGenerated compares a file with what was generated, after writing it if the caller
// wants that.
func compareGenerated(t *testing.T, path, want string) {
	t.Helper()
	if os.Getenv("CROFT_UPDATE") != "" {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if diff := cmp.Diff(want, strings.ReplaceAll(string(got), "\r\n", "\n")); err != nil || diff != "" {
		t.Errorf("%s does not follow from the types; %s: %v\n%s", path, updateHint, err, diff)
	}
}

// schemaGenerator knows what the types do not say.
func schemaGenerator(t *testing.T) *jsonschema.Generator {
	t.Helper()
	comments, err := jsonschema.ReadComments(map[string]string{"Event": "EventKind"}, ".", "internal/cli", "internal/api")
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range comments.Words["croft.EventKind"] {
		if w.Comment == "" {
			t.Errorf("%s has no comment, and docs/json.md does not say when that happens", w.Name)
		}
	}
	comments.Types["croft.EventKind"] = "The kind of an event: a noun and a verb in the past tense."
	return &jsonschema.Generator{
		Comments: comments,
		Words:    map[string]string{"croft.Event.Kind": "croft.EventKind"},
		Usual: map[string]string{
			"id": "its name for ever", "repoId": "the ID of its project", "workspace": "the ID of the workspace", "workspaceName": "the name of the workspace", "actorWorkspace": "the ID of the workspace that the actor stood in",
			"createdAt": "when it was made", "startedAt": "when it began", "endedAt": "when it ended; absent before", "submittedAt": "when it was submitted",
		},
		Open:   []string{"croft.Retention"},
		Known:  []reflect.Type{reflect.TypeFor[croft.Workspace]()},
		Null:   []string{"croft.Workspace.MergeStatus", "croft.Workspace.MergeCommit"},
		Absent: []string{"croft.Workspace.Branch"},
		Empty:  []string{"croft.Merge.Status"},
	}
}

// generateSchemas returns the schemas of all answers and of the error, by name, and the page
// about them.
func generateSchemas(t *testing.T) (files map[string]*jsonschema.Schema, page string) {
	t.Helper()
	g := schemaGenerator(t)
	p := jsonschema.NewPage(g.Comments)
	files = map[string]*jsonschema.Schema{}
	for _, a := range cli.Answers() {
		forms, defs := formSchemas(t, g, a.Forms)
		s := &jsonschema.Schema{AnyOf: forms}
		if len(forms) == 1 {
			s = forms[0]
		}
		var whens []string
		for _, f := range a.Forms {
			whens = append(whens, f.When)
		}
		p.AddAnswer("`croft "+a.Command+"`", whens, forms, defs)
		files[a.Name()] = finished(s, a.Name(), "What croft "+a.Command+" prints with --json", defs)
	}
	forms, defs := formSchemas(t, g, []cli.Form{cli.ErrorForm()})
	p.AddAnswer("A command that fails", []string{""}, forms, defs)
	files["error"] = finished(forms[0], "error", "What a command that fails prints with --json", defs)
	template, err := os.ReadFile(jsonPageTop)
	if err != nil {
		t.Fatal(err)
	}
	p.Hide("Code")
	page, err = p.Render(strings.ReplaceAll(string(template), "\r\n", "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return files, page
}

// readOnlyAnswer has the field that every answer has where the state cannot be written.
type readOnlyAnswer struct {
	ReadOnly *croft.ReadOnlyState `json:"readOnly,omitempty"` // how the state was read where it cannot be written
}

func formSchemas(t *testing.T, g *jsonschema.Generator, forms []cli.Form) (list []*jsonschema.Schema, defs jsonschema.Properties) {
	t.Helper()
	for _, f := range forms {
		s, err := g.Object(f.Type)
		if err != nil {
			t.Fatal(err)
		}
		readOnly, err := g.Object(reflect.TypeFor[readOnlyAnswer]())
		if err != nil {
			t.Fatal(err)
		}
		for _, def := range slices.Concat(s.Defs, readOnly.Defs) {
			if defs.Get(def.Name) == nil {
				defs = append(defs, def)
			}
		}
		s.Defs = nil
		version := &jsonschema.Schema{Const: float64(cli.FormatVersion), Description: "of the JSON"}
		s.Properties = slices.Concat(jsonschema.Properties{{Name: "version", Schema: version}}, readOnly.Properties, s.Properties)
		s.Required = append([]string{"version"}, s.Required...)
		list = append(list, s)
	}
	slices.SortFunc(defs, func(a, b jsonschema.Property) int { return strings.Compare(a.Name, b.Name) })
	return list, defs
}

func finished(s *jsonschema.Schema, name, title string, defs jsonschema.Properties) *jsonschema.Schema {
	out := *s
	out.Draft, out.ID, out.Title, out.Defs = jsonschema.Draft, fmt.Sprintf(schemaID, cli.FormatVersion, name), title, defs
	return &out
}

// checkPromises fails the test if an answer lacks what promised.txt says, unless the version
// of the JSON was raised.
func checkPromises(t *testing.T, files map[string]*jsonschema.Schema) {
	t.Helper()
	now := jsonschema.Promises{}
	for name, s := range files {
		now.Add(name, s)
	}
	text, err := os.ReadFile(promises)
	if err == nil {
		version, then, err := jsonschema.ParsePromises(strings.ReplaceAll(string(text), "\r\n", "\n"))
		if err != nil {
			t.Fatal(err)
		}
		if version > cli.FormatVersion {
			t.Errorf("%s is of version %d, and the JSON of version %d", promises, version, cli.FormatVersion)
		}
		if version == cli.FormatVersion {
			for _, broken := range then.Broken(now) {
				t.Errorf("%s: %s. A program may rely on it: add a field beside it, or raise FormatVersion; see docs/schema/README.md", promises, broken)
			}
		}
	}
	if !t.Failed() {
		compareGenerated(t, promises, now.Text(cli.FormatVersion))
	}
}

// TestAnswersMatchTheirSchemas: whatever an answer has in its fields, its JSON matches its
// schema, and the schema has all of it.
func TestAnswersMatchTheirSchemas(t *testing.T) {
	comments := schemaGenerator(t).Comments
	for _, a := range append(cli.Answers(), cli.Answer{Command: "error", Forms: []cli.Form{cli.ErrorForm()}}) {
		text, err := schema.Read(a.Name())
		if err != nil {
			t.Fatal(err)
		}
		s, err := jsonschema.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Forms {
			g := wordGenerator{generator{rand.New(rand.NewPCG(1, 2))}, comments}
			for range 50 {
				v := reflect.New(f.Type).Elem()
				g.fill(v, 0)
				g.setWords(v)
				text, err := cli.MarshalAnswer(v.Interface())
				if err != nil {
					t.Fatal(err)
				}
				var value any
				if err := json.Unmarshal(text, &value); err != nil {
					t.Fatalf("%v: %s", err, text)
				}
				if err := s.Validate(value, jsonschema.Strict); err != nil {
					t.Fatalf("%s: %v\n%s", a.Command, err, text)
				}
			}
		}
	}
}

// wordGenerator makes values whose words are those of their types.
type wordGenerator struct {
	generator
	comments *jsonschema.Comments
}

func (g wordGenerator) setWords(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for field, value := range v.Fields() {
			if !field.IsExported() {
				continue
			}
			if g.setWords(value); v.Type() == reflect.TypeFor[croft.Event]() && field.Name == "Kind" {
				value.SetString(croft.EventKinds()[g.IntN(len(croft.EventKinds()))])
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			g.setWords(v.Index(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			g.setWords(v.Elem())
		}
	case reflect.String:
		if words := g.comments.Words[v.Type().String()]; len(words) > 0 {
			v.SetString(words[g.IntN(len(words))].Value)
		}
	}
}
