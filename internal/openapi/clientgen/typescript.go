package clientgen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/jsonschema"
	"github.com/croft-sh/croft/internal/openapi"
)

// TypeScript returns the module of the TypeScript client that has the types and the calls.
func TypeScript(a *openapi.API) (string, error) {
	list, err := methods(a)
	if err != nil {
		return "", err
	}
	t := &typescript{api: a, answers: a.Answers()}
	t.line("// The types and the calls of Croft's API.", "// "+notice, "")
	t.line("/** A call, as the transport sends it. */",
		"export interface Call {",
		"  method: string;",
		"  path: string;",
		"  /** The query of a GET, the body of anything else. */",
		"  fields: object;",
		"  /** The body may have a key, so that the call can be sent again. */",
		"  keyed: boolean;",
		"  options?: WaitOptions;",
		"}", "",
		"/** What every call takes beside its request. */",
		"export interface CallOptions {",
		"  signal?: AbortSignal;",
		"}", "",
		"/** What a call takes that answers with a merge. */",
		"export interface WaitOptions extends CallOptions {",
		"  /** Answer when the merge has ended, or after so many seconds, 60 at most. */",
		"  wait?: number;",
		"}", "",
		"/** A name, an ID or a path as a segment of a path. The empty one stands for the default. */",
		"export function segment(value: string | number): string {",
		"  const text = String(value);",
		`  if (text === "") return "-";`,
		`  if (text === "-") return "name%3A-";`,
		`  if (text === "/") return "path%3A%2F";`,
		`  if (text === "." || text === "..") return text.replaceAll(".", "%2E");`,
		"  return encodeURIComponent(text);",
		"}", "")
	for _, def := range a.Types {
		t.addType(def)
	}
	for _, m := range list {
		t.addQuery(m)
	}
	t.line("/** One method for each operation of the API. */", "export abstract class Calls {",
		"  protected abstract send<T>(call: Call): Promise<T>;", "",
		"  private async *pages<T>(path: string, fields: object, options?: CallOptions): AsyncGenerator<T> {",
		`    for (let after = ""; ; ) {`,
		`      const page: { items: T[]; next?: string } = await this.send({ method: "GET", path, fields: after ? { ...fields, after } : fields, keyed: false, options });`,
		"      yield* page.items;",
		"      if (!page.next) return;",
		"      after = page.next;",
		"    }",
		"  }")
	for _, m := range list {
		t.addMethod(m)
	}
	t.line("}")
	return t.b.String(), nil
}

type typescript struct {
	api     *openapi.API
	answers map[string]bool
	b       strings.Builder
}

func (t *typescript) line(lines ...string) {
	for _, line := range lines {
		t.b.WriteString(line)
		t.b.WriteByte('\n')
	}
}

// doc returns a text as a comment of documentation.
func doc(indent, text string) []string {
	lines := wrap(strings.ReplaceAll(text, "*/", "* /"), 92-len(indent))
	switch len(lines) {
	case 0:
		return nil
	case 1:
		return []string{indent + "/** " + lines[0] + " */"}
	}
	out := []string{indent + "/**"}
	for _, line := range lines {
		out = append(out, indent+" * "+line)
	}
	return append(out, indent+" */")
}

func (t *typescript) addType(def jsonschema.Property) {
	t.line(doc("", def.Schema.Description)...)
	if isObject(def.Schema) {
		t.line("export interface " + def.Name + " {")
		for _, f := range def.Schema.Properties {
			t.addField(f, slices.Contains(def.Schema.Required, f.Name))
		}
		t.line("}", "")
		return
	}
	if len(def.Schema.Enum) == 0 {
		t.line("export type "+def.Name+" = string;", "")
		return
	}
	t.line("export type " + def.Name + " =")
	for i, word := range def.Schema.Enum {
		end := ""
		if i == len(def.Schema.Enum)-1 && !t.answers[def.Name] {
			end = ";"
		}
		t.line(fmt.Sprintf("  | %q%s", word, end))
	}
	if t.answers[def.Name] {
		t.line("  | (string & {}); // a newer daemon may have more words")
	}
	t.line("")
}

func (t *typescript) addField(f jsonschema.Property, isRequired bool) {
	t.line(doc("  ", f.Schema.Description)...)
	mark := "?"
	if isRequired {
		mark = ""
	}
	t.line("  " + f.Name + mark + ": " + t.hint(f.Schema) + ";")
}

// hint returns the type of a value as TypeScript writes it. Times, durations and bytes stay
// what JSON has: strings.
func (t *typescript) hint(s *jsonschema.Schema) string {
	var parts []string
	for _, one := range s.AnyOf {
		parts = append(parts, t.hint(one))
	}
	if name := refOf(s); name != "" {
		parts = append(parts, name)
	}
	if s.Const != nil {
		parts = append(parts, fmt.Sprintf("%q", s.Const))
	}
	for _, kind := range s.Type {
		switch {
		case kind == "array":
			kind = t.hint(s.Items) + "[]"
			if strings.Contains(kind, " | ") {
				kind = "(" + t.hint(s.Items) + ")[]"
			}
		case kind == "object" && s.Values != nil:
			kind = "Record<string, " + t.hint(s.Values) + ">"
		case kind == "object":
			kind = "Record<string, unknown>"
		case kind == "integer":
			kind = "number"
		}
		parts = append(parts, kind)
	}
	if len(parts) == 0 && len(s.Enum) > 0 {
		parts = []string{"string"}
	}
	return strings.Join(parts, " | ")
}

// queryName returns the name of the type of a query.
func queryName(m method) string { return strings.ToUpper(m.name[:1]) + m.name[1:] + "Query" }

func (t *typescript) addQuery(m method) {
	if len(m.query) == 0 {
		return
	}
	t.line("/** What "+m.name+" takes. */", "export interface "+queryName(m)+" {")
	for _, q := range m.query {
		s := *q.Schema
		s.Description = q.Description
		t.addField(jsonschema.Property{Name: q.Name, Schema: &s}, q.IsRequired)
	}
	t.line("}", "")
}

func (t *typescript) addMethod(m method) {
	var params []string
	for _, s := range m.segments {
		params = append(params, s.Name+": "+t.hint(s.Schema))
	}
	fields := "{}"
	isRequired := len(m.required) > 0 || slices.ContainsFunc(m.query, func(p openapi.Parameter) bool { return p.IsRequired })
	request := ""
	switch {
	case len(m.query) > 0:
		request = queryName(m)
	case len(m.fields) > 0:
		request = m.Body
	}
	if request != "" {
		fields = "request"
		request = "request: " + request
		if !isRequired {
			request += " = {}"
		}
		params = append(params, request)
	}
	options := "options?: CallOptions"
	if m.canWait {
		options = "options?: WaitOptions"
	}
	params = append(params, options)
	t.line("")
	t.line(doc("  ", m.Description)...)
	t.line("  "+m.name+"("+strings.Join(params, ", ")+"): Promise<"+m.Answer+"> {",
		fmt.Sprintf("    return this.send({ method: %q, path: %s, fields: %s, keyed: %t, options });", m.Method, typescriptPath(m.Path), fields, m.hasKey()), "  }")
	if m.item == "" {
		return
	}
	t.line("", "  /** The items of all pages of "+m.name+", asked for one page after the other. */",
		"  iterate"+strings.ToUpper(m.name[:1])+m.name[1:]+"("+strings.Join(params, ", ")+"): AsyncGenerator<"+m.item+"> {",
		fmt.Sprintf("    return this.pages(%s, %s, options);", typescriptPath(m.Path), fields), "  }")
}

// typescriptPath returns the expression of a path.
func typescriptPath(path string) string {
	if !strings.Contains(path, "{") {
		return fmt.Sprintf("%q", path)
	}
	return "`" + strings.NewReplacer("{", "${segment(", "}", ")}").Replace(path) + "`"
}
