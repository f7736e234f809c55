package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/screen"
	"github.com/spf13/cobra"
)

// settler is the part of croft.Service that `croft config set` calls.
type settler interface {
	finder
	repoFinder
}

func newConfigSetCommand(a *app) *cobra.Command {
	var isUser bool
	cmd := &cobra.Command{
		Use:   "set KEY VALUE...",
		Short: "Write one setting into croft.toml, or into your own configuration",
		Long: `Write one setting into croft.toml of the repository, or with --user into your own
configuration file. Comments and all else in the file stay as they are. A list takes each
item as a VALUE of its own; '' empties it.

What the file could not have, or would have in vain, is refused. In a workspace it is the
workspace's croft.toml, which comes to the target with its work.`,
		Example: `  croft config set merge.checks 'go vet ./...' 'go test ./...'
  croft config set --user pool.size 3`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usageError(cmd, "which setting, and which value? give both, such as merge.strategy squash")
			}
			return nil
		},
		RunE: a.withService(func(ctx context.Context, svc croft.Service, args []string) error {
			return a.runConfigSet(ctx, svc, ConfigChange{Key: args[0], Items: args[1:]}, isUser)
		}),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return a.completeSettingKeys(cmd, args, word)
			}
			return a.completeSettingValue(args), cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().BoolVar(&isUser, "user", false, "write your own configuration file, which holds in all repositories")
	return cmd
}

// completeSettingValue offers the words that a setting may be.
func (a *app) completeSettingValue(args []string) []cobra.Completion {
	view, err := a.env.Config(a.env.Dir, nil) // completion says no errors
	at := slices.IndexFunc(view.Values, func(v ConfigValue) bool { return v.Key == args[0] })
	if err != nil || at < 0 || len(args) > 1 {
		return nil
	}
	return view.Values[at].Words
}

// runConfigSet writes a setting. In no repository only --user does.
func (a *app) runConfigSet(ctx context.Context, svc settler, change ConfigChange, isUser bool) error {
	repo, err := svc.Repo(ctx, croft.RepoRequest{Repo: a.dir()})
	if err != nil && (!isUser || !errors.Is(err, croft.NotARepo)) {
		return err
	}
	root, around := "", ""
	if repo != nil {
		root = repo.Path
		if ws, err := svc.Workspace(ctx, croft.WorkspaceRequest{Repo: a.dir(), Ref: croft.ByPath(a.env.Dir)}); err == nil && ws.Path != repo.Path {
			around = ws.Path
		}
	}
	switch {
	case isUser && around != "":
		words := []string{"croft config set --user", shellWord(change.Key)}
		for _, item := range change.Items {
			words = append(words, shellWord(item))
		}
		return &croft.Error{
			Code: croft.InvalidRequest, Op: "config set", Message: "your own configuration is not written from inside a workspace, where agents work", Details: around,
			Hint: "cd " + shellWord(root) + " && " + strings.Join(words, " "),
		}
	case isUser:
	case around != "":
		change.Root = around
	case repo.IsBare:
		return &croft.Error{
			Code: croft.Unsupported, Op: "config set", Message: "a bare repository has no checkout for " + configFile,
			Details: "set it in a workspace instead, and merge that", Hint: "croft new",
		}
	default:
		change.Root = root
	}
	written, err := a.env.SetConfig(change)
	if err != nil {
		return err
	}
	view, err := a.configView(root)
	if err != nil {
		return err
	}
	result := writtenResult{Value: written, Holds: written}
	if at := slices.IndexFunc(view.Values, func(v ConfigValue) bool { return v.Key == written.Key }); at >= 0 {
		result.Holds = view.Values[at]
	}
	if a.json {
		a.emit(result)
		return nil
	}
	a.printWritten(result, change.Root)
	return nil
}

// printWritten says what was written, and what it takes until that counts.
func (a *app) printWritten(r writtenResult, root string) {
	value := strings.ReplaceAll(orDash(r.Value.Value), "\n", "; ")
	if a.isShown() {
		a.printOutcomes(outcome{Kind: screen.Done, Name: r.Value.Key, Word: printable(value), IsPlain: true, Detail: []screen.Span{{Text: a.shownSource(r.Value.Source), Style: styleDim}}})
	} else {
		a.printTable([][]cell{{plainCell(r.Value.Key), plainCell(value), plainCell(r.Value.Source)}})
	}
	isOfTarget := root != "" && strings.HasPrefix(r.Value.Key, "merge.")
	switch {
	case isOfTarget && r.Value.Key == "merge.checks" && r.Value.Value != "":
		a.note("checks run once %s is committed to the target and they are approved: croft config trust", configFile)
	case isOfTarget:
		a.note("merges go by it once %s is committed to their target", configFile)
	case r.Holds.Source != r.Value.Source && r.Holds.Value != r.Value.Value:
		a.note("here it stays %s, by %s", orDash(r.Holds.Value), r.Holds.Source)
	}
}
