package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

func newConfigCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show every setting and where it comes from",
		Long: `Show every setting, its value and where it comes from. A flag wins over a
CROFT_ variable, that over croft.toml in the repository, that over your own
configuration file, and that over the default.`,
		Args: takesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, err := a.projectRoot(cmd.Context())
			if err != nil {
				return codedError(cmd.Name(), err)
			}
			return codedError(cmd.Name(), a.runConfig(root))
		},
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of croft.toml",
		Args:  takesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return codedError("config schema", a.runConfigSchema())
		},
	}, newTrustCommand(a), newAcceptCommand(a))
	return cmd
}

// projectRoot is the root of the project, or empty where there is none: the
// configuration can be shown anywhere.
func (a *app) projectRoot(ctx context.Context) (string, error) {
	var repo *croft.Repo
	svc, err := a.open(ctx)
	if err == nil {
		defer svc.Close()
		repo, err = repoFinder(svc).Repo(ctx, croft.RepoRequest{Repo: a.dir()})
	}
	if errors.Is(err, croft.NotARepo) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return repo.Path, nil
}

func (a *app) runConfig(root string) error {
	view, err := a.configView(root)
	if err != nil {
		return err
	}
	for _, warning := range view.Warnings {
		a.note("%s", warning)
	}
	if a.json {
		a.emit(valuesResult{view.Values})
		return nil
	}
	rows := [][]cell{headingRow("KEY", "VALUE", "SOURCE")}
	for _, v := range view.Values {
		// Commands are one a line, because they may have commas in them.
		text := strings.ReplaceAll(v.Value, "\n", "; ")
		rows = append(rows, []cell{plainCell(v.Key), plainCell(orDash(text)), styledCell(v.Source, styleDim)})
	}
	a.printTable(rows)
	return nil
}

func (a *app) runConfigSchema() error {
	view, err := a.configView("")
	if err != nil {
		return err
	}
	if a.json {
		a.emit(schemaResult{view.Schema})
		return nil
	}
	a.printLine(strings.TrimRight(string(view.Schema), "\n"))
	return nil
}
