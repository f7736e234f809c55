package project

import (
	"context"
	"errors"
	"fmt"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/shellword"
)

// StateFile is a file at the top of a checkout that agents use as their own cache. It
// never counts as uncommitted work.
const StateFile = "STATE.json"

// BrokenNowError returns a WorkspaceBroken error as BrokenError does, but looks for the
// directory first: if it was moved, the error says where to.
func (r *Project) BrokenNowError(ctx context.Context, rec journal.Record, h checkout.Health) error {
	err := BrokenError(rec, h)
	to := r.FindMoved(ctx, []journal.Record{rec})[0]
	if told, ok := errors.AsType[*croft.Error](err); ok && to != "" && !IsTrashedAt(rec, to) {
		told.Message, told.Details, told.Hint = "its directory was moved to "+to, "", "croft doctor --fix"
	}
	return err
}

// BrokenError returns a WorkspaceBroken error that says what is wrong with a workspace,
// and what to do about it. It does not look for a directory that was moved.
func BrokenError(rec journal.Record, h checkout.Health) error {
	e := &croft.Error{
		Code: croft.WorkspaceBroken, Workspace: rec.Workspace.Name, Details: rec.Workspace.Path, Hint: "croft doctor",
	}
	switch h {
	case checkout.Missing:
		e.Message = "its directory is not at its path: it was moved or deleted, or its drive is not mounted"
	case checkout.Unregistered:
		e.Message, e.Hint = "git does not know its directory any more", "croft doctor --fix"
	case checkout.Foreign:
		e.Message = "something else lies at its path"
	case checkout.Replaced:
		e.Message = "its directory was replaced by another: what lies at its path is a copy"
		e.Hint = "croft doctor --import, if it was copied back; else move it away"
	}
	return e
}

// WorkspaceNotFoundError returns the WorktreeNotFound error for a workspace.
func WorkspaceNotFoundError(op, ref string) *croft.Error {
	return &croft.Error{
		Code: croft.WorktreeNotFound, Op: op, Workspace: ref, Message: fmt.Sprintf("there is no workspace %q", ref), Hint: "croft list", Fields: map[string]string{"ref": ref},
	}
}

// BringBackHint is what to run for work that was reverted: it comes back with another merge of its workspace. For other work it is
// otherwise.
func (p *Projects) BringBackHint(ctx context.Context, r *Project, m journal.Merge, otherwise string) string {
	rec, err := p.Journal.Record(ctx, m.Workspace)
	if err != nil || m.Status != croft.MergeReverted {
		return otherwise
	}
	name := shellword.Quote(rec.Workspace.Name)
	if rec.Workspace.State != croft.Trashed {
		return "croft merge " + name
	}
	if _, err := p.Journal.LiveByName(ctx, r.ID, rec.Workspace.Name); err == nil {
		name = string(m.Workspace) // another has its name
	}
	if !rec.IsRestorable() {
		return "croft show " + name
	}
	return "croft restore " + name
}

// BranchMovesError says that other processes move a branch faster than Croft can commit
// to it.
func BranchMovesError(branch string, err error) error {
	return &croft.Error{
		Code: croft.WorkspaceBusy, Message: fmt.Sprintf("%s keeps moving: another process commits to it", branch), Details: err.Error(),
		Hint: "the same command again, when the agent is idle",
	}
}

// VanishedError returns an error which says that the workspace was removed or moved
// meanwhile, if it was and err has no other explanation. Otherwise it returns err.
func (p *Projects) VanishedError(ctx context.Context, rec journal.Record, err error) error {
	if _, explained := errors.AsType[*croft.Error](err); err == nil || explained || ctx.Err() != nil || rec.Identity == "" || p.isAtPath(rec) {
		return err
	}
	now, jerr := p.Journal.Record(context.WithoutCancel(ctx), rec.Workspace.ID)
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

// isAtPath reports whether a workspace's directory lies at its path, by the identity in
// its record or in the ledger of checkouts that Croft made.
func (p *Projects) isAtPath(rec journal.Record) bool {
	now, err := fsx.IdentityOf(rec.Workspace.Path)
	if err != nil {
		return false
	}
	if now == fsx.Identity(rec.Identity) {
		return true
	}
	r := p.openedByID(rec.RepoID)
	return r != nil && r.Git != nil && r.Git.Made().Find(rec.Admin).Identity == now
}
