package openapi_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft/docs/openapi"
	. "github.com/croft-sh/croft/internal/openapi"
)

// TestBroken: every change of the document that a client would suffer from is found, and no
// other one.
func TestBroken(t *testing.T) {
	text := string(openapi.Document())
	for _, tt := range []struct {
		name, old, new string
		want           string // a part of what is said; empty: nothing is
	}{
		{"nothing changes", "", "", ""},
		{"an operation is gone", `"operationId": "lanes"`, `"operationId": "queues"`, "operation lanes is gone"},
		{"a path is another", `"/v1/worktrees": {`, `"/v1/trees": {`, `operation worktrees is "GET /v1/trees`},
		{"a field of an answer is renamed", `"mergeCommitSha": {`, `"mergeCommit": {`, "answer Workspace.mergeCommitSha is gone"},
		{"a field of an answer may be absent", `"required": [
          "items"
        ]`, `"required": []`, `List.items is "list of`},
		{"a field of a request is gone", `"ifRevision": {`, `"onlyIf": {`, "ifRevision is gone"},
		{"a word is gone", `"LEASE_LOST",`, ``, "answer Code=LEASE_LOST is gone"},
		{"a word is new", `"LEASE_LOST",`, `"LEASE_LOST", "LEASE_FOUND",`, ""},
		{"a parameter is gone", `"name": "mergeStatuses"`, `"name": "statuses"`, "parameter workspaces.query mergeStatuses is gone"},
		{"a parameter has to be given", `"name": "mergeStatuses",`, `"name": "mergeStatuses", "required": true,`, `parameter workspaces.query mergeStatuses is "list of MergeStatus, always"`},
		{"a new parameter has to be given", `"name": "mergeStatuses",
            "schema"`, `"name": "mergeStatuses", "schema": {"type": "string"}}, {"in": "query", "name": "new", "required": true, "schema"`, "parameter workspaces.query new is new and has to be given"},
		{"a new parameter", `"name": "mergeStatuses",
            "schema"`, `"name": "mergeStatuses", "schema": {"type":"array","items":{"$ref":"#/components/schemas/MergeStatus"}}}, {"in": "query", "name": "new", "schema"`, ""},
		{"a field of a request has to be given", `"required": [
          "workspaces"
        ]`, `"required": ["workspaces", "key"]`, "request CreateAllRequest.key"},
		{"a field of a request need not be given", `"required": [
          "workspaces"
        ]`, `"required": []`, `answer CreateResult.workspaces is "list of Workspace" and was`}, // the answer has the same line
		{"a field of an answer is new", `"mergeCommitSha": {`, `"fresh": {"type": "string"}, "mergeCommitSha": {`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if !strings.Contains(text, tt.old) {
				t.Fatalf("%q is not in the document", tt.old)
			}
			then, err := Read([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			now, err := Read([]byte(strings.ReplaceAll(text, tt.old, tt.new)))
			if tt.old == "" {
				now, err = then, nil
			}
			if err != nil {
				t.Fatal(err)
			}
			broken := Broken(then.Promises(), now.Promises())
			if strings.HasSuffix(tt.name, "need not be given") && slices.ContainsFunc(broken, func(s string) bool { return strings.HasPrefix(s, "request ") }) {
				t.Errorf("%q", broken)
			}
			if tt.want == "" && len(broken) > 0 || tt.want != "" && !slices.ContainsFunc(broken, func(s string) bool { return strings.Contains(s, tt.want) }) {
				t.Errorf("%q, want %q", broken, tt.want)
			}
		})
	}
}
