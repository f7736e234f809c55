package croft_test

import (
	"os"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/jsonschema"
	"github.com/croft-sh/croft/internal/openapi"
	"github.com/croft-sh/croft/internal/openapi/clientgen"
)

const (
	apiPromises = "docs/openapi/promised.txt"
	apiVersion  = 1 // the first part of openapi.Version
)

// readAPI reads the document as it is generated now.
func readAPI(t *testing.T) *openapi.API {
	t.Helper()
	text, err := openapi.Document(schemaGenerator(t))
	if err != nil {
		t.Fatal(err)
	}
	a, err := openapi.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestOpenAPIClients: the generated parts of the clients are those that follow from the document.
// With CROFT_UPDATE=1 it writes them.
func TestOpenAPIClients(t *testing.T) {
	a := readAPI(t)
	for path, generate := range map[string]func(*openapi.API) (string, error){
		"clients/python/croft/_generated.py":  clientgen.Python,
		"clients/typescript/src/generated.ts": clientgen.TypeScript,
	} {
		text, err := generate(a)
		if err != nil {
			t.Fatal(err)
		}
		compareGenerated(t, path, text)
	}
}

// TestOpenAPIPromises: the document has all that promised.txt says, and asks for nothing more
// than it did: a client that was made for an earlier one goes on working.
func TestOpenAPIPromises(t *testing.T) {
	now := readAPI(t).Promises()
	text, err := os.ReadFile(apiPromises)
	if err == nil {
		version, then, err := jsonschema.ParsePromises(strings.ReplaceAll(string(text), "\r\n", "\n"))
		if err != nil {
			t.Fatal(err)
		}
		if version == apiVersion {
			for _, broken := range openapi.Broken(then, now) {
				t.Errorf("%s: %s. A client may rely on it: add something beside it, or make another version of the API", apiPromises, broken)
			}
		}
	}
	if !strings.HasPrefix(openapi.Version, "1.") {
		t.Errorf("the API is of version %s, and its promises of version %d", openapi.Version, apiVersion)
	}
	if !t.Failed() {
		compareGenerated(t, apiPromises, now.Text(apiVersion))
	}
}
