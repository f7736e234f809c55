package openapi

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/jsonschema"
)

// What the lines of the promises begin with.
const (
	answers    = "answer "
	requests   = "request "
	parameters = "parameter "
	operations = "operation "
)

// Promises returns what clients may rely on: a line for every operation with its way and its
// answer, for every parameter, for every field of a request and of an answer, and for every
// word.
func (a *API) Promises() jsonschema.Promises {
	p := jsonschema.Promises{}
	for _, op := range a.Operations {
		text := op.Method + " " + op.Path + " answers " + cmp.Or(op.Answer, "without a body")
		if op.Body != "" {
			text += " to " + op.Body
		}
		p[operations+op.ID] = text
		given := &jsonschema.Schema{}
		for _, one := range op.Parameters {
			name := one.In + " " + one.Name
			given.Properties = append(given.Properties, jsonschema.Property{Name: name, Schema: one.Schema})
			if one.IsRequired {
				given.Required = append(given.Required, name)
			}
		}
		p.Add(parameters+op.ID, given)
	}
	inAnswers, inRequests := a.Answers(), a.Requests()
	for _, def := range a.Types {
		if inAnswers[def.Name] {
			p[answers+def.Name] = "type"
			p.Add(answers+def.Name, def.Schema)
		}
		if inRequests[def.Name] {
			p[requests+def.Name] = "type"
			p.Add(requests+def.Name, def.Schema)
		}
	}
	return p
}

// required is how a promise says that a field is always there, or has to be.
const required = ", always"

// Broken returns what would break a client that was made for then: what is gone, what is of
// another type, a field of an answer that is not always there any more, and a field of a
// request or a parameter that has to be given and had not to be.
func Broken(then, now jsonschema.Promises) []string {
	var broken []string
	for _, key := range slices.Sorted(maps.Keys(then)) {
		was, is := then[key], now[key]
		switch {
		case is == "":
			broken = append(broken, key+" is gone")
		case was == is:
		case isGiven(key) && was == is+required: // it need not be given any more
		case !isGiven(key) && is == was+required: // it is always there now
		default:
			broken = append(broken, fmt.Sprintf("%s is %q and was %q", key, is, was))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(now)) {
		if then[key] == "" && isGiven(key) && strings.HasSuffix(now[key], required) && wasThere(then, key) {
			broken = append(broken, key+" is new and has to be given")
		}
	}
	return broken
}

// isGiven reports whether a promise is about something that a client sends.
func isGiven(key string) bool {
	return strings.HasPrefix(key, requests) || strings.HasPrefix(key, parameters)
}

// wasThere reports whether there was the operation or the type that a key is about: a new one
// may ask for what it likes.
func wasThere(then jsonschema.Promises, key string) bool {
	owner, _, _ := strings.Cut(key, ".")
	if name, ok := strings.CutPrefix(owner, parameters); ok {
		owner = operations + name
	}
	return then[owner] != ""
}
