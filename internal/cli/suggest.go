package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/wording"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// commandAliases are further names of commands: those that other tools have for the same.
func commandAliases() map[string][]string {
	return map[string][]string{
		"list": {"ls", "status", "st"}, "new": {"add", "create"}, "remove": {"rm", "delete"}, "cd": {"switch"},
		"show": {"info"}, "clean": {"prune"}, "merge": {"land"}, "sh": {"shell"}, "undo": {redoName},
	}
}

// flagAliases are the flags that other tools call differently: those of a command that are meant by a name.
func flagAliases() map[string][]string {
	return map[string][]string{"from": {"base"}, "start-point": {"base"}, "to": {"into"}, "onto": {"into"}, "target": {"into"}}
}

func addAliases(root *cobra.Command) {
	aliases := commandAliases()
	for _, cmd := range root.Commands() {
		cmd.Aliases = aliases[cmd.Name()]
	}
}

// completeAliases completes further names of commands, once a part of one is typed.
func completeAliases(root *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var offers []cobra.Completion
	for _, cmd := range root.Commands() {
		for _, alias := range cmd.Aliases {
			if len(args) == 0 && word != "" && strings.HasPrefix(alias, word) {
				offers = append(offers, cobra.CompletionWithDesc(alias, cmd.Short))
			}
		}
	}
	slices.Sort(offers)
	return offers, cobra.ShellCompDirectiveNoFileComp
}

// harmless are commands that change nothing: of two names that are as near to a typed one, theirs
// is suggested.
func harmless() []string {
	return []string{
		"list", "show", "diff", "logs", "conflicts", "history", "trash", "queue", "path", "env", "events", "repos", "config", "help", "version",
		"mounts", "ports", "schema",
	}
}

// nearestCommand is the name of a command of parent's that a word is a mistyped form of; empty: none.
func nearestCommand(parent *cobra.Command, word string) string {
	var first, second []string
	for _, cmd := range parent.Commands() {
		if cmd.Hidden {
			continue
		}
		names := append([]string{cmd.Name()}, cmd.Aliases...)
		if slices.Contains(harmless(), cmd.Name()) {
			first = append(first, names...)
		} else {
			second = append(second, names...)
		}
	}
	return wording.Nearest(word, append(first, second...))
}

// suggestName has an error about a name that nothing has hint at the same command line with the
// nearest name that something has. Nothing is run by guess.
func (a *app) suggestName(ctx context.Context, svc namer, err error) error {
	e, ok := errors.AsType[*croft.Error](err)
	switch {
	case ok && e.Code == croft.NotARepo && e.Hint == outsideHint:
		return a.suggestProjects(ctx, svc, *e)
	case !ok:
		return err
	}
	at := slices.Index(a.env.Args, e.Fields["ref"])
	if at < 0 {
		return err
	}
	near := a.nearestName(ctx, svc, e)
	if near == "" {
		return err
	}
	suggested := *e
	words := slices.Concat([]string{a.env.Program}, a.env.Args)
	words[at+1] = near
	for i, word := range words[1:] {
		words[i+1] = shellWord(word)
	}
	suggested.Hint = strings.Join(words, " ")
	return &suggested
}

// nearestName is the name that something has which is nearest to the one that an error did not find; empty: none. What is in the
// trash was not mistyped.
func (a *app) nearestName(ctx context.Context, svc namer, e *croft.Error) string {
	if e.Fields["ref"] == "" || e.Fields["removed"] != "" {
		return ""
	}
	return wording.Nearest(e.Fields["ref"], a.namesLike(ctx, svc, e.Code))
}

// namer is the part of croft.Service that has the names of things.
type namer interface {
	Repos(ctx context.Context, req croft.ReposRequest) (*croft.List[croft.Repo], error)
	Workspaces(ctx context.Context, req croft.WorkspacesRequest) (*croft.List[croft.Workspace], error)
	Sessions(ctx context.Context, req croft.SessionsRequest) (*croft.List[croft.Session], error)
}

// outsideHint is the hint of the Service outside of a git repository.
const outsideHint = "git init"

// suggestProjects has the error outside of a repository hint at the list of all projects, if one is known.
func (a *app) suggestProjects(ctx context.Context, svc namer, e croft.Error) error {
	if known, err := svc.Repos(ctx, croft.ReposRequest{Page: croft.Page{Limit: 1}}); err == nil && len(known.Items) > 0 && e.Op != "new" {
		e.Hint = a.env.Program + " list -A"
	}
	return &e
}

// withNearestFlag is the command line with the flag that is nearest to one that a command does not have; empty: none.
func (a *app) withNearestFlag(cmd *cobra.Command, err error) string {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok || len(unknown.GetSpecifiedShortnames()) > 0 {
		return ""
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Deprecated == "" {
			names = append(names, f.Name)
		}
	})
	name := unknown.GetSpecifiedName()
	near := wording.Nearest(name, names)
	for _, same := range flagAliases()[name] {
		if slices.Contains(names, same) {
			near = same
		}
	}
	if near == "" {
		return ""
	}
	words := []string{a.env.Program}
	for i, word := range a.env.Args {
		flag, value, hasValue := strings.Cut(word, "=")
		if flag != "--"+name {
			words = append(words, shellWord(word))
			continue
		}
		if flag = "--" + near; hasValue {
			flag += "=" + shellWord(value)
		}
		words = append(words, flag)
		for _, rest := range a.env.Args[i+1:] {
			words = append(words, shellWord(rest))
		}
		return strings.Join(words, " ")
	}
	return ""
}

// unknownWordError is the error for a word that a flag does not have. It hints at the nearest, and names all only if none is near.
func unknownWordError(cmd *cobra.Command, what, flag, word string, known []string) *croft.Error {
	e := usageError(cmd, "unknown "+what+" "+quoted(word))
	if near := wording.Nearest(word, known); near != "" {
		e.Hint = cmd.CommandPath() + " " + flag + " " + near
	} else {
		e.Message += ": " + strings.Join(known, ", ")
	}
	return e
}

// namesLike are the names of what an error did not find.
func (a *app) namesLike(ctx context.Context, svc namer, code croft.Code) (names []string) {
	switch code {
	case croft.WorktreeNotFound:
		live, err := svc.Workspaces(ctx, croft.WorkspacesRequest{Repo: a.dir()})
		if err != nil {
			return nil
		}
		for _, ws := range live.Items {
			names = append(names, ws.Name)
		}
	case croft.SessionNotFound:
		sessions, err := svc.Sessions(ctx, croft.SessionsRequest{Repo: a.dir()})
		if err != nil {
			return nil
		}
		for _, ses := range sessions.Items {
			names = append(names, sessionName(ses))
		}
	}
	return names
}
