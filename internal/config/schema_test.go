package config_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft/internal/config"
)

// node is the part of JSON Schema that the schema uses.
type node struct {
	Schema               string           `json:"$schema"`
	Title                string           `json:"title"`
	Type                 string           `json:"type"`
	Description          string           `json:"description"`
	Default              any              `json:"default"`
	Properties           map[string]*node `json:"properties"`
	PatternProperties    map[string]*node `json:"patternProperties"`
	AdditionalProperties *bool            `json:"additionalProperties"`
	Items                *node            `json:"items"`
	Pattern              string           `json:"pattern"`
	MinLength            int              `json:"minLength"`
	Minimum              *int64           `json:"minimum"`
	Maximum              *int64           `json:"maximum"`
	Enum                 []string         `json:"enum"`
	Required             []string         `json:"required"`
}

func parseSchema(t *testing.T) *node {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(string(config.Schema())))
	decoder.DisallowUnknownFields()
	var root node
	if err := decoder.Decode(&root); err != nil {
		t.Fatalf("the schema is not what this test knows: %v", err)
	}
	return &root
}

func leaves(n *node, prefix string, into map[string]*node) {
	for name, child := range n.Properties {
		if child.Type == "object" {
			leaves(child, prefix+name+".", into)
			continue
		}
		into[prefix+name] = child
	}
}

func TestSchemaListsWhatARepositoryMaySet(t *testing.T) {
	root := parseSchema(t)
	if root.Schema != "https://json-schema.org/draft/2020-12/schema" {
		t.Errorf("$schema is %q", root.Schema)
	}
	listed := map[string]*node{}
	leaves(root, "", listed)
	types := map[string]string{
		config.TypeString: "string", config.TypeInteger: "integer", config.TypeBoolean: "boolean",
		config.TypeDuration: "string", config.TypeList: "array", config.TypeCommands: "array",
	}
	for _, key := range config.Keys() {
		n := listed[key.Name]
		delete(listed, key.Name)
		if (n != nil) != key.IsRepoSettable() {
			t.Errorf("%s with guard %q: listed %v", key.Name, key.Guard, n != nil)
		}
		if n == nil {
			continue
		}
		if n.Type != types[key.Type] {
			t.Errorf("%s has type %q, want %q", key.Name, n.Type, types[key.Type])
		}
		if !strings.HasPrefix(n.Description, key.Doc) || n.Default == nil {
			t.Errorf("%s lacks its description or default: %+v", key.Name, n)
		}
	}
	for table, keys := range map[string]int{"provision.path": 4, "provision.step": 7, "provision.probe": 2} {
		if n := listed[table]; n == nil || len(n.Items.Properties) != keys {
			t.Errorf("[[%s]] is %+v", table, n)
		}
		delete(listed, table)
	}
	if n := listed["teardown.run"]; n == nil || n.Type != "array" {
		t.Errorf("[teardown] is %+v", n)
	}
	delete(listed, "teardown.run")
	if len(listed) != 0 {
		t.Errorf("the schema lists keys that do not exist: %v", listed)
	}
}

// TestSchemaRefusesUnknownKeys holds for the top level and for every table,
// but not for the tables of later versions.
func TestSchemaRefusesUnknownKeys(t *testing.T) {
	root := parseSchema(t)
	if root.AdditionalProperties == nil || *root.AdditionalProperties {
		t.Error("the schema lets unknown keys pass")
	}
	for name, child := range root.Properties {
		if child.Type == "object" && (child.AdditionalProperties == nil || *child.AdditionalProperties) {
			t.Errorf("the schema lets unknown keys pass in [%s]", name)
		}
	}
	for pattern := range root.PatternProperties {
		for name, want := range map[string]bool{"rounds": true, "fence": true, "env": true, "environment": false} {
			if got := regexp.MustCompile(pattern).MatchString(name); got != want {
				t.Errorf("pattern %s matches %s: %v", pattern, name, got)
			}
		}
	}
	if len(root.PatternProperties) != 1 {
		t.Errorf("%d patterns, want the one of reserved tables", len(root.PatternProperties))
	}
}

// TestSchemaAgreesWithTheParser tries the edges of the ranges that the schema
// gives.
func TestSchemaAgreesWithTheParser(t *testing.T) {
	listed := map[string]*node{}
	leaves(parseSchema(t), "", listed)
	tried := 0
	for name, n := range listed {
		if n.Type != "integer" {
			continue
		}
		tried++
		for number, valid := range map[int64]bool{*n.Minimum: true, *n.Minimum - 1: false, *n.Maximum: true, *n.Maximum + 1: false} {
			p := newPlace(t)
			text, err := json.Marshal(number)
			if err != nil {
				t.Fatal(err)
			}
			p.write(p.repoFile(), name+" = "+string(text))
			if _, err := p.try(config.Input{}); (err == nil) != valid {
				t.Errorf("%s = %d: %v", name, number, err)
			}
		}
	}
	if tried == 0 {
		t.Error("the schema has no integer")
	}
}

func TestTemplateSetsNothing(t *testing.T) {
	p := newPlace(t)
	p.write(p.userFile(), "layout = 'agents'\nlimits.max_workers = 3\n")
	before := p.load(config.Input{})
	p.write(p.repoFile(), string(config.Template()))
	after := p.load(config.Input{})
	if diff := cmp.Diff(before.Values(), after.Values()); diff != "" {
		t.Errorf("a fresh croft.toml changes values:\n%s", diff)
	}
	if got := after.Warnings(); len(got) != 0 {
		t.Errorf("a fresh croft.toml causes warnings: %q", got)
	}
}

// TestTemplateLeavesRoomForTables: a user who adds any table to a fresh croft.toml gets what it says.
func TestTemplateLeavesRoomForTables(t *testing.T) {
	p := newPlace(t)
	p.write(p.repoFile(), string(config.Template())+"\n[ports]\ncount = 7\n[checkout]\nworkers = 3\n[[provision.step]]\nname = \"deps\"\nrun = \"true\"\n")
	set := p.load(config.Input{})
	if got := set.Warnings(); len(got) != 0 || set.Config().Ports.Count != 7 || set.Config().Checkout.Workers != 3 {
		t.Errorf("%q, %d ports, %d workers", got, set.Config().Ports.Count, set.Config().Checkout.Workers)
	}
	for line := range strings.Lines(string(config.Template())) {
		if line != "\n" && !strings.HasPrefix(line, "#") {
			t.Errorf("not a comment: %s", line)
		}
	}
}

// TestTemplateSwitchedOnBesideSteps: a setting of the table provision that is switched on goes with steps below it.
func TestTemplateSwitchedOnBesideSteps(t *testing.T) {
	text := strings.ReplaceAll(string(config.Template()), "#provision.", "provision.") + "\n[[provision.step]]\nname = \"deps\"\nrun = \"true\"\n"
	p := newPlace(t)
	p.write(p.repoFile(), text)
	if got := p.load(config.Input{}).Warnings(); len(got) != 0 {
		t.Errorf("%q", got)
	}
	if asked, problems := config.ParseProvisioning([]byte(text)); len(problems) > 0 || len(asked.Steps) != 1 {
		t.Errorf("%+v, %q", asked, problems)
	}
}

// TestTemplateHoldsTheDefaults switches every setting of the template on.
func TestTemplateHoldsTheDefaults(t *testing.T) {
	p := newPlace(t)
	defaults := p.load(config.Input{}).Config()
	setting := regexp.MustCompile(`(?m)^#([a-z_.]+ = )`)
	p.write(p.repoFile(), setting.ReplaceAllString(string(config.Template()), "$1"))
	set := p.load(config.Input{})
	if diff := cmp.Diff(defaults, set.Config()); diff != "" {
		t.Errorf("the template does not hold the defaults (-want +got):\n%s", diff)
	}
	var got, want []string
	for _, v := range set.Values() {
		if v.Source.Kind == config.KindRepo {
			got = append(got, v.Key)
		}
	}
	for _, key := range config.Keys() {
		if key.IsRepoSettable() {
			want = append(want, key.Name)
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys in the template (-want +got):\n%s", diff)
	}
	if len(set.Warnings()) != 0 {
		t.Errorf("the defaults cause warnings: %q", set.Warnings())
	}
}

func TestTemplateIsReadable(t *testing.T) {
	for i, line := range strings.Split(string(config.Template()), "\n") {
		if len(line) > 80 {
			t.Errorf("line %d has %d columns: %s", i+1, len(line), line)
		}
	}
}
