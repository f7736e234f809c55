// Package openapi has the OpenAPI document of the daemon's API. It is generated:
// CROFT_UPDATE=1 go test -run TestOpenAPI . writes it.
package openapi

import _ "embed"

//go:embed openapi.json
var document []byte

// Document returns the document. It is not to be changed.
func Document() []byte { return document }
