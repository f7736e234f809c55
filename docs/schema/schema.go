// Package schema has the JSON Schemas of what croft's commands print with --json. They are
// generated: CROFT_UPDATE=1 go test -run TestSchemas . writes them. The README.md beside
// them says what a program may rely on.
package schema

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
)

//go:embed *.json
var files embed.FS

// typesFile has the types that the answers are made of.
const typesFile = "types.json"

// Names returns the names of the schemas: a command's with dashes between its words, such
// as "round-start", and "error".
func Names() []string {
	list, _ := fs.Glob(files, "*.json") // fails only for a malformed pattern
	names := make([]string, 0, len(list))
	for _, file := range list {
		if file != typesFile {
			names = append(names, strings.TrimSuffix(file, ".json"))
		}
	}
	return names
}

// Read returns a schema that stands alone: the types that it needs are in its $defs. It fails
// with fs.ErrNotExist if there is none of that name.
func Read(name string) ([]byte, error) {
	if !slices.Contains(Names(), name) {
		return nil, fmt.Errorf("schema %q: %w", name, fs.ErrNotExist)
	}
	answer, err := files.ReadFile(name + ".json")
	if err != nil {
		return nil, err
	}
	text, err := files.ReadFile(typesFile)
	if err != nil {
		return nil, err
	}
	var types struct {
		Defs map[string]json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(text, &types); err != nil {
		return nil, err
	}
	needed := map[string]json.RawMessage{}
	// A reference to a type, in an answer or in another type. It is compiled here: every start
	// of the program would pay for a variable.
	reference := regexp.MustCompile(`"\$ref": "(?:types\.json)?#/\$defs/(\w+)"`)
	addNeeded(needed, types.Defs, answer, reference)
	var out bytes.Buffer
	out.Write(bytes.TrimSuffix(bytes.TrimSpace(bytes.ReplaceAll(answer, []byte(`"`+typesFile+`#`), []byte(`"#`))), []byte("}")))
	for i, name := range slices.Sorted(maps.Keys(needed)) {
		lead := ","
		if i == 0 {
			lead = `,"$defs":{`
		}
		fmt.Fprintf(&out, "%s%q:%s", lead, name, needed[name])
	}
	if len(needed) > 0 {
		out.WriteByte('}')
	}
	out.WriteByte('}')
	var pretty bytes.Buffer
	err = json.Indent(&pretty, out.Bytes(), "", "  ")
	pretty.WriteByte('\n')
	return pretty.Bytes(), err
}

// addNeeded adds the types that a schema refers to, and those that these refer to.
func addNeeded(needed, all map[string]json.RawMessage, text []byte, reference *regexp.Regexp) {
	for _, m := range reference.FindAllSubmatch(text, -1) {
		name := string(m[1])
		if _, ok := needed[name]; !ok {
			needed[name] = all[name]
			addNeeded(needed, all, all[name], reference)
		}
	}
}
