package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/help"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// completionLook is how long completion looks at the work of workspaces: who presses Tab waits for it.
const completionLook = croft.Duration(25 * time.Millisecond)

// addCompletions completes the arguments of all commands, and the values of their flags, with names for
// which the command makes sense.
func (a *app) addCompletions(root *cobra.Command) {
	words := a.argumentCompletions()
	values := a.valueCompletions()
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if complete, ok := words[help.Key(cmd)]; ok {
			cmd.ValidArgsFunction = complete
		} else if cmd.HasParent() && cmd.Use == cmd.Name() && cmd.ValidArgsFunction == nil && len(cmd.ValidArgs) == 0 && !cmd.HasSubCommands() { // it takes nothing
			cmd.ValidArgsFunction = cobra.NoFileCompletions
		}
		if cmd.ValidArgsFunction != nil {
			cmd.ValidArgsFunction = onlyPlain(cmd.ValidArgsFunction)
		}
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			complete, ok := values[flag.Name]
			if _, has := cmd.GetFlagCompletionFunc(flag.Name); !ok || has || flag.Value.Type() == "bool" {
				return
			}
			if flag.Value.Type() == "stringArray" && slices.Contains(refFlags(), flag.Name) { // AGENT=BRANCH
				complete = cobra.NoFileCompletions
			}
			registerCompletion(cmd, flag.Name, complete)
		})
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
}

// meant says for which workspaces a command makes sense, by the name of the command.
func meant() map[string]func(*croft.Workspace) bool {
	isThere := func(*croft.Workspace) bool { return true }
	isUnlocked := func(ws *croft.Workspace) bool { return !ws.IsLocked }
	table := map[string]func(*croft.Workspace) bool{
		"save":        hasUncommitted,
		"lock":        isUnlocked,
		"remove":      isUnlocked,
		"unlock":      func(ws *croft.Workspace) bool { return ws.IsLocked },
		"role update": func(ws *croft.Workspace) bool { return ws.Role != "" },
		"stop":        func(ws *croft.Workspace) bool { return ws.Run != nil && ws.Run.EndedAt.IsZero() },
		"logs":        hasLog,
	}
	for name := range strings.FieldsSeq("merge push review apply diff") {
		table[name] = hasWork
	}
	for name := range strings.FieldsSeq("finish discard") { // also of an agent that has done nothing yet
		table[name] = func(ws *croft.Workspace) bool { return hasWork(ws) || ws.Status == croft.ConditionWorking }
	}
	for name := range strings.FieldsSeq("cd env hold mounts path provision sh show snapshot run meta ports") {
		table[name] = isThere
	}
	return table
}

// argumentCompletions complete the arguments of commands.
func (a *app) argumentCompletions() map[string]cobra.CompletionFunc {
	table := map[string]cobra.CompletionFunc{
		"restore":       a.completeOffers(a.offerTrash),
		"revert":        completeFirst(a.completeOffers(a.offerReverts)),
		"queue cancel":  a.completeWaiting(func(croft.Merge) bool { return true }),
		"queue first":   a.completeWaiting(func(croft.Merge) bool { return true }),
		"queue hold":    a.completeWaiting(func(m croft.Merge) bool { return !m.IsHeld }),
		"queue release": a.completeWaiting(func(m croft.Merge) bool { return m.IsHeld }),
		"undo":          completeFirst(a.completeActs),
		"session end":   completeFirst(a.completeOpenSession),
		"token revoke":  completeFirst(a.completeTokens),
		"token new":     cobra.NoFileCompletions,
	}
	for name, isMeant := range meant() {
		switch complete := a.completeIf(isMeant); name {
		case "merge", "push", "remove", "discard", "ports": // take several
			table[name] = complete
		case "diff", "save", "run":
			table[name] = completeThenFiles(complete)
		default:
			table[name] = completeFirst(complete)
		}
	}
	return table
}

// refFlags are flags whose values are refs of the project, in all commands.
func refFlags() []string { return []string{"into", "base", "target", "branch"} }

// valueCompletions complete the values of flags that have none of their own, by their names.
func (a *app) valueCompletions() map[string]cobra.CompletionFunc {
	fixed := func(words ...string) cobra.CompletionFunc {
		return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	}
	none := cobra.CompletionFunc(cobra.NoFileCompletions)
	table := map[string]cobra.CompletionFunc{
		"strategy":   fixed("no-ff\ta merge commit, always", "squash\tone commit with all of it"),
		"outcome":    fixed("succeeded", "failed", "killed"),
		"mode":       fixed(modeWords()...),
		"set":        a.completeSettings,
		"session":    a.completeOpenSession,
		"role":       a.completeRole,
		"color":      fixed("always", "never", "auto"),
		"older-than": fixed("24h", "7d", "14d"),
		"remote":     fixed("origin"),
		"repo":       completeDirectories, "home": completeDirectories,
		"log-file": completeFiles, "config": completeFiles,
	}
	for _, name := range refFlags() {
		table[name] = a.completeBranches
	}
	for name := range strings.FieldsSeq(`message reason key head review priority limit pid title body check merge after number label winner
		agents agent workdir grace release tcp step pr name hunks meta for`) {
		table[name] = none
	}
	return table
}

func completeDirectories(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

func completeFiles(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// completeThenFiles completes the first argument, and leaves files to the shell after it.
func completeThenFiles(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return complete(cmd, args, word)
	}
}

// hasWork reports whether a workspace has something to bring back, as far as was seen.
func hasWork(ws *croft.Workspace) bool {
	switch ws.Status {
	case croft.ConditionMerged, croft.ConditionInPlace, croft.ConditionMissing, croft.ConditionMaking:
		return false
	case croft.ConditionEmpty:
		return ws.IsUnseen()
	case croft.ConditionLocked, croft.ConditionWorking:
		return !ws.Work.Has(croft.AspectFiles) || !ws.Work.Has(croft.AspectCommits) || ws.Work.Ahead+ws.Work.Uncommitted > 0
	}
	return true
}

// hasLog reports whether an agent or a check of a workspace has printed something, as far as a list tells.
func hasLog(ws *croft.Workspace) bool {
	return ws.Run != nil || ws.Status == croft.ConditionChecking || ws.MergeReason == croft.CheckFailed || ws.MergeReason == croft.TargetBroken
}

// hasUncommitted reports whether a workspace may have uncommitted work.
func hasUncommitted(ws *croft.Workspace) bool {
	return !ws.Work.Has(croft.AspectFiles) || ws.Work.Uncommitted > 0
}

// completeIf completes names of workspaces, for every argument, none twice.
func (a *app) completeIf(isMeant func(*croft.Workspace) bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return a.complete(cmd, func(ctx context.Context, svc croft.Service) (offers []cobra.Completion, err error) {
			list, err := lister(svc).Workspaces(ctx, croft.WorkspacesRequest{Repo: a.dir(), Look: completionLook})
			if err != nil {
				return nil, err
			}
			for i := range list.Items {
				if ws := &list.Items[i]; isMeant(ws) && !slices.Contains(args, ws.Name) {
					offers = append(offers, described(ws.Name, workText(ws)))
				}
			}
			slices.Sort(offers)
			return offers, nil
		})
	}
}

// onlyPlain leaves out the words that a shell does not read as they are. bash puts what several have in common into the line without
// quotes, and evaluates the line when Tab is pressed again: an agent that makes two branches with one beginning would have it run.
func onlyPlain(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		offers, directive := complete(cmd, args, word)
		return slices.DeleteFunc(slices.Clone(offers), func(offer cobra.Completion) bool {
			name, _, _ := strings.Cut(offer, "\t")
			return shellWord(name) != name
		}), directive
	}
}

// described is a completion with what is said of it. An agent may have chosen words of both, so nothing
// of them reaches the shell but what can be printed.
func described(word, text string) cobra.Completion {
	return cobra.CompletionWithDesc(printable(word), printable(text))
}

// workText says what a workspace is like and how much work it has.
func workText(ws *croft.Workspace) string {
	text := strings.ReplaceAll(string(ws.Status), "-", " ")
	if ws.IsUnseen() {
		text = "not looked at"
	}
	if ws.Work.Has(croft.AspectCommits) && ws.Work.Added > 0 {
		text += fmt.Sprintf(" +%d", ws.Work.Added)
	}
	if ws.Work.Has(croft.AspectCommits) && ws.Work.Deleted > 0 {
		text += fmt.Sprintf(" -%d", ws.Work.Deleted)
	}
	return text
}

// completeOffers completes what a command takes that is no live workspace.
func (a *app) completeOffers(offer func(context.Context, croft.Service) ([]cobra.Completion, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return a.complete(cmd, offer)
	}
}

// offerTrash offers the names of removed workspaces.
func (a *app) offerTrash(ctx context.Context, svc croft.Service) (offers []cobra.Completion, err error) {
	items, err := keeper(svc).Trash(ctx, croft.TrashRequest{Repo: a.dir()})
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, item := range items.Items {
		word := item.Name
		if seen[word] { // an older one of the same name has its ID only
			word = string(item.ID)
		}
		seen[item.Name] = true
		offers = append(offers, described(word, "removed "+whenText(a.env.Now(), item.RemovedAt)))
	}
	return offers, nil
}

// offerReverts offers names of workspaces that have a merge which can be reverted, the last merge first.
func (a *app) offerReverts(ctx context.Context, svc croft.Service) ([]cobra.Completion, error) {
	return a.offerMerges(ctx, svc, croft.ScopeAll, canRevert, func(m croft.Merge) string {
		return "merged into " + m.Target + " as " + shortCommit(m.Commit)
	})
}

func canRevert(m croft.Merge) bool {
	return m.Status == croft.MergeMerged && m.Kind != croft.KindRevert && m.Commit != ""
}

// completeWaiting completes names of workspaces whose merges wait.
func (a *app) completeWaiting(isMeant func(croft.Merge) bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		isNew := func(m croft.Merge) bool { return isMeant(m) && !slices.Contains(args, m.WorkspaceName) }
		return a.complete(cmd, func(ctx context.Context, svc croft.Service) ([]cobra.Completion, error) {
			return a.offerMerges(ctx, svc, "", isNew, func(m croft.Merge) string { return string(m.State) + ", into " + m.Target })
		})
	}
}

// offerMerges offers names of workspaces that have a merge of a kind, each once.
func (a *app) offerMerges(ctx context.Context, svc croft.Service, scope croft.Scope, isMeant func(croft.Merge) bool, text func(croft.Merge) string) (offers []cobra.Completion, err error) {
	found, err := a.mergesMeant(ctx, svc, scope, isMeant)
	for _, m := range found {
		offers = append(offers, described(m.WorkspaceName, text(m)))
	}
	return offers, err
}

// mergesMeant are the last merges of a kind, one of each workspace.
func (a *app) mergesMeant(ctx context.Context, svc mergeLister, scope croft.Scope, isMeant func(croft.Merge) bool) (found []croft.Merge, err error) {
	merges, err := svc.Merges(ctx, croft.MergesRequest{Repo: a.dir(), Scope: scope, Page: croft.Page{Limit: 100}})
	if err != nil {
		return nil, err
	}
	named := map[string]bool{}
	for _, m := range merges.Items {
		if name := m.WorkspaceName; isMeant(m) && !named[name] {
			named[name] = true
			found = append(found, m)
		}
	}
	return found, nil
}

// completeActs completes IDs of acts that can be taken back.
func (a *app) completeActs(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.complete(cmd, func(ctx context.Context, svc croft.Service) (offers []cobra.Completion, err error) {
		acts, err := croft.History(svc).History(ctx, croft.HistoryRequest{Repo: a.dir(), Page: croft.Page{Limit: 20}})
		if err != nil {
			return nil, err
		}
		ids := make([]croft.ID, len(acts.Items))
		for i, act := range acts.Items {
			ids[i] = act.ID
		}
		short := shortIDs(ids)
		for _, act := range acts.Items {
			if act.IsUndoable {
				offers = append(offers, described(short[act.ID], act.Kind+" "+act.WorkspaceName+", "+whenText(a.env.Now(), act.StartedAt)))
			}
		}
		return offers, nil
	})
}

func (a *app) completeTokens(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if a.env.Tokens.List == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	tokens, _ := a.env.Tokens.List() // completion says no errors
	var offers []cobra.Completion
	for _, t := range tokens {
		offers = append(offers, described(t.Name, string(t.Access)))
	}
	return offers, cobra.ShellCompDirectiveNoFileComp
}

// completeSettings completes the key of a setting; its value is left to the user.
func (a *app) completeSettings(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	if a.env.Config == nil || strings.Contains(word, "=") {
		return nil, directive
	}
	view, err := a.env.Config(a.env.Dir, nil)
	if err != nil {
		return nil, directive
	}
	var offers []cobra.Completion
	for _, v := range view.Values {
		offers = append(offers, described(v.Key+"=", "now "+v.Value))
	}
	return offers, directive
}
