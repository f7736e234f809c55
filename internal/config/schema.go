package config

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Schema returns the JSON Schema of croft.toml in a repository, for editors.
// It lists what a repository may set.
func Schema() []byte {
	properties := map[string]any{}
	for _, key := range Keys() {
		if !key.IsRepoSettable() {
			continue
		}
		at := properties
		if name := key.table(); name != "" {
			at = tableSchema(properties, name)
		}
		at[key.last()] = key.schema()
	}
	provision := tableSchema(properties, "provision")
	provision["path"], provision["step"], provision["probe"] = pathSchema(), stepSchema(), probeSchema()
	tableSchema(properties, "teardown")["run"] = map[string]any{
		"type": "array", "description": "Commands that run when a workspace is removed, once a person has approved them.",
		"items": map[string]any{"type": "string", "minLength": 1},
	}
	text, err := json.MarshalIndent(map[string]any{
		"$schema":              "https://json-schema.org/draft/2020-12/schema",
		"title":                "croft.toml",
		"description":          "How Croft makes workspaces in this repository.",
		"type":                 "object",
		"properties":           properties,
		"patternProperties":    map[string]any{"^(" + strings.Join(reservedTables(), "|") + ")$": map[string]any{}},
		"additionalProperties": false,
	}, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("config: schema of fixed values does not marshal: %v", err))
	}
	return append(text, '\n')
}

// pathSchema is the schema of [[provision.path]].
func pathSchema() map[string]any {
	text := func(doc string) map[string]any { return map[string]any{"type": "string", "description": doc} }
	return map[string]any{
		"type": "array", "description": "Paths of the project that a new workspace gets, beside its commit.",
		"items": map[string]any{
			"type": "object", "additionalProperties": false, "required": []string{"path", "how"},
			"properties": map[string]any{
				"path": text("Relative to the repository; its last part may have * and ?."),
				"how":  map[string]any{"enum": []string{"copy", "clone", "link"}},
				"else": map[string]any{"enum": []string{"copy", "skip"}, "description": "What is done if that is not possible."},
				"key":  map[string]any{"type": "array", "items": text("A file that must be the same in the repository and in the workspace's commit.")},
			},
		},
	}
}

// stepSchema is the schema of [[provision.step]].
func stepSchema() map[string]any {
	text := func(doc string) map[string]any { return map[string]any{"type": "string", "description": doc} }
	list := func(doc string) map[string]any { return map[string]any{"type": "array", "items": text(doc)} }
	return map[string]any{
		"type": "array", "description": "Commands that set a new workspace up, in order, once a person has approved them.",
		"items": map[string]any{
			"type": "object", "additionalProperties": false, "required": []string{"run"},
			"properties": map[string]any{
				"name": text("Default: step-1 and so on."), "run": text("For a shell, in the workspace."),
				"when":  map[string]any{"enum": []string{string(WhenAlways), string(WhenKeyChanged), string(WhenMissing)}},
				"key":   list("A file whose content decides whether it has to run again."),
				"makes": list("A path that it makes."), "timeout": text("Such as 5m."),
				"on_fail": map[string]any{"enum": []string{"report", string(OnFailStop)}},
			},
		},
	}
}

// probeSchema is the schema of [[provision.probe]].
func probeSchema() map[string]any {
	text := func(doc string) map[string]any { return map[string]any{"type": "string", "description": doc} }
	return map[string]any{
		"type": "array", "description": "Commands that must succeed once a workspace is set up.",
		"items": map[string]any{
			"type": "object", "additionalProperties": false,
			"properties": map[string]any{"run": text("For a shell, in the workspace."), "inside": text("Prints a path that must lie in the workspace.")},
		},
	}
}

// tableSchema returns the properties of a table, which it adds where needed.
func tableSchema(properties map[string]any, name string) map[string]any {
	if table, ok := properties[name].(map[string]any); ok {
		return table["properties"].(map[string]any)
	}
	inside := map[string]any{}
	properties[name] = map[string]any{
		"type":                 "object",
		"properties":           inside,
		"additionalProperties": false,
	}
	return inside
}

func (k Key) schema() map[string]any {
	s := map[string]any{
		"description": k.repoDoc(),
		"default":     k.defaultValue(),
	}
	switch k.Type {
	case TypeInteger:
		s["type"], s["minimum"], s["maximum"] = "integer", k.min, k.max
	case TypeBoolean:
		s["type"] = "boolean"
	case TypeDuration:
		s["type"], s["pattern"], s["minLength"] = "string", durationPattern, 1
	case TypeList:
		s["type"] = "array"
		s["items"] = map[string]any{"type": "string", "pattern": `^[^,]+$`}
	case TypeCommands:
		s["type"] = "array"
		s["items"] = map[string]any{"type": "string", "minLength": 1}
	default:
		s["type"] = "string"
	}
	return s
}

// repoDoc is the key's description to the author of a repository's file.
func (k Key) repoDoc() string {
	if k.Guard == GuardMax || k.Guard == GuardMin || k.Guard == GuardOn {
		return k.Doc + " A repository may only " + guardPhrase(k.Guard) + "."
	}
	return k.Doc
}

// defaultValue is the default as it is written in a file. Paths keep their
// "~/" and are not settable there.
func (k Key) defaultValue() any {
	switch k.Type {
	case TypeString, TypePath, TypeDuration:
		return k.Default
	}
	value, err := k.fromText(k.Default, "", KindDefault)
	if err != nil {
		panic(fmt.Sprintf("config: the default of %s is not valid: %v", k.Name, err))
	}
	return value
}
