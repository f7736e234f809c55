package cli

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/listing"
	"github.com/croft-sh/croft/internal/cli/wording"
	"github.com/spf13/cobra"
)

func newConfigCommand(a *app) *cobra.Command {
	var isAll bool
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show the settings and where they come from",
		Long: `Show the settings that are not as they are by default, with --all every setting, and
where each comes from. A flag wins over a CROFT_ variable, that over croft.toml in the
repository, that over your own configuration file, and that over the default.

On a pipe every setting is there, one a line.`,
		Args: takesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withConfig(cmd, func(view ConfigView) error { return a.runConfig(view, isAll) })
		},
	}
	cmd.Flags().BoolVar(&isAll, "all", false, "every setting")
	cmd.AddCommand(newConfigGetCommand(a), newConfigSetCommand(a), &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of croft.toml",
		Args:  takesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return codedError("config schema", a.runConfigSchema())
		},
	}, newTrustCommand(a), newAcceptCommand(a))
	return cmd
}

func newConfigGetCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "get KEY",
		Short: "Print the value of one setting",
		Long: `Print the value of one setting, such as merge.strategy, as Croft uses it here; of a
list one item a line. Of one that is empty nothing is printed.`,
		Args: takesOne("setting", "its key, such as merge.strategy"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withConfig(cmd, func(view ConfigView) error { return a.runConfigGet(view, args[0]) })
		},
		ValidArgsFunction: completeFirst(a.completeSettingKeys),
	}
}

// completeSettingKeys completes the key of a setting.
func (a *app) completeSettingKeys(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var offers []cobra.Completion
	if view, err := a.env.Config(a.env.Dir, nil); err == nil { // completion says no errors
		for _, v := range view.Values {
			offers = append(offers, described(v.Key, "now "+v.Value))
		}
	}
	return offers, cobra.ShellCompDirectiveNoFileComp
}

// withConfig hands the configuration of the project to a command that shows it.
func (a *app) withConfig(cmd *cobra.Command, show func(ConfigView) error) error {
	root, err := a.projectRoot(cmd.Context())
	if err != nil {
		return codedError(cmd.Name(), err)
	}
	view, err := a.configView(root)
	if err == nil {
		for _, warning := range view.Warnings {
			a.tellNotice(warning)
		}
		err = show(view)
	}
	return codedError(cmd.Name(), err)
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

func (a *app) runConfig(view ConfigView, isAll bool) error {
	switch {
	case a.json:
		a.emit(valuesResult{view.Values})
	case a.env.Width > 0:
		a.page()
		a.printSettings(view.Values, isAll)
	default:
		rows := [][]cell{headingRow("KEY", "VALUE", "SOURCE")}
		for _, v := range view.Values {
			// Commands are one a line, because they may have commas in them.
			text := strings.ReplaceAll(v.Value, "\n", "; ")
			rows = append(rows, []cell{plainCell(v.Key), plainCell(orDash(text)), styledCell(v.Source, styleDim)})
		}
		widths := columnWidths(rows)
		widths[1] = min(widths[1], mostValue) // one long list does not pad the lines of all others
		a.printTableLike(rows, widths)
	}
	return nil
}

// mostValue is how wide the column of values is at most.
const mostValue = 24

// printSettings shows settings on a terminal, of a list one item a line. Those that are as they are by default
// are counted, unless all are wanted.
func (a *app) printSettings(values []ConfigValue, isAll bool) {
	to := a.stdout()
	rows, others := []listing.Setting{}, 0
	for _, v := range values {
		if v.Source == defaultSource && !isAll {
			others++
			continue
		}
		rows = append(rows, listing.Setting{Key: v.Key, Items: v.items(), Source: a.shownSource(v.Source)})
	}
	a.printLines(listing.Settings(rows, to))
	switch {
	case others > 0 && len(rows) == 0:
		a.note("all %d settings have their defaults: croft config --all", others)
	case others > 0:
		a.note("  %s: croft config --all", countOf(others, "other has its default", "others have their defaults"))
	}
}

// defaultSource is the source of what nobody has set.
const defaultSource = "default"

// items are the items of a list, or the one value of anything else.
func (v ConfigValue) items() []string {
	switch {
	case v.IsList && !strings.Contains(v.Value, "\n"):
		return strings.Split(v.Value, ",")
	default:
		return strings.Split(v.Value, "\n")
	}
}

// shownSource is a file and its line as people read it.
func (a *app) shownSource(source string) string {
	path, line, ok := strings.Cut(source, ":")
	if !ok || !filepath.IsAbs(path) {
		return printable(source)
	}
	shown := listing.HomePath(path, a.env.Home)
	if rel := a.shownPath(path); len(rel) < len(shown) {
		shown = rel
	}
	return printable(shown) + ":" + line
}

func (a *app) runConfigGet(view ConfigView, key string) error {
	var keys []string
	for _, v := range view.Values {
		keys = append(keys, v.Key)
		if v.Key != key {
			continue
		}
		if a.json {
			a.emit(valuesResult{[]ConfigValue{v}})
		} else if v.Value != "" {
			a.printLine(printableLines(strings.Join(v.items(), "\n")))
		}
		return nil
	}
	e := &croft.Error{Code: croft.InvalidRequest, Op: "config get", Message: "there is no setting " + quoted(key), Hint: "croft config --all"}
	if near := wording.Nearest(key, keys); near != "" {
		e.Hint = "croft config get " + near
	} else if table, _, is := strings.Cut(key, "."); is {
		beside := slices.DeleteFunc(keys, func(k string) bool { return !strings.HasPrefix(k, table+".") })
		e.Details = strings.Join(beside, "\n")
	}
	return e
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
