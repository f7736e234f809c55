package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/help"
	"github.com/croft-sh/croft/internal/cli/listing"
	"github.com/croft-sh/croft/internal/cli/results"
	"github.com/croft-sh/croft/internal/screen"
	"github.com/croft-sh/croft/internal/tui"
	"github.com/spf13/cobra"
)

// pick says how a command is asked for the name that it lacks.
type pick struct {
	what   string // what it takes, if that is no workspace
	does   string // what the command does with it: "merge", "merges it"
	third  string
	number pickNumber
	unless []string // flags that stand for a name
	from   pickFrom
	// isMeant says for which workspaces the command makes sense, and offers finds other things that it takes.
	isMeant func(*croft.Workspace) bool
	offers  func(ctx context.Context, svc croft.Service) (*candidates, error)
}

// pickNumber says how many names a command takes.
type pickNumber int

const (
	pickOne pickNumber = iota
	pickMany
)

// pickFrom says when a command lacks a name.
type pickFrom int

const (
	pickOutside pickFrom = iota // it takes the workspace that one stands in, if there is none
	pickAlways
)

// picks are the commands that ask for a name.
func (a *app) picks() map[string]pick {
	isThere := meant()["show"]
	return map[string]pick{
		"merge":   {does: "merge", third: "merges", number: pickMany, isMeant: meant()["merge"]},
		"remove":  {does: "remove", third: "removes", number: pickMany, from: pickAlways, unless: []string{"all"}, isMeant: meant()["remove"]},
		"discard": {does: "discard", third: "discards", number: pickMany, from: pickAlways, unless: []string{"all-pending"}, isMeant: meant()["discard"]},
		"unlock":  {does: "unlock", third: "unlocks", from: pickAlways, isMeant: meant()["unlock"]},
		"lock":    {does: "lock", third: "locks", from: pickAlways, isMeant: meant()["lock"]},
		"logs":    {does: "read the logs of", third: "shows", from: pickAlways, isMeant: meant()["logs"]},
		"show":    {does: "show", third: "shows", isMeant: isThere},
		"diff":    {does: "see", third: "shows", isMeant: meant()["diff"]},
		"sh":      {does: "work in", third: "opens", isMeant: isThere},
		"path":    {does: "go to", third: "goes to", isMeant: isThere},
		"review":  {does: "review", third: "reviews", isMeant: meant()["review"]},
		"finish":  {does: "finish", third: "finishes", isMeant: meant()["finish"]},
		"restore": {does: "restore", third: "restores", number: pickMany, from: pickAlways, offers: a.trashToPick},
		"revert":  {what: "merge", does: "revert", third: "reverts", from: pickAlways, offers: a.mergesToPick},
		"save":    {does: "save", third: "saves", isMeant: meant()["save"]},
		"stop":    {does: "stop", third: "stops", isMeant: meant()["stop"]},
		"adopt":   {what: "worktree", does: "adopt", third: "adopts", offers: a.worktreesToPick},
	}
}

// addPicks has commands ask for the name that they lack.
func (a *app) addPicks(root *cobra.Command) {
	picks := a.picks()
	for _, cmd := range root.Commands() {
		p, ok := picks[help.Key(cmd)]
		if !ok {
			continue
		}
		check, run := cmd.Args, cmd.RunE
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if check == nil || p.isMissing(cmd, args) {
				return nil
			}
			return check(cmd, args)
		}
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return run(cmd, args)
			}
			if !p.isMissing(cmd, args) {
				err := run(cmd, args)
				if !isNameless(err) {
					return err
				}
			}
			names, err := a.askForName(cmd, p)
			if err != nil {
				return err
			}
			return run(cmd, names)
		}
	}
}

// isMissing reports whether a command cannot do without a name.
func (p pick) isMissing(cmd *cobra.Command, args []string) bool {
	if len(args) > 0 || p.from == pickOutside {
		return false
	}
	return !slices.ContainsFunc(p.unless, func(flag string) bool { return cmd.Flag(flag).Changed })
}

// isNameless reports whether a command found no workspace because none was named and it was not called in one.
func isNameless(err error) bool {
	e, ok := errors.AsType[*croft.Error](err)
	return ok && e.Code == croft.WorktreeNotFound && e.Workspace == "" && e.Fields["ref"] == ""
}

// askForName has the user choose what a command takes, and shows the command with it. Without a terminal it fails, and names what
// could be taken.
func (a *app) askForName(cmd *cobra.Command, p pick) (names []string, err error) {
	err = a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
		choice, err := a.candidates(ctx, svc, p)
		if err != nil {
			return err
		}
		if len(choice.words) == 0 || !a.canPick() {
			return a.whichError(cmd, p, choice.words)
		}
		names, err = a.pickWords(ctx, p, choice)
		return err
	})
	if err != nil {
		return nil, err
	}
	a.env.Args = withWords(a.env.Args, cmd, names)
	text := a.typed(cmd)
	if cmd.Name() == "path" && a.env.Width == 0 { // the shell's function calls it so
		text = cmd.Root().Name() + " cd " + shellWord(names[0])
	}
	a.remark(screen.Span{Text: printable(text), Style: screen.Dim})
	return names, nil
}

// canPick reports whether there is a terminal on which something can be chosen.
func (a *app) canPick() bool {
	return a.canAsk() && !a.env.IsDumb && a.env.Keys != nil && a.env.ErrSize != nil
}

// withWords returns a command line with words at its end, but before a "--".
func withWords(args []string, cmd *cobra.Command, words []string) []string {
	end := len(args)
	if n := cmd.ArgsLenAtDash(); n >= 0 {
		end = len(args) - (len(cmd.Flags().Args()) - n) - 1
	}
	return slices.Insert(slices.Clone(args), end, words...)
}

// whichError is the error for a name that is missing.
func (a *app) whichError(cmd *cobra.Command, p pick, words []string) error {
	const most = 8
	what := cmp.Or(p.what, "workspace")
	e := &croft.Error{Code: croft.InvalidRequest, Op: cmd.Name(), Message: "which " + what + "? there is none to " + p.does, Hint: "croft list"}
	if len(words) > 0 {
		shown := words[:min(len(words), most)]
		e.Message = "which " + what + "? to " + p.does + ": " + strings.Join(shown, ", ")
		if more := len(words) - len(shown); more > 0 {
			e.Message += fmt.Sprintf(" and %d more", more)
		}
		line := []string{cmd.Root().Name()}
		for _, arg := range withWords(a.env.Args, cmd, words[:1]) {
			line = append(line, shellWord(arg))
		}
		e.Hint = strings.Join(line, " ")
	}
	return e
}

// candidates are what a command can take.
type candidates struct {
	words []string
	lines func(width int) (heading string, lines []string)
}

// candidates finds what a command can take, in the order in which a list has it.
func (a *app) candidates(ctx context.Context, svc croft.Service, p pick) (*candidates, error) {
	if p.offers != nil {
		return p.offers(ctx, svc)
	}
	const moment = croft.Duration(300 * time.Millisecond)
	list, err := lister(svc).Workspaces(ctx, croft.WorkspacesRequest{Repo: a.dir(), Look: moment})
	if err != nil {
		return nil, err
	}
	found := slices.DeleteFunc(list.Items, func(ws croft.Workspace) bool { return !p.isMeant(&ws) })
	slices.SortStableFunc(found, listing.ByKind)
	c := &candidates{}
	for _, ws := range found {
		c.words = append(c.words, ws.Name)
	}
	c.lines = func(width int) (string, []string) {
		to := a.toPick(width)
		return listing.Show(found, to, a.listedAt()).ToPick(to)
	}
	return c, nil
}

// trashToPick are the workspaces that can be restored.
func (a *app) trashToPick(ctx context.Context, svc croft.Service) (*candidates, error) {
	items, err := keeper(svc).Trash(ctx, croft.TrashRequest{Repo: a.dir()})
	if err != nil {
		return nil, err
	}
	c := &candidates{lines: func(width int) (string, []string) {
		return listing.Trash(items.Items, listing.IDsOfTwins, a.toPick(width), a.env.Now())
	}}
	for _, item := range items.Items {
		word := item.Name
		if slices.Contains(c.words, word) { // an older one of the same name has its ID only
			word = string(item.ID)
		}
		c.words = append(c.words, word)
	}
	return c, nil
}

// mergesToPick are the merges that can be reverted, the last one of each workspace.
func (a *app) mergesToPick(ctx context.Context, svc croft.Service) (*candidates, error) {
	found, err := a.mergesMeant(ctx, svc, croft.ScopeAll, canRevert)
	c := &candidates{lines: func(width int) (string, []string) { return listing.Merged(found, a.toPick(width), a.env.Now()) }}
	for _, m := range found {
		c.words = append(c.words, m.WorkspaceName)
	}
	return c, err
}

// worktreesToPick are the worktrees that others made.
func (a *app) worktreesToPick(ctx context.Context, svc croft.Service) (*candidates, error) {
	found, err := foreignWorktrees(ctx, svc, string(a.dir()))
	found = slices.DeleteFunc(found, func(wt croft.Worktree) bool { return wt.IsMain })
	c := &candidates{lines: func(width int) (string, []string) {
		var rows [][]string
		for _, wt := range found {
			rows = append(rows, []string{a.shownPath(wt.Path), orDash(wt.Branch), orDash(shortCommit(wt.Head))})
		}
		return "", results.Rows(a.toPick(width), rows)
	}}
	for _, wt := range found {
		c.words = append(c.words, a.shownPath(wt.Path))
	}
	return c, err
}

// toPick is the terminal on which something is chosen, as wide as its rows may be.
func (a *app) toPick(width int) screen.Stream {
	to := a.stderr()
	to.Width = width
	return to
}

// pickWords has the user choose, and returns the words.
func (a *app) pickWords(ctx context.Context, p pick, from *candidates) ([]string, error) {
	keys, err := a.env.Keys()
	if err != nil {
		return nil, croft.AsError("pick", err)
	}
	defer keys.Close()
	names := make([]string, len(from.words))
	for i, word := range from.words {
		names[i] = printable(word)
	}
	what := cmp.Or(p.what, "workspace")
	if p.number == pickMany {
		what += "s"
	}
	chosen, err := tui.Picker{
		Question: "which " + what + " to " + p.does + "?", Verb: p.third, IsMany: p.number == pickMany,
		Names: names, Lines: from.lines, Keys: keys, Out: a.env.Stderr, Stream: a.stderr(), Size: a.env.ErrSize,
	}.Pick(ctx)
	switch {
	case errors.Is(err, tui.ErrLeft):
		keys.Close()
		a.note("nothing was chosen")
		return nil, statusError(croft.ExitCanceled)
	case ctx.Err() != nil:
		return nil, croft.AsError("pick", ctx.Err())
	case err != nil:
		return nil, croft.AsError("pick", err)
	}
	var words []string
	for _, i := range chosen {
		words = append(words, from.words[i])
	}
	return words, nil
}
