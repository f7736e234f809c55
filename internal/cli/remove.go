package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// remover is what `croft remove` takes.
type remover interface {
	inspector
	repoFinder
	Remove(ctx context.Context, req croft.RemoveRequest) (*croft.RemoveResult, error)
}

// removeResult is what `croft remove` prints.
type removeResult struct {
	Version int             `json:"version"`
	Removed []croft.Removed `json:"removed"`
	Kept    []croft.Kept    `json:"kept"`
	Unknown []string        `json:"unknown,omitempty"`
}

func newRemoveCommand(a *app) *cobra.Command {
	var isAll, isForced, keepsBranch, isMissingOK bool
	cmd := &cobra.Command{
		Use:     "remove NAME...",
		Aliases: []string{"rm"},
		Short:   "Move workspaces to the trash",
		Long: `Move workspaces to the trash and delete their branches; the tips of the
branches are kept.

A workspace with uncommitted work is removed only if you say so: on a terminal
you are asked, elsewhere --force says it. A workspace in which a process is at
work is never removed.`,
		ValidArgsFunction: a.completeMany,
		RunE: func(cmd *cobra.Command, args []string) error {
			req := croft.RemoveRequest{Repo: a.dir(), Workspaces: a.refs(args)}
			switch {
			case isAll && len(args) > 0:
				return misused(cmd, "either names or --all")
			case !isAll && len(args) == 0:
				return misused(cmd, "which workspace? give names or --all")
			case isAll:
				req.All = croft.ScopeAll
			}
			if isForced {
				req.Mode = croft.RemoveForce
			}
			if keepsBranch {
				req.Branch = croft.BranchKeep
			}
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
				return a.runRemove(ctx, svc, req, isMissingOK)
			})
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&isAll, "all", false, "all workspaces of the repository")
	flags.BoolVarP(&isForced, "force", "f", false, "also with uncommitted work or a lock")
	flags.BoolVar(&keepsBranch, "keep-branch", false, "leave the branches")
	flags.BoolVar(&isMissingOK, "missing-ok", false, "a workspace that is not there is removed already")
	return cmd
}

func (a *app) runRemove(ctx context.Context, svc remover, req croft.RemoveRequest, isMissingOK bool) error {
	result, err := svc.Remove(ctx, req)
	if err != nil {
		return err
	}
	if a.canAsk() && req.Mode == croft.RemoveSafe {
		if err := a.askAboutKept(ctx, svc, req, result); err != nil {
			return err
		}
	}
	if a.json {
		a.emit(removeResult{formatVersion, nonNil(result.Removed), nonNil(result.Kept), result.Unknown})
	} else {
		a.table(removedRows(result.Removed))
	}
	for _, name := range result.Unknown {
		a.note("no workspace %s, nothing to remove", quoted(name))
	}
	a.tellKept(result.Kept)
	if len(result.Removed) > 0 {
		a.upkeepAfter(ctx, svc)
	}
	if err := keptStatus(result.Kept); err != nil {
		return err
	}
	if len(result.Unknown) > 0 && !isMissingOK {
		a.note("hint: croft list")
		return statusError(croft.WorktreeNotFound.ExitCode())
	}
	return nil
}

// askAboutKept asks for each workspace that was kept for its uncommitted work,
// and removes it with force where the answer is yes.
func (a *app) askAboutKept(ctx context.Context, svc remover, req croft.RemoveRequest, result *croft.RemoveResult) error {
	var still []croft.Kept
	for _, kept := range result.Kept {
		if !errors.Is(kept.Reason, croft.WorkspaceDirty) {
			still = append(still, kept)
			continue
		}
		ws, err := svc.Workspace(ctx, croft.WorkspaceRequest{Repo: req.Repo, Ref: kept.Name})
		if err != nil {
			return err
		}
		status, err := svc.Status(ctx, ws.ID)
		if err != nil {
			return err
		}
		yes, err := a.ask(ctx, a.loss(*ws, *status)+". Remove?")
		if err != nil {
			return err
		}
		if !yes {
			still = append(still, kept)
			continue
		}
		forced, err := svc.Remove(ctx, croft.RemoveRequest{
			Repo: req.Repo, Workspaces: []string{string(ws.ID)}, Mode: croft.RemoveForce, Branch: req.Branch,
		})
		if err != nil {
			return err
		}
		result.Removed = append(result.Removed, forced.Removed...)
		still = append(still, forced.Kept...)
	}
	result.Kept = still
	return nil
}

// loss says what a removal takes away and for how long it can be had back.
func (a *app) loss(ws croft.Workspace, status croft.Status) string {
	files := len(status.Paths)
	if files == 0 {
		files = status.Staged + status.Modified + status.Untracked + status.Conflicted
	}
	var parts []string
	if files > 0 {
		parts = append(parts, count(files, "file")+" not committed")
	}
	if status.Ahead > 0 && ws.Target != "" {
		parts = append(parts, count(status.Ahead, "commit")+" not in "+ws.Target)
	}
	if len(parts) == 0 {
		parts = []string{"uncommitted work"}
	}
	text := ws.Name + ": " + strings.Join(parts, ", ") + " → trash"
	if kept := a.retention(ws.Repo); kept != "" {
		text += ", " + kept
	}
	return text
}

// retentionKey is the setting that says how long the trash is kept.
const retentionKey = "trash.retention"

func (a *app) retention(root string) string {
	if a.env.Config == nil {
		return ""
	}
	view, err := a.view(root)
	if err != nil {
		return "" // the question can be asked without it
	}
	text := view.value(retentionKey)
	if kept, err := parseAge(text); err == nil && kept.Hours() >= 24 {
		return count(int(kept.Hours()/24), "day")
	}
	return text
}

func removedRows(removed []croft.Removed) [][]cell {
	var rows [][]cell
	for _, r := range removed {
		row := []cell{plain(r.Name), plain("nothing to keep")}
		if r.Trash != "" {
			row[1] = plain("trash " + string(r.Trash))
		}
		if r.Branch != "" {
			row = append(row, plain("deleted "+r.Branch))
		}
		rows = append(rows, row)
	}
	return rows
}

// tellKept says why workspaces were kept, as errors are told.
func (a *app) tellKept(kept []croft.Kept) {
	for _, k := range kept {
		reason := *k.Reason
		if reason.Workspace == "" {
			reason.Workspace = k.Name
		}
		a.tell(&reason)
	}
}

// keptStatus makes a workspace that was kept against the wish of the caller
// visible in the exit status.
func keptStatus(kept []croft.Kept) error {
	if len(kept) == 0 {
		return nil
	}
	return statusError(kept[0].Reason.Code.ExitCode())
}
