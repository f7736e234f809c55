package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/object"
)

// findDamagedObjects looks whether the packs of the project, and what isolated workspaces
// read in place of them, are as git wrote them.
func (d *examination) findDamagedObjects(ctx context.Context) error {
	damaged, err := d.r.Git.VerifyObjects(ctx)
	var own []object.Damage
	for _, f := range damaged {
		if f.Store == "" {
			own = append(own, f)
			d.reportFinding(findPack, f.File, f.What+" Git cannot read some of the objects in it. Croft does not repair it: git fsck says what is missing, and another clone may have it.", nil)
		}
	}
	for _, f := range damaged {
		if f.Store == "" {
			continue
		}
		d.reportFinding(findStore, f.File, f.What+" Isolated workspaces read objects from this copy; the project is not concerned.", func() error {
			if len(own) > 0 {
				return errors.New("the project's own packs are damaged")
			}
			return d.r.Git.MendStore(ctx, f)
		})
	}
	return err
}

// lostCommits looks at the branches of the workspaces of which nothing was said yet.
func (d *examination) lostCommits(ctx context.Context) error {
	records, err := d.Journal.Live(ctx, d.r.ID)
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
func (d *examination) lostCommit(ctx context.Context, w croft.Workspace) error {
	if w.Branch == "" || d.r.Git == nil {
		return nil
	}
	tip, err := d.r.Git.ReadRef(ctx, "refs/heads/"+w.Branch)
	if errors.Is(err, git.ErrNoRef) {
		return nil
	}
	if err == nil {
		_, err = d.r.Git.Info(ctx, tip)
	}
	if !errors.Is(err, object.ErrMissing) {
		return err
	}
	message := fmt.Sprintf("Its branch %s names the commit %.7s, which is not in the repository; the files in %s are as they were.", w.Branch, tip, w.Path)
	if _, err := d.r.Git.Info(ctx, w.Base); w.Base != "" && err == nil {
		message += fmt.Sprintf(" git -C %s reset --soft %.12s lets them be committed again.", w.Path, w.Base)
	}
	d.reportFinding(findLost, w.Name, message, nil)
	return nil
}
