package croft_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/croft-sh/croft/docs/schema"
	"github.com/croft-sh/croft/internal/cli"
	"github.com/croft-sh/croft/internal/jsonschema"
)

// answerCheck compares what scripts make the program print with the schemas. A field that a
// schema does not have fails the script.
type answerCheck struct {
	schemas map[string]*jsonschema.Schema
	scripts atomic.Int64 // that have begun

	mu   sync.Mutex
	seen map[string]int // by the name of the schema
}

// newAnswerCheck reads the schemas as users get them. If all scripts were run, each schema
// has to have been used.
func newAnswerCheck(t *testing.T) *answerCheck {
	t.Helper()
	c := &answerCheck{schemas: map[string]*jsonschema.Schema{}, seen: map[string]int{}}
	for _, name := range schema.Names() {
		text, err := schema.Read(name)
		if err != nil {
			t.Fatal(err)
		}
		if c.schemas[name], err = jsonschema.Parse(text); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	t.Cleanup(func() {
		files, _ := filepath.Glob(filepath.Join(scripts, "*.txt"))
		if int(c.scripts.Load()) < len(files) || t.Failed() {
			return
		}
		for _, name := range schema.Names() {
			if c.seen[name] == 0 {
				t.Errorf("no script has JSON of the schema %s", name)
			}
		}
	})
	return c
}

type scriptCommand = func(ts *testscript.TestScript, neg bool, args []string)

// checkAfter runs a command of scripts and checks what it printed. The arguments of the
// program begin after skip.
func (c *answerCheck) checkAfter(run scriptCommand, skip int) scriptCommand {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		run(ts, neg, args)
		if skip > 0 && (len(args) < skip || args[skip-1] != "croft") {
			return
		}
		if args = args[skip:]; slices.Contains(args, "--json") {
			c.check(ts, args)
		}
	}
}

// check compares each line of the output with the schema of the command.
func (c *answerCheck) check(ts *testscript.TestScript, args []string) {
	for line := range strings.Lines(ts.ReadFile("stdout")) {
		var value any
		if err := json.Unmarshal([]byte(line), &value); err != nil {
			ts.Fatalf("not one JSON object a line: %v\n%s", err, line)
		}
		answer, ok := cli.AnswerOf(args)
		name := answer.Name()
		if object, _ := value.(map[string]any); object["error"] != nil {
			name = "error"
		} else if !ok {
			ts.Fatalf("croft %s has no schema", strings.Join(args, " "))
		}
		if err := c.schemas[name].Validate(value, jsonschema.Strict); err != nil {
			ts.Fatalf("what croft %s printed does not match its schema %s: %v\n%s", strings.Join(args, " "), name, err, line)
		}
		c.mu.Lock()
		c.seen[name]++
		c.mu.Unlock()
	}
}
