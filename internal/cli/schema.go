package cli

import (
	"encoding/json"
	"errors"
	"io/fs"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

func newSchemaCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "schema [NAME]",
		Short: "Print the JSON Schema of a command's answer",
		Long: `Print the JSON Schema of what a command prints with --json. Without a name, list the
schemas. A name is a command with dashes between its words, such as round-start, or
error: what every command prints that fails.`,
		Example: `  croft schema
  croft schema list > list.schema.json`,
		Args: takesOptional("schema"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			entries, _ := a.schemas() // a completion has nowhere to tell it
			names := make([]string, len(entries))
			for i, e := range entries {
				names[i] = e.Name + "\t" + e.Title
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.listSchemas()
			}
			return a.printSchema(args[0])
		},
	}
}

// schemas lists the schemas by name.
func (a *app) schemas() ([]SchemaEntry, error) {
	names := a.env.Schemas.Names()
	entries := make([]SchemaEntry, len(names))
	for i, name := range names {
		text, err := a.env.Schemas.Read(name)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(text, &entries[i]); err != nil {
			return nil, err
		}
		entries[i].Name = name
	}
	return entries, nil
}

func (a *app) listSchemas() error {
	entries, err := a.schemas()
	if err != nil {
		return croft.AsError("schema", err)
	}
	if a.json {
		a.emit(schemasResult{entries})
		return nil
	}
	rows := [][]cell{headingRow("NAME", "DESCRIBES")}
	for _, e := range entries {
		rows = append(rows, plainRow(e.Name, e.Title))
	}
	a.printTable(rows)
	return nil
}

func (a *app) printSchema(name string) error {
	text, err := a.env.Schemas.Read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return &croft.Error{
			Code: croft.InvalidRequest, Op: "schema",
			Message: "there is no schema " + quoted(name),
			Hint:    a.env.Program + " schema",
		}
	}
	if err != nil {
		return croft.AsError("schema", err)
	}
	if a.json {
		a.emit(schemaResult{text})
		return nil
	}
	a.printLine(strings.TrimRight(string(text), "\n"))
	return nil
}
