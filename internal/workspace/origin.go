package workspace

import (
	"context"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/base"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/layout"
	"github.com/croft-sh/croft/internal/project"
)

// OriginOf returns the commit that a worktree, of whose beginning there is no record, probably
// started from: its merge base with the default target. If there is none it returns the
// worktree's HEAD, with neither Ref nor Target.
func OriginOf(ctx context.Context, r *project.Project, branch, head string) base.Start {
	unknown := base.Start{OID: head}
	main := project.Location{Project: r, Place: gitdir.PlaceAt(r.CommonDir, r.Path)}
	l, err := LayoutFor(r, croft.CreateRequest{})
	if err != nil {
		return unknown
	}
	from, err := base.StartFor(ctx, main, l, croft.CreateRequest{})
	if err != nil || from.Target == "" || from.Target == branch { // the project is on no branch that could be the target
		from, err = base.Main(ctx, main)
	}
	if err != nil || from.Target == branch {
		return unknown
	}
	if from.OID, err = r.Git.MergeBase(ctx, head, from.OID); err != nil || from.OID == "" {
		return unknown
	}
	if l.Aim == layout.AimNone {
		from.Target = ""
	}
	return from
}
