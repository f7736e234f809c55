package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/journal"
)

func notFound(op, ref string) *croft.Error {
	return &croft.Error{
		Code: croft.WorktreeNotFound, Op: op, Workspace: ref, Message: fmt.Sprintf("there is no workspace %q", ref), Hint: "croft list",
	}
}

// moving says of a branch that it moves under whoever wants to commit to it.
func moving(branch string, err error) error {
	return &croft.Error{
		Code: croft.WorkspaceBusy, Message: fmt.Sprintf("%s keeps moving: somebody commits to it", branch), Details: err.Error(),
		Hint: "the same command again, when the agent is idle",
	}
}

// vanished explains an error by the workspace's having been removed or moved
// meanwhile, if it was and nothing else explains the error.
func (e *Engine) vanished(ctx context.Context, rec journal.Record, err error) error {
	if _, explained := errors.AsType[*croft.Error](err); err == nil || explained || ctx.Err() != nil || rec.Identity == "" || e.isAtPath(rec) {
		return err
	}
	now, jerr := e.journal.Record(context.WithoutCancel(ctx), rec.Workspace.ID)
	if errors.Is(jerr, journal.ErrNotFound) || jerr == nil && now.Workspace.State == croft.Trashed {
		return &croft.Error{
			Code: croft.WorktreeNotFound, Workspace: rec.Workspace.Name, Message: fmt.Sprintf("%q was removed meanwhile", rec.Workspace.Name),
			Details: err.Error(), Hint: "croft trash",
		}
	}
	switch croft.AsError("", explain.Error("", "", err)).Code {
	case croft.Internal, croft.GitFailed, croft.WorkspaceBroken:
	default:
		return err
	}
	return &croft.Error{
		Code: croft.WorkspaceBusy, Workspace: rec.Workspace.Name, Message: fmt.Sprintf("%q is being removed, or was moved away", rec.Workspace.Name),
		Details: err.Error(), Hint: "croft list",
	}
}

// isAtPath reports whether a workspace's directory lies at its path, by its record or
// by the ledger of what was made.
func (e *Engine) isAtPath(rec journal.Record) bool {
	now, err := fsx.IdentityOf(rec.Workspace.Path)
	if err != nil {
		return false
	}
	if now == fsx.Identity(rec.Identity) {
		return true
	}
	r := e.opened(rec.RepoID)
	return r != nil && r.git != nil && r.git.Made().Find(rec.Admin).Identity == now
}
