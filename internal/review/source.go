package review

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/writers"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/merge"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/shellword"
	"github.com/croft-sh/croft/internal/work"
)

// source names work: that of a workspace as it is now, of a review, or of a merge.
type source struct {
	repo, workspace croft.Ref
	review, merge   croft.ID
	target          string
}

// comparison is work that was found, and the session that has the objects of it which the
// repository lacks.
type comparison struct {
	*croft.Review // without files, unless isStored
	project       *project.Project
	attempts      *mergetree.Session
	isStored      bool // the files are known, without the lines of hunks
	workCommits        // of the work of a workspace
}

// workCommits are the commits between which the commits of a workspace lie.
type workCommits struct {
	began     []string // those that it began with: its base and, if there is one, the commit of what it was given besides
	committed string   // its last commit; the work may have more
}

// check refuses a source that names more than one thing.
func (src source) check() error {
	named := 0
	for _, name := range []string{string(src.workspace), string(src.review), string(src.merge)} {
		if name != "" {
			named++
		}
	}
	switch {
	case named > 1:
		return &croft.Error{Code: croft.InvalidRequest, Message: "a workspace, a review or a merge can be shown, and only one of them"}
	case src.target != "" && src.review+src.merge != "":
		return &croft.Error{Code: croft.InvalidRequest, Message: "reviews and merges have a target of their own"}
	}
	return nil
}

// open finds the work that a request names. The caller closes the session.
func (svc *Reviews) open(ctx context.Context, src source) (*comparison, error) {
	if err := src.check(); err != nil {
		return nil, err
	}
	if src.merge != "" {
		return svc.openMerge(ctx, src.merge)
	}
	s, err := svc.Locate(ctx, src.repo)
	if err != nil {
		return nil, err
	}
	c, err := begin(s.Project)
	if err != nil {
		return nil, err
	}
	if src.review != "" {
		c.isStored = true
		c.Review, err = svc.readReview(ctx, s.Project, src.review)
	} else {
		c.Review, c.workCommits, err = svc.findNamed(ctx, s, src, c.attempts)
	}
	return c.opened(err)
}

// openMerge finds the work of a merge.
func (svc *Reviews) openMerge(ctx context.Context, id croft.ID) (*comparison, error) {
	m, err := svc.Journal.Merge(ctx, id)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, &croft.Error{Code: croft.MergeNotFound, Message: fmt.Sprintf("there is no merge %q", id), Hint: "croft queue --all"}
	}
	if err != nil {
		return nil, err
	}
	r, err := svc.ByID(ctx, m.RepoID)
	if err != nil {
		return nil, err
	}
	c, err := begin(r)
	if err != nil {
		return nil, err
	}
	if broughtNothing(m) {
		c.Review, c.isStored = reviewOf(m), true
		c.Base, c.Head, c.Files = m.Head, m.Head, []croft.ReviewFile{}
		return c, nil
	}
	c.Review, err = svc.findMerge(ctx, r, m, c.attempts)
	c, err = c.opened(err)
	return c, explain.WithWorkspace(m.WorkspaceName, err)
}

// begin opens a session in a project.
func begin(r *project.Project) (*comparison, error) {
	if r.Git == nil {
		return nil, gitdir.ErrNoRepository
	}
	attempts, err := r.Git.OpenMergeTree(writers.OnDisk)
	return &comparison{project: r, attempts: attempts}, err
}

// opened closes the session if the work was not found.
func (c *comparison) opened(err error) (*comparison, error) {
	if err != nil {
		c.attempts.Close()
		return nil, err
	}
	return c, nil
}

// findNamed finds the work of a workspace: the present work of a live one, or what is left
// of one that was removed.
func (svc *Reviews) findNamed(ctx context.Context, s project.Location, src source, attempts *mergetree.Session) (*croft.Review, workCommits, error) {
	rec, err := svc.Find(ctx, s, src.workspace)
	if src.workspace != "" && errors.Is(err, croft.WorktreeNotFound) {
		if rec, err = svc.FindRemoved(ctx, s.Project, src.workspace, err); err != nil {
			return nil, workCommits{}, err
		}
		work, committed, err := svc.findRemoved(ctx, s.Project, rec, src.target, attempts)
		return work, workCommits{beganWith(rec), committed}, explain.WithWorkspace(rec.Workspace.Name, err)
	}
	if err != nil {
		return nil, workCommits{}, err
	}
	work, committed, err := svc.findWork(ctx, s.Project, rec, src.target, attempts, toShow)
	return work, workCommits{beganWith(rec), committed}, explain.WithWorkspace(rec.Workspace.Name, svc.VanishedError(ctx, rec, err))
}

// beganWith returns the commits that a workspace began with, its base first.
func beganWith(rec journal.Record) []string {
	began := []string{rec.Workspace.Base}
	if rec.Carried != "" {
		began = append(began, rec.Carried)
	}
	return began
}

// findRemoved finds the work of a removed workspace: its last commit, and what was not
// committed if its directory is in the trash. A round that ends commits all.
func (svc *Reviews) findRemoved(ctx context.Context, r *project.Project, rec journal.Record, target string, attempts *mergetree.Session) (out *croft.Review, committed string, err error) {
	w := rec.Workspace
	if rec.Trash == nil || w.Mode == croft.ModeLegacy {
		return nil, "", project.WorkspaceNotFoundError("", string(w.ID))
	}
	out, err = svc.reviewFor(ctx, r, rec, cmp.Or(target, w.Target))
	if target == "" && errors.Is(err, croft.TargetNotFound) { // its target went since
		out, err = svc.reviewFor(ctx, r, rec, "")
	}
	if err != nil {
		return nil, "", err
	}
	out.Left = svc.Trash.WhatIsLeft(ctx, r, rec)
	out.Head = svc.Removals.Archived(ctx, r, project.ArchiveRef(w.ID), rec.Trash.Tip)
	if out.Head == "" {
		return nil, "", r.NoCommitsError()
	}
	committed = out.Head
	if out.Left == croft.LeftDirectory && rec.Trash.Dir != "" {
		err = svc.Trash.Read(ctx, r, rec, func(tree *git.Worktree) error {
			found, err := work.SortUncommitted(ctx, r, tree, rec, work.HoldLarge)
			if err != nil {
				return err
			}
			committed, err = addWork(ctx, r, out, tree, found, attempts)
			return err
		})
	}
	if err != nil {
		return nil, "", err
	}
	return out, committed, svc.setBase(ctx, rec, attempts, out)
}

// broughtNothing reports whether a merge has ended because there was nothing to merge.
func broughtNothing(m journal.Merge) bool {
	return m.State == croft.MergeDone && m.Commit == "" && (m.Status == "" || m.Status == croft.MergeMerged)
}

// reviewOf returns a review of a merge, without commits.
func reviewOf(m journal.Merge) *croft.Review {
	return &croft.Review{
		Merge: m.ID, RepoID: m.RepoID, Workspace: m.Workspace, WorkspaceName: m.WorkspaceName, Target: m.Target,
		HeldBack: m.HeldBack, CreatedAt: m.SubmittedAt,
	}
}

// findMerge finds what a merge has brought to its target: the difference to the commit
// before it. If the merge has not landed, it finds what the merge would bring: the part of
// a review, the revert of a commit, or the work since it left the target.
func (svc *Reviews) findMerge(ctx context.Context, r *project.Project, m journal.Merge, attempts *mergetree.Session) (*croft.Review, error) {
	out := reviewOf(m)
	if m.Commit != "" {
		landed, err := attempts.ReadCommit(ctx, m.Commit)
		if err != nil {
			return nil, err
		}
		if len(landed.Parents) > 0 {
			out.Base = landed.Parents[0]
		} else {
			out.Base, err = svc.emptyCommit(ctx, attempts)
		}
		out.TargetCommit, out.Head = out.Base, m.Commit
		return out, err
	}
	if m.Head == "" {
		return nil, &croft.Error{Code: croft.InvalidRequest, Message: "the merge names no commit: nothing was submitted", Hint: "croft show " + shellword.Quote(m.WorkspaceName)}
	}
	var err error
	if out.TargetCommit, err = r.Git.ReadRef(ctx, "refs/heads/"+m.Target); err != nil {
		return nil, project.TargetError(m.Target, err)
	}
	switch {
	case m.Kind == croft.KindRevert:
		out.Base, out.Head = m.Head, m.Base
	case m.Base != "":
		out.Base, out.Head = m.Base, m.Head
	default:
		out.Head = m.Head
		out.Base, err = svc.baseOf(ctx, attempts, out)
	}
	return out, err
}

// clearUnkept empties the commits that only the session has: they go with it.
func (c *comparison) clearUnkept(ctx context.Context) error {
	for _, oid := range []*string{&c.Base, &c.Head} {
		if _, err := c.project.Git.Info(ctx, *oid); errors.Is(err, object.ErrMissing) {
			*oid = ""
		} else if err != nil {
			return err
		}
	}
	return nil
}

// setFiles sets the files in which the work differs from its base. Of a stored review they
// are known; only lines are added to them.
func (c *comparison) setFiles(ctx context.Context, detail croft.Detail) error {
	if c.isStored && (detail != croft.DetailLines || len(c.Files) == 0) {
		return nil
	}
	patch, err := c.attempts.Patch(ctx, c.Base, c.Head)
	if err != nil {
		return err
	}
	files := merge.ReviewFiles(patch)
	if c.isStored {
		files = withLinesOf(c.Files, files)
	}
	c.Files = files
	return nil
}
