package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/object"
)

// lostCommits looks at the branches of the workspaces of which nothing was said yet.
func (d *doctor) lostCommits(ctx context.Context) error {
	records, err := d.journal.Live(ctx, d.r.id)
	if err != nil {
		return err
	}
	for _, rec := range records {
		isOf := func(f croft.Finding) bool { return f.Subject == rec.Workspace.Name }
		if slices.ContainsFunc(d.findings, isOf) {
			continue
		}
		if err := d.lostCommit(ctx, rec.Workspace); err != nil {
			return err
		}
	}
	return nil
}

// lostCommit names a workspace whose branch leads to a commit that is not there: a disk
// lost it, or whoever can write the repository's git directory deleted it.
func (d *doctor) lostCommit(ctx context.Context, w croft.Workspace) error {
	if w.Branch == "" || d.r.git == nil {
		return nil
	}
	tip, err := d.r.git.ReadRef(ctx, "refs/heads/"+w.Branch)
	if errors.Is(err, git.ErrNoRef) {
		return nil
	}
	if err == nil {
		_, err = d.r.git.Info(ctx, tip)
	}
	if !errors.Is(err, object.ErrMissing) {
		return err
	}
	message := fmt.Sprintf("Its branch %s names the commit %.7s, which is not in the repository; the files in %s are as they were.", w.Branch, tip, w.Path)
	if _, err := d.r.git.Info(ctx, w.Base); w.Base != "" && err == nil {
		message += fmt.Sprintf(" git -C %s reset --soft %.12s lets them be committed again.", w.Path, w.Base)
	}
	d.find(findLost, w.Name, message, nil)
	return nil
}
