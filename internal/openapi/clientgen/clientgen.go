// Package clientgen writes the generated parts of the clients in Python and TypeScript: the
// types of the OpenAPI document, and one method for each of its operations. It is used by
// tests, which keep those files as they follow from the document.
//
// The parts by hand stand beside them, and are what sends a call: see
// clients/python/croft/_client.py and clients/typescript/src/client.ts.
package clientgen

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/croft-sh/croft/internal/jsonschema"
	"github.com/croft-sh/croft/internal/openapi"
)

// byHand are the operations that are not generated: one waits as long as its caller likes, over
// several requests, and one is a stream; both are in the clients by hand. The clients use neither
// the WebSocket nor the names of calls: to call one off, they close its connection.
var byHand = []string{"waitMerge", "events", "eventsSocket", "cancelCall"}

// method is a method of a client.
type method struct {
	openapi.Operation
	name     string // in camel case
	segments []openapi.Parameter
	query    []openapi.Parameter
	fields   jsonschema.Properties // of the body
	required []string              // of the fields
	canWait  bool                  // it takes how long to wait for the end of a merge
	item     string                // the type of the items, if it answers with a page of a list
}

// methods returns the methods of a client, in the order of the document.
func methods(a *openapi.API) ([]method, error) {
	var list []method
	for _, op := range a.Operations {
		if slices.Contains(byHand, op.ID) {
			continue
		}
		if op.IsStream {
			return nil, fmt.Errorf("%s is a stream, and has to be written by hand", op.ID)
		}
		m := method{Operation: op, name: methodName(op)}
		for _, p := range op.Parameters {
			switch {
			case p.In == "path":
				m.segments = append(m.segments, p)
			case p.In == "query":
				m.query = append(m.query, p)
			case p.Name == "Prefer":
				m.canWait = true
			case p.Name == "Idempotency-Key" || p.Name == "If-Match": // fields of the body
			default:
				return nil, fmt.Errorf("%s has the parameter %s in %s, which no client knows", op.ID, p.Name, p.In)
			}
		}
		if body := a.Types.Get(op.Body); body != nil {
			m.fields, m.required = body.Properties, body.Required
		}
		m.item = itemOf(a, m)
		list = append(list, m)
	}
	return list, nil
}

// methodName returns what an operation is called in a client. One that finds a single thing by
// its name begins with "get", because the name of the thing alone is also that of what clients
// make of it.
func methodName(op openapi.Operation) string {
	name := op.ID
	if rest := strings.TrimLeftFunc(name, unicode.IsLower); strings.ToUpper(rest) == rest && rest != "" && len(name)-len(rest) == 1 {
		name = strings.ToLower(name) // gC
	}
	if op.Method == "GET" && strings.HasSuffix(op.Path, "}") {
		name = "get" + strings.ToUpper(name[:1]) + name[1:]
	}
	return name
}

// itemOf returns the type of the items of a list that is answered in pages.
func itemOf(a *openapi.API, m method) string {
	answer := a.Types.Get(m.Answer)
	if answer == nil || !slices.ContainsFunc(m.query, func(p openapi.Parameter) bool { return p.Name == "after" }) {
		return ""
	}
	items := answer.Properties.Get("items")
	if items == nil || items.Items == nil || answer.Properties.Get("next") == nil {
		return ""
	}
	return refOf(items.Items)
}

// hasKey reports whether a call can carry a key, so that it can be sent again.
func (m method) hasKey() bool { return m.fields.Get("key") != nil }

// refOf returns the name of the type that a schema refers to, or the empty string.
func refOf(s *jsonschema.Schema) string {
	_, name, _ := strings.Cut(s.Ref, "#/$defs/")
	return name
}

// snake returns a name in camel case as Python has it.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// wrap breaks a text into lines of at most so many characters.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// notice is at the top of each generated file.
const notice = "Generated from docs/openapi/openapi.json; CROFT_UPDATE=1 go test -run TestOpenAPI . writes it."
