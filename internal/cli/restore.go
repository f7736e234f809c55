package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/screen"
	"github.com/spf13/cobra"
)

// restoreResult is the workspace after the act.
type restoreResult struct {
	Workspace  croft.Workspace   `json:"workspace"`            // of several the first
	Workspaces []croft.Workspace `json:"workspaces,omitempty"` // with several names: all of them, in the order of the names
}

func newRestoreCommand(a *app) *cobra.Command {
	var req croft.RestoreRequest
	cmd := &cobra.Command{
		Use:   "restore NAME or ID...",
		Short: "Bring a removed workspace, or an earlier state, back",
		Long: `Bring a removed workspace back: its branch, its files with everything that was
not committed, and whatever was in progress, at the path where it lay. Of
several removed workspaces of one name the last is taken; "croft trash" shows
the IDs of all. Where its directory went from the trash already, it comes back
from its commits and a snapshot, without the files that git ignores. A directory
that cannot be found, because it was moved far away or its drive is not mounted,
is not taken for gone: mount it, or say --commits. Of several names, one that is not
in the trash stops all.

With the ID of a snapshot, bring the workspace back to that state, in place.
Files that git ignores stay as they are. What it is now is saved as another
snapshot first, and "croft undo" goes back to it.`,
		Example: `  croft restore fix-login
  croft restore fix-login search-index
  croft restore k3v9q2m7x4t1b8n5`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return usageError(cmd, "which workspace? give its name")
			case len(args) > 1 && req.Key != "":
				return usageError(cmd, "one workspace at a time has a --key")
			}
			return nil
		},
		RunE: a.withService(func(ctx context.Context, svc croft.Service, args []string) error {
			req.Repo, req.Ref = a.dir(), args[0]
			if len(args) > 1 {
				return a.restoreSeveral(ctx, svc, req, args)
			}
			return a.runRestore(ctx, svc, req)
		}),
		ValidArgsFunction: a.completeOffers(a.offerTrash),
	}
	addWordFlag(cmd, &req.Mode, croft.RestoreCommits, "commits", "", "do without a directory that cannot be found: what git has comes back")
	addKeyFlag(cmd, &req.Key)
	return cmd
}

// restorer is the part of croft.Service that `croft restore` calls.
type restorer interface {
	croft.Trash
	Status(ctx context.Context, req croft.StatusRequest) (*croft.Status, error)
}

func (a *app) runRestore(ctx context.Context, svc restorer, req croft.RestoreRequest) error {
	ws, err := svc.Restore(ctx, req)
	if err != nil {
		return err
	}
	if a.isShown() {
		a.printOutcomes(a.restored(ctx, svc, *ws))
	} else {
		a.printWorkspace(*ws, "restored")
	}
	a.noteWorkspaceNotes(*ws)
	return nil
}

// restored says where a workspace is again, and how much of its work is not committed, if that can be read.
func (a *app) restored(ctx context.Context, svc restorer, ws croft.Workspace) outcome {
	text := a.shownPath(ws.Path)
	if status, err := svc.Status(ctx, croft.StatusRequest{Workspace: ws.ID}); err == nil && status.Dirty() {
		files := max(len(status.Paths), 1)
		text += ", " + countNoun(files, "file") + " not committed"
	}
	return outcome{Kind: screen.Done, Name: ws.Name, Word: "restored", Detail: []screen.Span{{Text: text}}}
}

// restoreSeveral looks all of them up first. One that cannot come back nevertheless ends it.
func (a *app) restoreSeveral(ctx context.Context, svc restorer, req croft.RestoreRequest, names []string) error {
	gone, err := svc.Trash(ctx, croft.TrashRequest{Repo: req.Repo})
	if err != nil {
		return err
	}
	var items []croft.TrashItem
	for _, name := range names {
		item := findRemoved(gone.Items, name)
		if item == nil {
			return &croft.Error{
				Code: croft.WorktreeNotFound, Op: "restore", Workspace: name, Message: "nothing in the trash is called " + quoted(name), Details: "nothing was restored", Hint: "croft trash",
			}
		}
		if !slices.ContainsFunc(items, func(i croft.TrashItem) bool { return i.ID == item.ID }) {
			items = append(items, *item)
		}
	}
	var list []croft.Workspace
	var failed error
	for i, item := range items {
		req.Ref = string(item.ID)
		ws, err := svc.Restore(ctx, req)
		if err != nil {
			failed = notRestored(err, items[i+1:])
			break
		}
		list = append(list, *ws)
	}
	a.tellRestored(ctx, svc, list, failed)
	return failed
}

// tellRestored says last what came back. With --json an error is the whole answer.
func (a *app) tellRestored(ctx context.Context, svc restorer, list []croft.Workspace, failed error) {
	if a.json {
		if failed == nil {
			a.emit(restoreResult{Workspace: a.withCommands(list)[0], Workspaces: list})
		}
		return
	}
	var outcomes []outcome
	for _, ws := range list {
		a.noteWorkspaceNotes(ws)
	}
	if a.isShown() {
		for _, ws := range list {
			outcomes = append(outcomes, a.restored(ctx, svc, ws))
		}
		a.printOutcomes(outcomes...)
		return
	}
	for _, ws := range list {
		a.note("%s: restored", ws.Name)
	}
}

// findRemoved finds the workspace that a name or an ID means: of several of one name the last.
func findRemoved(items []croft.TrashItem, word string) *croft.TrashItem {
	for _, isMeant := range []func(croft.TrashItem) bool{
		func(i croft.TrashItem) bool { return string(i.ID) == word },
		func(i croft.TrashItem) bool { return i.Name == word },
	} {
		if at := slices.IndexFunc(items, isMeant); at >= 0 {
			return &items[at]
		}
	}
	const shortest = 4
	var found *croft.TrashItem
	for i := range items {
		if len(word) < shortest || !strings.HasPrefix(string(items[i].ID), word) {
			continue
		}
		if found != nil {
			return nil // it means two
		}
		found = &items[i]
	}
	return found
}

// notRestored names with an error those that were not tried after it.
func notRestored(err error, rest []croft.TrashItem) error {
	if len(rest) == 0 {
		return err
	}
	var names []string
	for _, item := range rest {
		names = append(names, item.Name)
	}
	e := *croft.AsError("restore", err)
	e.Details = strings.TrimSpace(e.Details + "\nnot restored: " + strings.Join(names, ", "))
	return &e
}
