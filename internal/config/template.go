package config

import (
	"encoding/json"
	"fmt"
	"strings"
)

const templateHead = `# croft.toml: how Croft makes workspaces in this repository.
#
# Each setting is shown at its default and is switched off. To set one, remove
# the # before it. What is not set here, everyone may choose for themselves;
# "croft config" shows what differs from the defaults and where it came from,
# "croft config --all" every value.
`

// Template returns a croft.toml in which every key that a repository may set stands at
// its default, commented out: a default in the file would override the users' own
// settings, and a header of a table would make a second one, which a user adds, an error.
func Template() []byte {
	var b strings.Builder
	b.WriteString(templateHead)
	table := ""
	for _, key := range Keys() {
		if !key.IsRepoSettable() {
			continue
		}
		if key.table() != table {
			table = key.table()
			b.WriteByte('\n')
		}
		b.WriteByte('\n')
		for _, line := range wrapText(key.repoDoc(), 76) {
			fmt.Fprintf(&b, "# %s\n", line)
		}
		fmt.Fprintf(&b, "#%s = %s\n", key.Name, tomlLiteral(key.defaultValue()))
	}
	return []byte(b.String())
}

// tomlLiteral writes a default as TOML, which for these types is JSON.
func tomlLiteral(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("config: a default does not marshal: %v", err))
	}
	return strings.ReplaceAll(string(text), `","`, `", "`)
}

// wrapText breaks text into lines of at most width bytes, where words allow it.
func wrapText(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) > width:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}
