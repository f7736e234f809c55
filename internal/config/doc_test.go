package config

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var updateDocs = flag.Bool("update", false, "write the table of docs/configuration.md anew")

const (
	docFile  = "../../docs/configuration.md"
	docBegin = "<!-- keys: begin -->\n"
	docEnd   = "<!-- keys: end -->\n"
)

// TestDocumentation holds the table of docs/configuration.md to the keys.
func TestDocumentation(t *testing.T) {
	var b strings.Builder
	b.WriteString("| key | default | variable | meaning |\n|---|---|---|---|\n")
	for _, k := range Keys() {
		value := "–"
		switch {
		case k.Type == TypeList && k.Default != "": // items apart, so that a line can end between them
			value = "`" + strings.ReplaceAll(k.Default, ",", "`, `") + "`"
		case k.Default != "":
			value = "`" + k.Default + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | `%s` | %s%s |\n", k.Name, value, strings.Join(k.Env(), "`, `"), k.Doc, guardNote(k.Guard))
	}
	text, err := os.ReadFile(docFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), docBegin)
	have, after, ok2 := strings.Cut(rest, docEnd)
	if !ok || !ok2 {
		t.Fatalf("%s lacks the marks around the table", docFile)
	}
	if *updateDocs {
		if err := os.WriteFile(docFile, []byte(before+docBegin+b.String()+docEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if have != b.String() {
		t.Errorf("%s is not what Keys says; run go test ./internal/config -run Documentation -update", docFile)
	}
}

// TestSecretsDocumented holds the list of docs/configuration.md to the names that
// @secrets stands for.
func TestSecretsDocumented(t *testing.T) {
	const begin, end = "<!-- secrets: begin -->\n", "<!-- secrets: end -->\n"
	want := "```text\n"
	line := ""
	for _, name := range (Commit{HoldBack: []string{KnownSecrets}}).HoldBackPatterns() {
		if len(line)+len(name) > 85 {
			want, line = want+strings.TrimSpace(line)+"\n", ""
		}
		line += name + " "
	}
	want += strings.TrimSpace(line) + "\n```\n"
	text, err := os.ReadFile(docFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	have, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s lacks the marks around the names", docFile)
	}
	if *updateDocs {
		if err := os.WriteFile(docFile, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if have != want {
		t.Errorf("%s does not have the names that @secrets stands for; run go test ./internal/config -run Documented -update", docFile)
	}
}

func guardNote(g string) string {
	switch g {
	case GuardMax:
		return " A repository may only lower it."
	case GuardMin:
		return " A repository may only raise it."
	case GuardOn:
		return " A repository may only turn it on."
	case GuardUser:
		return " Not from a repository."
	case GuardNoFile:
		return " Not from a file."
	}
	return ""
}
