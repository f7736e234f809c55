package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/help"
	"github.com/croft-sh/croft/internal/cli/listing"
	"github.com/croft-sh/croft/internal/cli/live"
	"github.com/croft-sh/croft/internal/cli/results"
	"github.com/croft-sh/croft/internal/screen"
	"github.com/spf13/cobra"
)

// Names as nobody hopes for.
var (
	longName   = strings.Repeat("long-", 11) + "names" // 60 columns
	wideName   = strings.Repeat("検索", 15)              // 60 columns
	emojiName  = "🚀🚀-launch-👩‍🚀-🇩🇪-e\u0301"
	longBranch = "feature/" + strings.Repeat("very-", 10) + "long"
	longPath   = "src/" + strings.Repeat("deep/er/", 12) + "検索-👩‍🚀.go"
)

func oddNames() []string { return []string{longName, wideName, emojiName, "a"} }

// crowd is a Service in which everything has such names.
type crowd struct{ *fake }

func (c crowd) oddMerge(name string, change func(*croft.Merge)) croft.Merge {
	m := croft.Merge{
		ID: "gn5cmqt6k8vx0g51", Workspace: "a1", WorkspaceName: name, Target: longBranch, State: croft.MergeDone, Status: croft.MergePending,
		Commit: "2527144aaaa", SubmittedAt: noon.Add(-time.Hour), EndedAt: noon.Add(-26 * time.Minute),
	}
	change(&m)
	return m
}

// oddMerges are merges in all their states.
func (c crowd) oddMerges() []croft.Merge {
	conflicts := []croft.ConflictedPath{
		{Path: longPath, Kind: "contents", Against: longName, Hunks: []croft.ConflictHunk{{Line: 1234}}},
		{Path: "検索検索/" + longPath, Kind: "modify/delete", Against: wideName},
	}
	hint := func(format string, name string) string { return fmt.Sprintf(format, shellWord(name)) }
	return []croft.Merge{
		c.oddMerge(longName, func(m *croft.Merge) {
			m.Status = croft.MergeMerged
			m.Moved = "your checkout of " + longBranch + " stays"
		}),
		c.oddMerge(wideName, func(m *croft.Merge) {
			m.Reason, m.Conflicts, m.Hint = croft.Conflict, conflicts, hint("croft merge --resolve %s", wideName)
		}),
		c.oddMerge(emojiName, func(m *croft.Merge) { m.Reason = croft.CheckFailed }),
		c.oddMerge(longName, func(m *croft.Merge) { m.Reason, m.Details = croft.HostDirty, longPath+"\n"+longPath }),
		c.oddMerge(longName, func(m *croft.Merge) {
			m.Reason, m.Message, m.Details = croft.ChecksUntrusted, strings.Repeat("検", 70)+" waits for "+longPath, longPath
			m.Hint = "croft config trust --target " + longBranch
		}),
		c.oddMerge(longName, func(m *croft.Merge) {
			m.Status, m.HeldBack = croft.MergeMerged, []string{longPath, ".env"}
			m.Kept = &croft.Error{Message: longName + " is in use", Details: longPath, Hint: hint("croft remove %s", longName)}
		}),
		c.oddMerge(longName, func(m *croft.Merge) { m.Status, m.Kind = croft.MergeMerged, croft.KindRevert }),
		c.oddMerge(longName, func(m *croft.Merge) { m.Status = "" }),
		c.oddMerge(wideName, func(m *croft.Merge) {
			m.State, m.IsHeld, m.Hold = croft.MergeQueued, true, &croft.MergeHold{Actor: "agent in " + longName, At: noon.Add(-time.Hour), Reason: "wait for " + wideName}
		}),
		c.oddMerge(emojiName, func(m *croft.Merge) {
			m.State = croft.MergeChecking
			m.Attempts = []croft.Attempt{{Checks: []croft.Check{{Command: "go test -run " + longName, State: croft.TryRunning, StartedAt: noon, Usual: croft.Duration(time.Hour)}}}}
		}),
		c.oddMerge("a", func(m *croft.Merge) { m.State, m.Message = croft.MergeQueued, "waits for "+longName }),
	}
}

func (c crowd) Merges(context.Context, croft.MergesRequest) (*croft.List[croft.Merge], error) {
	return listOf(c.oddMerges(), nil)
}

func (c crowd) Lanes(context.Context, croft.LanesRequest) (*croft.List[croft.Lane], error) {
	return listOf([]croft.Lane{{Target: longBranch, Tip: "1234567890", Message: "others moved " + longBranch, Protect: true}}, nil)
}

func (c crowd) PlanRevert(context.Context, croft.RevertRequest) (*croft.RevertPlan, error) {
	merges := c.oddMerges()
	return &croft.RevertPlan{Merge: merges[0], Later: 2, Conflicts: merges[1].Conflicts}, nil
}

// crowded returns a Service with odd names, and what it has.
func crowded() crowd {
	var list []croft.Workspace
	var collisions []croft.Collision
	for i, name := range oddNames() {
		ws := nine()[i]
		ws.Name, ws.Branch, ws.Path, ws.Target, ws.Why = name, "croft/"+name, "/home/ann/app.croft/"+name, longBranch, "because of "+longPath
		ws.Next = &croft.Next{Command: "croft merge --resolve " + shellWord(name)}
		list = append(list, ws)
		collisions = append(collisions, croft.Collision{A: name, B: longBranch, IsTarget: true, Paths: []string{longPath, "a"}})
		if i > 0 {
			collisions = append(collisions, croft.Collision{A: oddNames()[i-1], B: name, Paths: []string{longPath, "go.mod", "x"}})
		}
	}
	c := crowd{&fake{
		workspaces: func(croft.WorkspacesRequest) ([]croft.Workspace, error) { return slices.Clone(list), nil },
		workspace: func(req croft.WorkspaceRequest) (*croft.Workspace, error) {
			i := max(slices.IndexFunc(list, func(ws croft.Workspace) bool { return ws.Name == req.Ref }), 0)
			ws := list[i]
			return &ws, nil
		},
		status: func(croft.ID) (*croft.Status, error) {
			return &croft.Status{Modified: 12, Ahead: 123, Behind: 9}, nil
		},
		repos: []croft.Repo{{Path: project, Branch: longBranch, Head: "e00e2719aaaa"}},
		repo: func(string) (*croft.Repo, error) {
			return &croft.Repo{Path: project, Branch: longBranch}, nil
		},
		history: func(croft.HistoryRequest) ([]croft.Operation, error) {
			return []croft.Operation{
				{ID: "gn5cmqt6k8vx0g51", Kind: "merge", WorkspaceName: longName + " " + wideName, Actor: "agent in " + wideName, State: "done", IsUndoable: true, StartedAt: noon.Add(-47 * time.Hour)},
				{ID: "gn5dmqt6k8vx0g51", Kind: "merge", WorkspaceName: emojiName, Actor: "ada", State: "undone", StartedAt: noon.Add(-3 * time.Minute)},
			}, nil
		},
		diff: func(croft.DiffRequest) (*croft.Review, error) {
			return &croft.Review{
				WorkspaceName: longName, HeldBack: []string{longPath}, Total: croft.Changes{Files: 3, Added: 123456, Deleted: 7},
				Files: []croft.ReviewFile{
					{Path: longPath, Added: 123456, Deleted: 3}, {Path: "a", OldMode: "1", NewMode: "1", OldPath: "b", Added: 1, Deleted: 4}, {Path: wideName, IsBinary: true, NewMode: "1"},
				},
			}, nil
		},
	}}
	reason := &croft.Error{Code: croft.WorkspaceBusy, Message: "claude (6717) and node (6731) are at work in " + wideName + ": croft show " + shellWord(wideName)}
	cleaned := &croft.CleanResult{Kept: []croft.Kept{{Name: longName, Reason: reason}}, Branches: []string{"croft/" + longName, "croft/" + wideName}}
	var items []croft.TrashItem
	for i, ws := range list {
		cleaned.Removed = append(cleaned.Removed, croft.Removed{ID: ws.ID, Name: ws.Name, Trash: "t"})
		item := croft.TrashItem{ID: croft.ID(fmt.Sprintf("gn5%dmqt6k8vx0g51", i)), Name: ws.Name, As: croft.ConditionDiscarded, Bytes: 123e6, RemovedAt: noon.Add(-47 * time.Hour)}
		items = append(items, item, item)
		items[2*i+1].ID, items[2*i+1].PurgeAt = croft.ID(fmt.Sprintf("gx5%dmqt6k8vx0g51", i)), noon.Add(time.Hour)
	}
	items[0].Stays = longPath + "\n" + longPath
	c.trash = func(string) ([]croft.TrashItem, error) { return items, nil }
	c.clean = func(croft.CleanRequest) (*croft.CleanResult, error) { r := *cleaned; return &r, nil }
	c.remove = func(croft.RemoveRequest) (*croft.RemoveResult, error) {
		return &croft.RemoveResult{Removed: cleaned.Removed, Kept: []croft.Kept{{ID: "0", Name: longName, Reason: &croft.Error{Code: croft.WorkspaceDirty}}}}, nil
	}
	c.forecast = &croft.Forecast{Pairs: collisions, Order: oddNames(), Skipped: cleaned.Kept}
	return c
}

func (f *fake) Conflicts(context.Context, croft.ConflictsRequest) (*croft.Forecast, error) {
	return f.forecast, nil
}

// crowdScreens are screens of the commands, with odd names wherever there is a name.
func crowdScreens(c crowd) map[string]func(ctx context.Context, a *app) error {
	settings := ConfigView{Values: []ConfigValue{
		{Key: "merge.checks", Value: "go test ./... -run " + longName + "\ngo vet ./...", IsList: true, Source: "/home/ann/" + longPath + ":3"},
		{Key: "provision.copy", Value: longPath + "," + wideName, IsList: true, Source: "croft.toml:3 in " + longBranch},
		{Key: "layout", Value: "default", Source: defaultSource},
	}}
	works := map[croft.ID]*croft.Work{"a1": {Seen: []croft.Aspect{croft.AspectCommits}, Added: 123456, Deleted: 34567, Changed: 3}}
	list, _ := c.workspaces(croft.WorkspacesRequest{})
	screens := map[string]func(context.Context, *app) error{
		"list": func(ctx context.Context, a *app) error { return a.runList(ctx, c, listOptions{}) },
		"list -A": func(ctx context.Context, a *app) error {
			return a.runList(ctx, c, listOptions{filter: croft.WorkspacesRequest{Repos: croft.ScopeAll}})
		},
		"new":       func(_ context.Context, a *app) error { a.printMade(list); a.remarkShell(list); return nil },
		"conflicts": func(ctx context.Context, a *app) error { return a.runConflicts(ctx, c, croft.ConflictsRequest{}) },
		"queue":     func(ctx context.Context, a *app) error { return a.runQueue(ctx, c, croft.MergesRequest{}) },
		"trash":     func(ctx context.Context, a *app) error { return a.runTrash(ctx, c, project, listing.IDsOfAll) },
		"history":   func(ctx context.Context, a *app) error { return a.runHistory(ctx, c, croft.HistoryRequest{}) },
		"diff":      func(ctx context.Context, a *app) error { return a.runDiff(ctx, c, croft.DiffRequest{}, diffStat) },
		"config":    func(_ context.Context, a *app) error { return a.runConfig(settings, false) },
		"clean":     func(ctx context.Context, a *app) error { return a.runClean(ctx, c, croft.CleanRequest{}, consentAsk) },
		"clean -n": func(ctx context.Context, a *app) error {
			return a.runClean(ctx, c, croft.CleanRequest{}, consentDryRun)
		},
		"clean -y": func(ctx context.Context, a *app) error { return a.runClean(ctx, c, croft.CleanRequest{}, consentGiven) },
		"remove": func(ctx context.Context, a *app) error {
			return a.runRemove(ctx, c, croft.RemoveRequest{}, consentAsk, false)
		},
		"removed": func(ctx context.Context, a *app) error {
			r, _ := c.Remove(ctx, croft.RemoveRequest{})
			a.printRemoved(ctx, c, r.Removed)
			return nil
		},
		"several merges": func(_ context.Context, a *app) error { a.tellMerges(c.oddMerges(), works); return nil },
		"revert -n": func(ctx context.Context, a *app) error {
			plan, _ := c.PlanRevert(ctx, croft.RevertRequest{})
			a.printRevertPlan(*plan, works[plan.Merge.Workspace])
			return nil
		},
		"resolving": func(_ context.Context, a *app) error {
			a.printResolution(croft.Resolution{Workspace: list[1], Target: longBranch, Commit: "1234567890", Conflicts: c.oddMerges()[1].Conflicts, HeldBack: []string{longPath}})
			return nil
		},
		"merges go on": func(_ context.Context, a *app) error {
			l := live.Merges{On: a.liveScreen(), Merges: c.oddMerges(), Works: works, Begun: noon}
			a.printLines(l.Shown(noon))
			l = live.Merges{On: a.liveScreen(), Merges: c.oddMerges()[9:10], Works: works, Begun: noon, Tip: "1234567890", Others: c.oddMerges()}
			a.printLines(l.Shown(noon))
			return nil
		},
		"checks have ended": func(ctx context.Context, a *app) error {
			m := c.oddMerges()[2]
			m.Checks = []croft.Check{{ID: "1", Command: "go test -run " + wideName, State: croft.TryFailed, Took: croft.Duration(time.Hour), Log: "/home/ann/" + longPath}}
			m.Attempts = []croft.Attempt{{Merges: 1, Position: 1, Checks: m.Checks}, {Checks: []croft.Check{{ID: "2", Command: m.Checks[0].Command, State: croft.TryPassed, Passed: true}}}}
			l := live.Merges{On: a.liveScreen(), Svc: &checking{output: strings.Repeat(longPath+"\n", 20)}, Merges: []croft.Merge{m}, Works: works, Tip: "1234567890"}
			l.End(ctx)
			return nil
		},
		"errors": func(_ context.Context, a *app) error { printOddErrors(a); return nil },
		"help":   func(_ context.Context, a *app) error { printAllHelp(a); return nil },
	}
	for _, name := range oddNames() {
		screens["show "+name] = func(ctx context.Context, a *app) error { return a.runShow(ctx, c, croft.WorkspaceRequest{Ref: name}) }
	}
	for i, m := range c.oddMerges() {
		screens[fmt.Sprintf("merge %d", i)] = func(_ context.Context, a *app) error { a.tellMerges([]croft.Merge{m}, works); return nil }
	}
	return screens
}

// printOddErrors prints errors and notes with odd names.
func printOddErrors(a *app) {
	for _, name := range oddNames() {
		word := shellWord(name)
		for _, e := range []*croft.Error{
			{Message: `there is no workspace "` + name + `"; it was merged 4m ago and is in the trash`, Hint: "croft restore " + word},
			{Message: name + " exists already, made 3h ago: ../app.croft/" + name, Hint: "croft cd " + word},
			{Message: "which workspace? to merge: " + strings.Join(oddNames(), ", "), Hint: "croft merge " + word, Details: longPath},
			{Message: longPath + ": no such file", Workspace: name, Err: errors.New(strings.Repeat("検", 90))},
		} {
			a.printError(e)
		}
		a.note("no longer waiting; %s stays queued: %s, or croft queue cancel %s", name, driveCommand, word)
		a.note("%s was removed: croft restore %s brings it back", name, word)
		a.note("  %s", longPath)
		a.remarkNext("croft review " + word + ", or croft merge " + word)
	}
}

// printAllHelp prints the help of all commands.
func printAllHelp(a *app) {
	root := testRoot()
	a.printText(help.Program(root, a.stdout()))
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			a.printText(help.Command(sub, a.stdout()))
			walk(sub)
		}
	}
	walk(root)
}

// TestScreensFit: no line of any screen is wider than its terminal, whatever things are called. A command that is
// wider stands alone on its line, and is whole; no line ends in a space.
func TestScreensFit(t *testing.T) {
	c := crowded()
	screens := crowdScreens(c)
	for width := 50; width <= 200; width++ {
		if width > 120 && width%7 != 0 {
			continue // there all columns are there already
		}
		for what, show := range screens {
			isASCII := width%2 == 0
			if what == "help" && (width > 104 || width%6 != 0 && width > 52) {
				continue // it is long, and not wider than a hundred columns
			}
			var w bytes.Buffer
			a := &app{
				env: Env{
					Dir: filepath.FromSlash("/home/ann/app.croft/" + longName), Home: "/home/ann", Width: width, ErrWidth: width, IsASCII: isASCII,
					Terminal: TerminalInteractive, IsDumb: true, Stdout: &w, Stderr: &w, Now: func() time.Time { return noon },
				},
				stdin: bufio.NewReader(strings.NewReader("n\n")), out: &output{w: &w},
			}
			var status statusError
			if err := show(t.Context(), a); err != nil && !errors.As(err, &status) {
				t.Fatalf("%s: %v", what, err)
			}
			for line := range strings.Lines(strings.ReplaceAll(w.String(), "[y/N] ", "[y/N]\n")) { // there a person answers
				line = strings.TrimSuffix(line, "\n")
				isAlone := isCommandAlone(line) || what == "help" && isUsageAlone(line)
				if screen.Width(line) > width && !isAlone || strings.HasSuffix(line, " ") {
					t.Errorf("%s, %d columns: %q", what, width, line)
				}
				if at := strings.Index(line, "croft merge --resolve"); at >= 0 && what != "help" && !slices.Contains([]string{"list", "list -A"}, what) && !isCommandAlone(line[at:]) {
					t.Errorf("%s, %d columns: a command is cut: %q", what, width, line)
				}
			}
			if t.Failed() {
				t.Fatalf("%s in %d columns:\n%s", what, width, w.String())
			}
		}
	}
}

// isUsageAlone reports whether a line of the help is what one types, and nothing beside it.
func isUsageAlone(line string) bool {
	text := strings.TrimLeft(line, " ")
	return text != line && !strings.Contains(text, "  ") && (strings.HasPrefix(text, "croft ") || strings.HasPrefix(text, "eval "))
}

// isCommandAlone reports whether a line is a command and nothing else but the word that leads to it.
func isCommandAlone(line string) bool {
	line = strings.TrimSpace(line)
	for _, lead := range []string{"hint: ", "next: "} {
		line = strings.TrimPrefix(line, lead)
	}
	spans := results.Sentence(line)
	rest, isCroft := strings.CutPrefix(line, "croft ")
	if !isCroft || len(spans) != 1 {
		return false
	}
	known := []string{longBranch}
	for _, name := range oddNames() {
		known = append(known, printable(shellWord(name)))
	}
	for word := range strings.FieldsSeq(rest) {
		if !slices.Contains(known, word) && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz-") != "" {
			return false
		}
	}
	return true
}
