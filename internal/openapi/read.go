package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/jsonschema"
)

// API is what a document says about the operations and their types.
type API struct {
	Operations []Operation           // by path and method
	Types      jsonschema.Properties // by name
}

// Operation is one call of the API.
type Operation struct {
	ID, Method, Path string
	Description      string
	Parameters       []Parameter
	Body             string // the type of the request's body, or the empty string
	Answer           string // the type of the answer, or the empty string if it has no body
	IsStream         bool   // the answers come as server-sent events
}

// Parameter is a value in a path, a query or a header.
type Parameter struct {
	Name        string             `json:"name"`
	In          string             `json:"in"`
	Description string             `json:"description"`
	IsRequired  bool               `json:"required"`
	Schema      *jsonschema.Schema `json:"schema"`
}

// The media types of answers.
const (
	jsonMedia   = "application/json"
	streamMedia = "text/event-stream"
)

type media map[string]struct {
	Schema struct {
		Ref   string `json:"$ref"`
		Event struct {
			Ref string `json:"$ref"`
		} `json:"contentSchema"`
	} `json:"schema"`
}

type operation struct {
	ID          string      `json:"operationId"`
	Description string      `json:"description"`
	Parameters  []Parameter `json:"parameters"`
	Body        *struct {
		Content media `json:"content"`
	} `json:"requestBody"`
	Responses map[string]struct {
		Content media `json:"content"`
	} `json:"responses"`
}

const (
	typePrefix = "#/components/schemas/"
	defPrefix  = "#/$defs/"
)

// Read reads a document as Document makes it. References in the types that it returns are
// those of package jsonschema.
func Read(text []byte) (*API, error) {
	var d struct {
		Paths      map[string]map[string]operation `json:"paths"`
		Components struct {
			Schemas jsonschema.Properties `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(bytes.ReplaceAll(text, []byte(typePrefix), []byte(defPrefix)), &d); err != nil {
		return nil, err
	}
	a := &API{Types: d.Components.Schemas}
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(d.Paths[path])) {
			op, err := d.Paths[path][method].read()
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", method, path, err)
			}
			op.Method, op.Path = strings.ToUpper(method), path
			a.Operations = append(a.Operations, op)
		}
	}
	return a, nil
}

func (o operation) read() (Operation, error) {
	op := Operation{ID: o.ID, Description: o.Description, Parameters: o.Parameters}
	if o.Body != nil {
		op.Body = strings.TrimPrefix(o.Body.Content[jsonMedia].Schema.Ref, defPrefix)
	}
	for _, status := range slices.Sorted(maps.Keys(o.Responses)) {
		content := o.Responses[status].Content
		if op.Answer != "" || !strings.HasPrefix(status, "2") {
			continue
		}
		if at, ok := content[streamMedia]; ok {
			op.IsStream, op.Answer = true, strings.TrimPrefix(at.Schema.Event.Ref, defPrefix)
			continue
		}
		op.Answer = strings.TrimPrefix(content[jsonMedia].Schema.Ref, defPrefix)
	}
	_, isEmpty := o.Responses["204"]
	_, isSocket := o.Responses["101"]
	if op.ID == "" || op.Answer == "" && !isEmpty && !isSocket {
		return op, fmt.Errorf("it has no name or no answer")
	}
	return op, nil
}

// Answers returns the names of the types that answers are made of.
func (a *API) Answers() map[string]bool {
	names := map[string]bool{}
	for _, op := range a.Operations {
		a.reach(names, op.Answer)
	}
	a.reach(names, "Problem")
	return names
}

// Requests returns the names of the types that requests are made of.
func (a *API) Requests() map[string]bool {
	names := map[string]bool{}
	for _, op := range a.Operations {
		a.reach(names, op.Body)
		for _, p := range op.Parameters {
			a.reachIn(names, p.Schema)
		}
	}
	return names
}

func (a *API) reach(names map[string]bool, name string) {
	if name == "" || names[name] {
		return
	}
	names[name] = true
	a.reachIn(names, a.Types.Get(name))
}

func (a *API) reachIn(names map[string]bool, s *jsonschema.Schema) {
	if s == nil {
		return
	}
	a.reach(names, strings.TrimPrefix(s.Ref, defPrefix))
	a.reachIn(names, s.Items)
	a.reachIn(names, s.Values)
	for _, one := range s.AnyOf {
		a.reachIn(names, one)
	}
	for _, p := range s.Properties {
		a.reachIn(names, p.Schema)
	}
}
