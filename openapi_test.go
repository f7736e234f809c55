package croft_test

import (
	"testing"

	"github.com/croft-sh/croft/internal/openapi"
)

// openAPI is the document of the daemon's API.
const openAPI = "docs/openapi/openapi.json"

// TestOpenAPI: the committed document is the one that is generated from the table of calls,
// the types and their comments. With CROFT_UPDATE=1 it writes it.
func TestOpenAPI(t *testing.T) {
	text, err := openapi.Document(schemaGenerator(t))
	if err != nil {
		t.Fatal(err)
	}
	compareGenerated(t, openAPI, string(text))
}
