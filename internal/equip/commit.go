package equip

import (
	"context"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
)

// CommitOf returns the commit whose croft.toml sets a workspace up: the newest one of its target that its branch
// has, or the one that it began with. So a step that was mended on the target is mended in a workspace once that
// has merged the target; what only its branch has does not count.
func CommitOf(ctx context.Context, r *project.Project, rec journal.Record) (string, error) {
	w := rec.Workspace
	if r.Git == nil || w.Mode != croft.ModeWorktree || w.Target == "" || w.Branch == "" || w.Target == w.Branch || w.Base == "" {
		return w.Base, nil
	}
	tip, err := r.Git.ReadRef(ctx, "refs/heads/"+w.Target)
	if err != nil || tip == w.Base {
		return w.Base, ctx.Err() // without its target it is what it began with
	}
	head, err := r.Git.ReadRef(ctx, "refs/heads/"+w.Branch)
	if err != nil || head == w.Base {
		return w.Base, ctx.Err()
	}
	last, err := r.Git.MergeBase(ctx, head, tip)
	if err != nil || last == "" || last == w.Base {
		return w.Base, ctx.Err()
	}
	isLater, err := r.Git.IsAncestor(ctx, w.Base, last)
	if err != nil || !isLater {
		return w.Base, ctx.Err()
	}
	return last, nil
}
