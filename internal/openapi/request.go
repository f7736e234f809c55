package openapi

import (
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/api"
	"github.com/croft-sh/croft/internal/jsonschema"
)

// addRequest describes where the fields of a request go.
func (d *document) addRequest(op object, c api.Call, request reflect.Type) error {
	s, err := d.g.Object(request)
	if err != nil {
		return err
	}
	for _, def := range s.Defs {
		if _, isThere := d.schemas[def.Name]; !isThere {
			d.schemas[def.Name] = def.Schema
		}
	}
	var inPath []string
	var parameters []any
	for _, p := range s.Properties {
		isInPath := strings.Contains(c.Path, "{"+p.Name+"}")
		if isInPath {
			inPath = append(inPath, p.Name)
			if _, name := readable(c.Path); p.Name == "ref" {
				p.Name = name
			}
			parameters = append(parameters, parameter("path", p, true))
		}
	}
	if c.Method == http.MethodGet {
		for _, p := range s.Properties {
			if !slices.Contains(inPath, p.Name) && p.Name != "key" && p.Name != "ifRevision" {
				parameters = append(parameters, parameter("query", p, slices.Contains(s.Required, p.Name)))
			}
		}
	} else {
		name, err := d.define(request, inPath)
		if err != nil {
			return err
		}
		op["requestBody"] = object{"required": len(s.Required) > len(inPath), "content": object{"application/json": object{"schema": ref(name)}}}
		parameters = append(parameters, headers(s)...)
	}
	if c.Name == "CheckLog" {
		parameters = append(parameters, object{"name": "follow", "in": "query", "description": "if it is there, the answer is the output as text, as it is printed, until the check has ended", "schema": object{"type": "string"}, "allowEmptyValue": true})
		op["responses"].(object)["200"].(object)["content"].(object)["text/plain"] = object{"schema": object{"type": "string"}}
	}
	if c.Answer == api.AnswerMerge {
		parameters = append(parameters, header("Prefer", "`wait=30`: answer when the merge has ended, or after so many seconds, 60 at most", "string"))
	}
	if len(parameters) > 0 {
		op["parameters"] = parameters
	}
	return nil
}

// headers are those that stand for fields of a request.
func headers(s *jsonschema.Schema) []any {
	var list []any
	if s.Properties.Get("key") != nil {
		list = append(list, header(api.HeaderKey, "the key, if the body has none", "string"))
	}
	if s.Properties.Get("ifRevision") != nil {
		list = append(list, header(api.HeaderRevision, "the ETag of what the caller has seen, if the body has no ifRevision", "string"))
	}
	return list
}

func header(name, text, kind string) object {
	return object{"name": name, "in": "header", "description": text, "schema": object{"type": kind}}
}

func parameter(in string, p jsonschema.Property, isRequired bool) object {
	schema := *p.Schema
	text := schema.Description
	schema.Description = ""
	out := object{"name": p.Name, "in": in, "schema": &schema}
	if text != "" {
		out["description"] = text
	}
	if isRequired {
		out["required"] = true
	}
	if in == "query" && schema.Values != nil {
		out["style"], out["explode"] = "deepObject", true
	}
	return out
}

// addOthers describes what is no call of the Service.
func (d *document) addOthers() error {
	problem, err := d.define(reflect.TypeFor[api.Problem](), nil)
	if err != nil {
		return err
	}
	event, err := d.define(reflect.TypeFor[croft.Event](), nil)
	if err != nil {
		return err
	}
	about, err := d.define(reflect.TypeFor[api.About](), nil)
	if err != nil {
		return err
	}
	d.add(api.AboutPath, http.MethodGet, object{
		"operationId": "daemon", "tags": []any{"daemon"}, "summary": "Describe the daemon", "description": "Describes the daemon.",
		"responses": object{"200": object{"description": "The daemon.", "content": object{"application/json": object{"schema": ref(about)}}}, "4XX": failed},
	})
	d.addCancel()
	return d.addEvents(problem, event)
}

// failed is the answer of a call that fails.
var failed = object{"$ref": "#/components/responses/Problem"}

// addCancel describes how a call is called off.
func (d *document) addCancel() {
	d.add(api.CancelPath, http.MethodDelete, object{
		"operationId": "cancelCall", "tags": []any{"daemon"}, "summary": "Call a call off by its name",
		"description": "Calls off the call that the same caller made with this name in the header `" + api.HeaderCall + "`, of 100 bytes at most. " +
			"What it had begun is rolled back; then the call itself is answered.",
		"parameters": []any{object{"name": "call", "in": "path", "required": true, "description": "the name of the call", "schema": object{"type": "string"}}},
		"responses": object{
			"204": object{"description": "The call was told to end."},
			"404": object{"description": "No call of this name is at work: it has ended, or has not begun.", "content": problemResponse["content"]},
			"4XX": failed,
		},
	})
}

// addEvents describes the streams of events.
func (d *document) addEvents(problem, event string) error {
	op := d.operation("Events", "events")
	s, err := d.g.Object(reflect.TypeFor[croft.EventsRequest]())
	if err != nil {
		return err
	}
	for _, def := range s.Defs {
		if def.Name != "Follow" {
			d.schemas[def.Name] = def.Schema
		}
	}
	parameters := []any{header("Last-Event-ID", "the cursor of the last event that was seen", "string")}
	for _, p := range s.Properties {
		if p.Name == "follow" {
			p.Schema = &jsonschema.Schema{Type: jsonschema.Types{"string"}, Enum: []any{"new", "none"}, Description: "new, the default: wait for more events; none: end with the last one there is"}
		}
		parameters = append(parameters, parameter("query", p, false))
	}
	op["parameters"] = parameters
	expired := object{"description": "An event after the cursor is not kept any more: list what you want to know, and go on from the cursor of that list.", "content": problemResponse["content"]}
	op["responses"] = object{
		"200": object{
			"description": "Server-sent events: `id` is the cursor, `event` the kind, `data` the event as JSON. `end` ends a stream that does not follow; `error` has a " + problem + ".",
			"content":     object{"text/event-stream": object{"schema": object{"type": "string", "contentMediaType": "application/json", "contentSchema": ref(event)}}},
		},
		"410": expired, "4XX": failed,
	}
	d.add(api.EventsPath, http.MethodGet, op)
	d.add(api.SocketPath, http.MethodGet, object{
		"operationId": "eventsSocket", "tags": []any{"events"}, "summary": "Follow events over a WebSocket",
		"description": "The events of `" + api.EventsPath + "` as a WebSocket: each message is one event as JSON. The stream begins with the next event, or after the cursor that is given.",
		"parameters":  parameters[1:],
		"responses": object{
			"101": object{"description": "The connection is a WebSocket now."},
			"410": expired, "4XX": failed,
		},
	})
	return nil
}
