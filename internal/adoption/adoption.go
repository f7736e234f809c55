// Package adoption makes workspaces of worktrees that somebody else made: git's own command, an
// editor, an agent. A record is written, and nothing in the worktree is.
package adoption

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/layout"
	"github.com/croft-sh/croft/internal/once"
	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/shellword"
	"github.com/croft-sh/croft/internal/view"
	"github.com/croft-sh/croft/internal/workspace"
)

// Adoptions makes workspaces of other people's worktrees.
type Adoptions struct {
	*project.Projects
	Views *view.Views // required
}

// Adopt makes workspaces of the worktrees that a request names, and answers for each.
func (svc *Adoptions) Adopt(ctx context.Context, s project.Location, req croft.AdoptRequest) (*croft.AdoptResult, error) {
	if err := checkRequest(req); err != nil {
		return nil, err
	}
	found, err := svc.find(ctx, s, req)
	if err != nil {
		return nil, err
	}
	out := &croft.AdoptResult{Workspaces: []croft.Workspace{}}
	var ids []croft.ID
	for _, f := range found {
		id, err := svc.adopt(ctx, s.Project, f, req)
		if err != nil {
			reason, ok := errors.AsType[*croft.Error](explain.Error("adopt", "", err))
			if !ok || ctx.Err() != nil {
				return nil, err
			}
			out.Left = append(out.Left, croft.Unadopted{Path: f.path, Reason: reason})
			continue
		}
		ids = append(ids, id)
	}
	if out.Workspaces, err = svc.Views.ViewsOf(ctx, s.Project, ids); err != nil {
		return nil, err
	}
	if out.Workspaces == nil {
		out.Workspaces = []croft.Workspace{}
	}
	return out, svc.Journal.Update(ctx, func(tx *journal.Tx) error { return once.Answer(ctx, tx, out) })
}

func checkRequest(req croft.AdoptRequest) error {
	switch {
	case req.All == croft.ScopeAll && len(req.Paths) > 0:
		return &croft.Error{Code: croft.InvalidRequest, Message: "a request adopts all worktrees, or those that it names"}
	case req.Name != "" && (req.All == croft.ScopeAll || len(req.Paths) > 1):
		return &croft.Error{Code: croft.InvalidRequest, Message: "a name is for one worktree"}
	case req.Name != "":
		return layout.CheckName(req.Name)
	}
	return nil
}

// candidate is a worktree that is to be adopted, if git has one at its path.
type candidate struct {
	path string // as git has it, or as it was asked for
	tree *git.WorktreeEntry
}

// find returns the worktrees that a request means. All are those that are no workspaces yet;
// without a path it is the one that the request was made from.
func (svc *Adoptions) find(ctx context.Context, s project.Location, req croft.AdoptRequest) ([]candidate, error) {
	entries, err := s.Git.List(ctx)
	if err != nil {
		return nil, err
	}
	linked := entries[min(1, len(entries)):] // the first one is the project itself
	var found []candidate
	if req.All == croft.ScopeAll {
		records, err := svc.Journal.Live(ctx, s.ID)
		if err != nil {
			return nil, err
		}
		known := map[string]bool{}
		for _, rec := range records {
			known[rec.Workspace.Path] = true
		}
		for i, e := range linked {
			if !known[e.Path] {
				found = append(found, candidate{e.Path, &linked[i]})
			}
		}
		return found, nil
	}
	paths := req.Paths
	if len(paths) == 0 {
		paths = []string{s.Place.WorkDir}
	}
	for _, path := range paths {
		c := candidate{path: path}
		real, err := filepath.EvalSymlinks(path)
		for i, e := range linked {
			if e.Path == filepath.Clean(path) || err == nil && e.Path == real {
				c = candidate{e.Path, &linked[i]}
			}
		}
		found = append(found, c)
	}
	return found, nil
}

// adopt writes a record for a worktree, unless it has one, and returns its ID.
func (svc *Adoptions) adopt(ctx context.Context, r *project.Project, c candidate, req croft.AdoptRequest) (croft.ID, error) {
	if c.tree == nil {
		message := fmt.Sprintf("git has no worktree of this project at %s", c.path)
		if c.path == r.Path {
			message = fmt.Sprintf("%s is the project itself, not a worktree of it", c.path)
		}
		return "", &croft.Error{Code: croft.WorktreeNotFound, Message: message, Hint: "git worktree list"}
	}
	lock, err := r.Lock(ctx)
	if err != nil {
		return "", err
	}
	defer lock.Unlock()
	if id, err := svc.recorded(ctx, r, c.path); err != nil || id != "" {
		return id, err
	}
	tree, dir, err := openWorktree(r, c.path)
	if err != nil {
		return "", err
	}
	defer dir.Close()
	rec, err := svc.recordOf(ctx, r, tree, req)
	if err != nil {
		return "", err
	}
	made, err := dir.Identity()
	if err != nil {
		return "", err
	}
	rec.Identity = string(made)
	if err := r.Git.Made().Put(rec.Admin, fsx.Made{Path: c.path, Identity: made}); err != nil {
		return "", err
	}
	return rec.Workspace.ID, svc.save(ctx, r, &rec)
}

// recorded returns the live workspace at a path, or "".
func (svc *Adoptions) recorded(ctx context.Context, r *project.Project, path string) (croft.ID, error) {
	records, err := svc.Journal.Live(ctx, r.ID)
	for _, rec := range records {
		if rec.Workspace.Path == path {
			return rec.Workspace.ID, nil
		}
	}
	return "", err
}

// openWorktree opens the directory of a worktree, and verifies that it and its registration name
// each other: a registration alone can name any directory.
func openWorktree(r *project.Project, path string) (*git.Worktree, *fsx.Dir, error) {
	broken := func(format string, args ...any) error {
		return &croft.Error{
			Code: croft.WorkspaceBroken, Message: fmt.Sprintf("%s is not adopted: ", path) + fmt.Sprintf(format, args...),
			Hint: "git worktree repair " + shellword.Quote(path),
		}
	}
	dir, err := fsx.OpenDir(path)
	if err != nil {
		return nil, nil, broken("%v", err)
	}
	admin, err := gitdir.ReadGitFile(filepath.Join(path, ".git"))
	if err != nil {
		_ = dir.Close()
		return nil, nil, broken("it has no .git file that names its registration")
	}
	tree := r.Git.Linked(filepath.Base(admin), path)
	if tree.Admin != admin || !tree.IsRegistered() {
		_ = dir.Close()
		return nil, nil, broken("it and its registration do not name each other")
	}
	return tree, dir, nil
}

// recordOf describes a worktree as a workspace. Its branch is not Croft's: nothing deletes it.
func (svc *Adoptions) recordOf(ctx context.Context, r *project.Project, tree *git.Worktree, req croft.AdoptRequest) (journal.Record, error) {
	branch, head, err := tree.Head(ctx)
	if err != nil {
		return journal.Record{}, err
	}
	if branch != "" {
		if err := layout.CheckBranch(branch); err != nil {
			return journal.Record{}, err
		}
	}
	name, err := svc.nameFor(ctx, r, filepath.Base(tree.Path), req.Name)
	if err != nil {
		return journal.Record{}, err
	}
	from := workspace.OriginOf(ctx, r, branch, head)
	who, inside := svc.ActorOfCall(ctx)
	return journal.Record{
		RepoID: r.ID, Admin: filepath.Base(tree.Admin), Boot: proc.Here().Boot,
		Workspace: croft.Workspace{
			ID: project.NewID(), Name: name, Agent: req.Agent, Meta: req.Meta, Mode: croft.ModeWorktree, State: croft.Ready, Path: tree.Path,
			Branch: branch, Base: from.OID, BaseRef: from.Ref, Target: from.Target, Host: svc.Host, Repo: r.Path, CreatedAt: svc.Now(), IsAdopted: true,
			Actor: who, ActorWorkspace: inside,
		},
	}, nil
}

// nameFor returns a name that no live workspace has: the given one, or one after the directory.
func (svc *Adoptions) nameFor(ctx context.Context, r *project.Project, dir, given string) (string, error) {
	first := given
	if first == "" {
		if first = strings.ToLower(dir); layout.CheckName(first) != nil {
			first = "adopted"
		}
	}
	for n := 1; ; n++ {
		name := first
		if n > 1 {
			name = fmt.Sprintf("%s-%d", first, n)
		}
		other, err := svc.Journal.LiveByName(ctx, r.ID, name)
		if errors.Is(err, journal.ErrNotFound) {
			return name, layout.CheckName(name)
		}
		if err == nil && given != "" {
			err = &croft.Error{Code: croft.WorktreeExists, Message: fmt.Sprintf("another workspace is called %s", given), Details: other.Workspace.Path}
		}
		if err != nil {
			return "", err
		}
	}
}

func (svc *Adoptions) save(ctx context.Context, r *project.Project, rec *journal.Record) error {
	return svc.SaveRecord(ctx, rec, func(tx *journal.Tx) error {
		return errors.Join(tx.Emit(svc.WorkspaceEvent(croft.EventWorkspaceAdopted, *rec)), svc.Note(tx, "adopt", r.ID, *rec))
	})
}
