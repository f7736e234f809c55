package view

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
)

// ShowStatus returns the status of the live workspace that a request names.
func (svc *Views) ShowStatus(ctx context.Context, req croft.StatusRequest) (*croft.Status, error) {
	r, rec, err := svc.FindByID(ctx, req.Workspace)
	if err != nil {
		return nil, err
	}
	st, err := svc.statusBy(ctx, r, rec, (*git.Repository).RememberedStatuses)
	return st, explain.WithWorkspace(rec.Workspace.Name, err)
}

// StatusOf counts the uncommitted changes of a workspace, and the commits between it
// and its target. It believes nothing that was found before: acts decide by it.
func (svc *Views) StatusOf(ctx context.Context, r *project.Project, rec journal.Record) (*croft.Status, error) {
	return svc.statusBy(ctx, r, rec, (*git.Repository).Statuses)
}

// WorkOf is StatusOf that counts no commits, which takes a process.
func (svc *Views) WorkOf(ctx context.Context, r *project.Project, rec journal.Record) (*croft.Status, error) {
	return svc.workBy(ctx, r, rec, (*git.Repository).Statuses)
}

func (svc *Views) statusBy(ctx context.Context, r *project.Project, rec journal.Record, open func(*git.Repository, context.Context) *git.Statuses) (*croft.Status, error) {
	st, err := svc.workBy(ctx, r, rec, open)
	if err != nil || rec.Workspace.Mode == croft.ModeLegacy {
		return st, err
	}
	return st, svc.countDistance(ctx, r, rec, st)
}

func (svc *Views) workBy(ctx context.Context, r *project.Project, rec journal.Record, open func(*git.Repository, context.Context) *git.Statuses) (*croft.Status, error) {
	st := &croft.Status{Workspace: rec.Workspace.ID, WorkspaceName: rec.Workspace.Name}
	if rec.Workspace.Mode == croft.ModeLegacy {
		return st, nil
	}
	if h := r.Trees.Health(project.SpecOf(rec)); h != checkout.Intact {
		return nil, project.BrokenError(rec, h)
	}
	statuses := open(r.Git, ctx)
	defer statuses.Close()
	changes, err := r.Trees.ChangesBy(ctx, statuses, project.SpecOf(rec))
	if err != nil {
		return nil, svc.VanishedError(ctx, rec, err)
	}
	for _, c := range changes {
		if isOwn(rec, c) {
			continue
		}
		switch c.Kind {
		case checkout.Staged:
			st.Staged++
		case checkout.Modified, checkout.Hidden:
			st.Modified++
		case checkout.Untracked:
			st.Untracked++
		case checkout.Conflicted:
			st.Conflicted++
		}
		st.Paths = append(st.Paths, c.Path)
	}
	if _, st.Head, err = r.Trees.At(project.SpecOf(rec)).Head(ctx); err != nil {
		return nil, svc.VanishedError(ctx, rec, err)
	}
	st.Stamp = stampOf(rec.Workspace.Path, st.Head, changes)
	return st, nil
}

// stampOf digests a head, and the paths that differ from it with the stat data of their files. So a file that is
// written with the same size counts as changed, and no content is read. What is ignored, or in a repository
// within the checkout, is no part of it.
func stampOf(dir, head string, changes []checkout.Change) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%q\n", head)
	for _, c := range changes {
		stat := "gone"
		if st, err := index.Lstat(filepath.Join(dir, filepath.FromSlash(c.Path))); err == nil {
			stat = st.Stamp()
		}
		fmt.Fprintf(sum, "%q %q %s\n", c.Kind, c.Path, stat)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// isOwn reports whether a changed file is no work: STATE.json, or one that Croft put there.
func isOwn(rec journal.Record, c checkout.Change) bool {
	return c.Kind == checkout.Untracked && c.Path == project.StateFile ||
		(c.Kind == checkout.Untracked || c.Kind == checkout.Hidden) && rec.IsPlaced(c.Path)
}

// countDistance counts the commits by which a workspace is ahead of and behind its
// target. If the target cannot be read, the counts stay zero.
func (svc *Views) countDistance(ctx context.Context, r *project.Project, rec journal.Record, st *croft.Status) error {
	if rec.Workspace.Target == "" || st.Head == "" {
		return nil
	}
	target, err := r.Git.ReadRef(ctx, "refs/heads/"+rec.Workspace.Target)
	if err != nil || target == st.Head {
		return nil
	}
	st.Ahead, st.Behind, err = r.Git.AheadBehind(ctx, st.Head, target)
	return err
}
