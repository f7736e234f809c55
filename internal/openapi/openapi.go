// Package openapi makes the OpenAPI document of the daemon's API: of the table of calls, of
// the Go types and of their comments. It is used by tests, which keep docs/openapi/openapi.json as it
// follows from the code: no released program needs the source.
package openapi

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/api"
	"github.com/croft-sh/croft/internal/jsonschema"
)

// Version is that of the API, in all paths and in the document.
const Version = "1.0.0"

// object is a JSON object. encoding/json sorts its names, so that the document is always the
// same.
type object = map[string]any

// Document makes the OpenAPI document.
func Document(g *jsonschema.Generator) ([]byte, error) {
	d := &document{g: g, schemas: object{}, paths: object{}}
	for _, c := range api.Calls() {
		if err := d.addCall(c); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	if err := d.addOthers(); err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Croft", "version": Version, "summary": "The worktree layer for fleets of coding agents",
			"description": about, "license": object{"name": "Apache-2.0", "identifier": "Apache-2.0"},
		},
		"servers":  []any{object{"url": "/", "description": "croft serve --tcp, and the socket of croft serve"}},
		"security": []any{object{"token": []any{}}},
		"tags":     tags(),
		"paths":    d.paths,
		"components": object{
			"schemas":         d.schemas,
			"responses":       object{"Problem": problemResponse},
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer", "description": "A token that croft token new made. On the socket none is needed."}},
		},
	}, "", "  ")
	if err != nil {
		return nil, err
	}
	return append([]byte(strings.ReplaceAll(string(text), "#/$defs/", "#/components/schemas/")), '\n'), nil
}

const about = "Every call of Croft's Service. A segment of a path that names something takes a name, an ID or a path; `-` stands for the default. " +
	"A change that carries a key (`Idempotency-Key`, or `key` in the body) is done once, however often it is sent. " +
	"Errors are problems by RFC 9457 with a `code`, and say in `hint` what to run next."

var problemResponse = object{
	"description": "The call failed. Nothing is changed unless the message says so.",
	"content":     object{api.ProblemType: object{"schema": ref("Problem")}},
}

func ref(name string) object { return object{"$ref": "#/components/schemas/" + name} }

// tags returns the parts of the API, in the order of the table.
func tags() []any {
	var names []string
	for _, c := range api.Calls() {
		if !slices.Contains(names, c.Tag) {
			names = append(names, c.Tag)
		}
	}
	names = append(names, "events", "daemon")
	list := make([]any, len(names))
	for i, name := range names {
		list[i] = object{"name": name, "description": tagTexts[name]}
	}
	return list
}

var tagTexts = map[string]string{
	"repos":      "Projects that Croft knows.",
	"workspaces": "Checkouts of agents.",
	"leases":     "Who is at work in a workspace.",
	"snapshots":  "Everything that a workspace had at a time.",
	"trash":      "What was removed, and can be restored.",
	"merges":     "Work on its way to a target branch, and its reverts.",
	"pushes":     "Work at a remote, and its pull requests.",
	"queues":     "The order in which work is merged into a target, and forecasts of conflicts.",
	"reviews":    "Differences, files, and work frozen for a review.",
	"sessions":   "Tournaments of agents.",
	"rounds":     "The rounds of a session.",
	"operations": "What was done, and undoing it.",
	"trust":      "What only a person may allow.",
	"upkeep":     "Cleaning up and repairing.",
	"events":     "What happens, as it happens.",
	"daemon":     "The daemon itself.",
}

type document struct {
	g       *jsonschema.Generator
	schemas object
	paths   object
}

// operation returns what all operations have.
func (d *document) operation(name, tag string) object {
	text := d.g.Comments.Methods["croft."+name]
	text = d.g.Comments.InJSON(strings.TrimPrefix(strings.Join(strings.Fields(text), " "), name+" "))
	if text != "" {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	summary, _, _ := strings.Cut(text, ". ")
	if len(summary) > 120 {
		summary = summary[:strings.LastIndexByte(summary[:117], ' ')] + "…"
	}
	return object{
		"operationId": strings.ToLower(name[:1]) + name[1:], "tags": []any{tag},
		"summary": strings.TrimSuffix(summary, "."), "description": text,
	}
}

func (d *document) addCall(c api.Call) error {
	method, ok := reflect.TypeFor[croft.Service]().MethodByName(c.Name)
	if !ok {
		return fmt.Errorf("the Service has no such method")
	}
	request, answer := method.Type.In(1), method.Type.Out(0).Elem()
	op := d.operation(c.Name, c.Tag)
	name, err := d.define(answer, nil)
	if err != nil {
		return err
	}
	op["responses"] = responses(c, name)
	if err := d.addRequest(op, c, request); err != nil {
		return err
	}
	path, _ := readable(c.Path)
	d.add(path, c.Method, op)
	return nil
}

// readable returns a path in which "{ref}" is called by what it refers to, and that name.
func readable(path string) (string, string) {
	before, after, ok := strings.Cut(path, "/{ref}")
	if !ok {
		return path, ""
	}
	name := strings.TrimSuffix(before[strings.LastIndexByte(before, '/')+1:], "s")
	return before + "/{" + name + "}" + after, name
}

func (d *document) add(path, method string, op object) {
	item, _ := d.paths[path].(object)
	if item == nil {
		item = object{}
		d.paths[path] = item
	}
	item[strings.ToLower(method)] = op
}

// responses are the answers of a call.
func responses(c api.Call, name string) object {
	content := object{"application/json": object{"schema": ref(name)}}
	located := object{"Location": object{"description": "where it can be had", "schema": object{"type": "string"}}}
	out := object{"4XX": object{"$ref": "#/components/responses/Problem"}, "5XX": object{"$ref": "#/components/responses/Problem"}}
	switch c.Answer {
	case api.AnswerCreated:
		out["201"] = object{"description": "It was made.", "content": content, "headers": located}
	case api.AnswerMerge:
		out["200"] = object{"description": "The merge has ended.", "content": content}
		out["202"] = object{"description": "The merge waits or runs.", "content": content, "headers": located}
	default:
		out["200"] = object{"description": "The answer.", "content": content}
	}
	return out
}

// define adds a type, without some of its fields, and those that it is made of.
func (d *document) define(at reflect.Type, without []string) (string, error) {
	name := at.Name()
	if of, ok := strings.CutPrefix(name, "List["); ok {
		name = strings.TrimSuffix(of[strings.LastIndexByte(of, '.')+1:], "]") + "List"
		for _, field := range []string{"Items", "Next", "Cursor", "Unseen"} {
			d.g.Comments.Fields[at.String()+"."+field] = d.g.Comments.Fields["croft.List."+field]
		}
		d.g.Comments.Types[at.String()] = d.g.Comments.Types["croft.List"]
	}
	s, err := d.g.Object(at)
	if err != nil {
		return "", err
	}
	for _, def := range s.Defs {
		d.schemas[def.Name] = def.Schema
	}
	s.Defs = nil
	s.Properties = slices.DeleteFunc(s.Properties, func(p jsonschema.Property) bool { return slices.Contains(without, p.Name) })
	s.Required = slices.DeleteFunc(s.Required, func(name string) bool { return slices.Contains(without, name) })
	d.schemas[name] = s
	return name, nil
}
