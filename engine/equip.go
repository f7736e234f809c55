package engine

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout/worktree"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/layout"
	"github.com/croft-sh/croft/internal/provision"
)

// equip links what workspaces share with the project and copies role files.
func (e *Engine) equip(ctx context.Context, s standing, plans []*plan) error {
	for _, p := range plans {
		if err := e.link(ctx, s.repo, p); err != nil {
			return explain.About(p.record.Workspace.Name, err)
		}
		if err := e.makeScratch(ctx, s.repo, p); err != nil {
			return explain.About(p.record.Workspace.Name, err)
		}
		if err := e.ignore(ctx, s.repo, p); err != nil {
			return explain.About(p.record.Workspace.Name, err)
		}
		if p.role == nil {
			continue
		}
		if err := e.copyRole(ctx, s.repo, &p.record, *p.role, provision.Fresh); err != nil {
			return explain.About(p.record.Workspace.Name, err)
		}
	}
	return failpoint.Hit("create.equipped")
}

// link links what a workspace shares with the project. The links are Croft's:
// they are never committed.
func (e *Engine) link(ctx context.Context, r *repo, p *plan) error {
	patterns := append(slices.Clone(p.layout.Links), r.cfg.Checkout.Links...)
	if p.mode == croft.ModeLegacy || len(patterns) == 0 {
		return nil
	}
	var err error
	if p.record.Links, err = provision.Link(r.path, p.record.Workspace.Path, patterns); err != nil || len(p.record.Links) == 0 {
		return err
	}
	return e.underLock(ctx, r, func() error { return r.hideRoles(ctx, r.trees.At(p.spec())) })
}

// ignore has git ignore what agents of the layout keep for themselves, in
// Croft's worktrees only.
func (e *Engine) ignore(ctx context.Context, r *repo, p *plan) error {
	if p.mode == croft.ModeLegacy || len(p.layout.Ignored) == 0 {
		return nil
	}
	return e.underLock(ctx, r, func() error { return r.hideRoles(ctx, r.trees.At(p.spec())) })
}

// copyRole copies a role's files and remembers that they are Croft's.
func (e *Engine) copyRole(ctx context.Context, r *repo, rec *journal.Record, role croft.Role, into provision.Checkout) error {
	untracked, err := e.placeRole(ctx, r, rec, role, into)
	if err != nil || len(untracked) == 0 {
		return err
	}
	return e.underLock(ctx, r, func() error { return r.hideRoles(ctx, r.trees.At(specOf(*rec))) })
}

// placeRole copies a role's files and returns the names of those that git has
// to be told to ignore.
func (e *Engine) placeRole(ctx context.Context, r *repo, rec *journal.Record, role croft.Role, into provision.Checkout) ([]string, error) {
	copied, err := r.roles().Copy(ctx, provision.Copying{
		Worktree: r.trees.At(specOf(*rec)), Role: role, Into: into, Placed: placed(*rec),
	})
	if err != nil {
		return nil, err
	}
	for _, f := range role.Files {
		if !slices.Contains(rec.RoleFiles, f) {
			rec.RoleFiles = append(rec.RoleFiles, f)
		}
	}
	sums := placed(*rec)
	maps.Copy(sums, copied.Placed)
	rec.RoleSums = sums
	return copied.Untracked, nil
}

// placed are the digests of the role files of a workspace; one that is not
// known matches nothing.
func placed(rec journal.Record) map[string]string {
	sums := map[string]string{}
	for _, f := range rec.RoleFiles {
		sums[f] = rec.RoleSums[f]
	}
	return sums
}

// hideRoles has git ignore role files in Croft's worktrees, of which one was
// just given some. The caller holds the repository's lock.
func (r *repo) hideRoles(ctx context.Context, tree *git.Worktree) error {
	patterns := []string{"/" + stateFile}
	for _, f := range r.cfg.Roles.Files {
		patterns = append(patterns, "/"+f)
	}
	// An ignore rule for a directory does not hold for a link to one.
	for _, l := range layout.Presets() {
		for _, name := range append(l.Links, r.cfg.Checkout.Links...) {
			if !strings.HasPrefix(name, ".") && !slices.Contains(patterns, "/"+name) {
				patterns = append(patterns, "/"+name)
			}
		}
	}
	if err := r.git.LocalExclude(ctx, worktree.AdminPrefix+"*", patterns); err != nil {
		return err
	}
	return tree.ShareExcludes()
}

// roleNamed looks a role up.
func (e *Engine) roleNamed(_ context.Context, s standing, req croft.RoleRequest) (*croft.Role, error) {
	role, err := findRole(s.repo, req.Role)
	if err != nil {
		return nil, err
	}
	return &role, nil
}

// updateRole copies a role's files into a workspace, again if they were there.
func (e *Engine) updateRole(ctx context.Context, s standing, rec journal.Record, req croft.RoleRequest) (*croft.Role, error) {
	name := req.Role
	if name == "" {
		name = rec.Workspace.Role
	}
	role, err := findRole(s.repo, name)
	if err == nil && rec.Workspace.Mode == croft.ModeLegacy {
		err = &croft.Error{Code: croft.Unsupported, Message: "a workspace without isolation takes no role files"}
	}
	if err == nil {
		err = e.copyRole(ctx, s.repo, &rec, role, provision.Used)
	}
	if req.Mode == croft.RoleReplace && errors.Is(err, croft.WorkspaceDirty) {
		role.Snapshot, err = e.replaceRole(ctx, s.repo, &rec, role)
	}
	if err == nil {
		rec.Workspace.Role = name
		err = e.saveRecord(ctx, &rec, func(tx *journal.Tx) error { return e.note(tx, "role", s.id, rec) })
	}
	if err != nil {
		return nil, err
	}
	return &role, nil
}

// replaceRole copies a role's files over what an agent made of them, which is saved
// before. Git ignores some of them, so that they are named.
func (e *Engine) replaceRole(ctx context.Context, r *repo, rec *journal.Record, role croft.Role) (croft.ID, error) {
	var files []string
	for _, f := range role.Files {
		files = append(files, "/"+git.LiteralPattern(f))
	}
	before, err := e.saveWith(ctx, r, *rec, saving{also: files})
	if err != nil {
		return "", err
	}
	return before.ID, e.copyRole(ctx, r, rec, role, provision.Fresh)
}

func findRole(r *repo, name string) (croft.Role, error) {
	if err := layout.CheckRole(name); err != nil {
		return croft.Role{}, err
	}
	return r.roles().Find(name)
}
