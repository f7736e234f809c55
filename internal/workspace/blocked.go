package workspace

import (
	"context"
	"fmt"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/shellword"
)

// Blocked is a new branch that git cannot make because of another branch: one name is a
// directory of the other.
type Blocked struct {
	Workspace, Branch string
	By                string // the existing branch
}

// liveWorkspaceOn finds the live workspace with a branch, or nil.
func (svc *Workspaces) liveWorkspaceOn(ctx context.Context, r *project.Project, branch string) (*journal.Record, error) {
	live, err := svc.Journal.Live(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	for _, rec := range live {
		if rec.Workspace.Branch == branch {
			return &rec, nil
		}
	}
	return nil, nil
}

// branchBlockedError returns the error for a new branch that an existing one blocks. If
// a workspace works on the existing branch, the hint does not rename it: the record and
// the checkout would disagree.
func (svc *Workspaces) branchBlockedError(ctx context.Context, r *project.Project, b Blocked) error {
	owner, err := svc.liveWorkspaceOn(ctx, r, b.By)
	if err != nil {
		return err
	}
	if owner == nil {
		return &croft.Error{
			Code: croft.BranchBlocked, Message: fmt.Sprintf("branch %q cannot exist beside branch %q", b.Branch, b.By),
			Hint: fmt.Sprintf("git branch -m %s %s, or choose another prefix with the setting \"branch\"", shellword.Quote(b.By), shellword.Quote(freeBranchName(b))),
		}
	}
	return &croft.Error{
		Code:    croft.BranchBlocked,
		Message: fmt.Sprintf("branch %q cannot exist beside branch %q of workspace %s", b.Branch, b.By, owner.Workspace.Name),
		Hint:    "croft new " + shellword.Quote(otherName(b.Workspace)),
	}
}

// RestoreBlockedError returns the error for a workspace that cannot be restored because
// an existing branch blocks its own.
func (svc *Workspaces) RestoreBlockedError(ctx context.Context, r *project.Project, b Blocked) error {
	owner, err := svc.liveWorkspaceOn(ctx, r, b.By)
	if err != nil {
		return err
	}
	why := &croft.Error{
		Code: croft.BranchBlocked, Message: fmt.Sprintf("branch %q cannot exist beside branch %q, which came since", b.Branch, b.By),
		Hint: fmt.Sprintf("git branch -m %s %s, then croft restore %s", shellword.Quote(b.By), shellword.Quote(freeBranchName(b)), shellword.Quote(b.Workspace)),
	}
	if owner != nil {
		why.Details = owner.Workspace.Path
		why.Hint = fmt.Sprintf("croft remove %s, then croft restore %s", shellword.Quote(owner.Workspace.Name), shellword.Quote(b.Workspace))
	}
	return why
}

// freeBranchName suggests a name for the existing branch under which it does not block
// the new one.
func freeBranchName(b Blocked) string {
	if below, ok := strings.CutPrefix(b.By, b.Branch+"/"); ok {
		return b.Branch + "-" + strings.ReplaceAll(below, "/", "-")
	}
	return b.By + "-old"
}

// otherName suggests a name for a new workspace whose branch is not blocked.
func otherName(name string) string {
	if flat := strings.ReplaceAll(name, "/", "-"); flat != name {
		return flat
	}
	return name + "-2"
}

// blockedByEachOtherError returns the error for several new workspaces whose branches
// block each other, or nil if none do.
func blockedByEachOtherError(plans []*plan) error {
	for _, p := range plans {
		for _, q := range plans {
			branch, other := p.record.Workspace.Branch, q.record.Workspace.Branch
			if other == "" || !strings.HasPrefix(branch, other+"/") {
				continue
			}
			return &croft.Error{
				Code: croft.BranchBlocked, Message: fmt.Sprintf("branch %q cannot exist beside branch %q", branch, other),
				Hint: fmt.Sprintf("croft new %s %s", shellword.Quote(q.record.Workspace.Name), shellword.Quote(otherName(p.record.Workspace.Name))),
			}
		}
	}
	return nil
}
