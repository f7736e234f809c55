package workspace

import (
	"cmp"
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
	"github.com/croft-sh/croft/internal/once"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/provision"
)

// equipWorkspace makes the links to shared files, the scratch directories and the role
// files of new workspaces.
func (svc *Workspaces) equipWorkspace(ctx context.Context, s project.Location, plans []*plan) error {
	for _, p := range plans {
		err := svc.linkShared(ctx, s.Project, p)
		if err == nil {
			err = svc.makeScratch(ctx, s.Project, p)
		}
		if err == nil && p.mode != croft.ModeLegacy && len(p.layout.Ignored) > 0 {
			err = svc.hideRoles(ctx, s.Project, p.record)
		}
		if err == nil && p.role != nil {
			err = svc.copyRole(ctx, s.Project, &p.record, *p.role, provision.Fresh)
		}
		if err != nil {
			return explain.WithWorkspace(p.record.Workspace.Name, err)
		}
	}
	return failpoint.Hit("create.equipped")
}

// hideRoles runs [HideRoles] under the repository's lock.
func (svc *Workspaces) hideRoles(ctx context.Context, r *project.Project, rec journal.Record) error {
	return svc.UnderLock(ctx, r, func() error { return HideRoles(ctx, r, r.Trees.At(project.SpecOf(rec))) })
}

// linkShared links the files and directories that a workspace shares with the project.
// The links are never committed.
func (svc *Workspaces) linkShared(ctx context.Context, r *project.Project, p *plan) error {
	patterns := append(slices.Clone(p.layout.Links), r.Config.Checkout.Links...)
	if p.mode == croft.ModeLegacy || len(patterns) == 0 {
		return nil
	}
	var err error
	if p.record.Links, err = provision.Link(r.Path, p.record.Workspace.Path, patterns); err != nil || len(p.record.Links) == 0 {
		return err
	}
	return svc.hideRoles(ctx, r, p.record)
}

// copyRole copies a role's files into a workspace, and makes git ignore them.
func (svc *Workspaces) copyRole(ctx context.Context, r *project.Project, rec *journal.Record, role croft.Role, into provision.Checkout) error {
	untracked, err := svc.PlaceRole(ctx, r, rec, role, into)
	if err != nil || len(untracked) == 0 {
		return err
	}
	return svc.hideRoles(ctx, r, *rec)
}

// PlaceRole copies a role's files, adds them to the record, and returns the names of
// those that git has to ignore.
func (svc *Workspaces) PlaceRole(ctx context.Context, r *project.Project, rec *journal.Record, role croft.Role, into provision.Checkout) ([]string, error) {
	copied, err := r.Roles().Copy(ctx, provision.Copying{
		Worktree: r.Trees.At(project.SpecOf(*rec)), Role: role, Into: into, Placed: placedDigests(*rec),
	})
	if err != nil {
		return nil, err
	}
	for _, f := range role.Files {
		if !slices.Contains(rec.RoleFiles, f) {
			rec.RoleFiles = append(rec.RoleFiles, f)
		}
	}
	sums := placedDigests(*rec)
	maps.Copy(sums, copied.Placed)
	rec.RoleSums = sums
	return copied.Untracked, nil
}

// placedDigests returns the digests of a workspace's role files. The digest of a file
// is empty if it is not known, and matches nothing.
func placedDigests(rec journal.Record) map[string]string {
	sums := map[string]string{}
	for _, f := range rec.RoleFiles {
		sums[f] = rec.RoleSums[f]
	}
	return sums
}

// HideRoles makes git ignore role files, links and project.StateFile in Croft's
// worktrees, and gives tree the new rules. The caller holds the repository's lock.
func HideRoles(ctx context.Context, r *project.Project, tree *git.Worktree) error {
	patterns := []string{"/" + project.StateFile}
	for _, f := range r.Config.Roles.Files {
		patterns = append(patterns, "/"+f)
	}
	// An ignore rule for a directory does not match a link to one.
	for _, l := range layout.Presets() {
		for _, name := range append(l.Links, r.Config.Checkout.Links...) {
			if !strings.HasPrefix(name, ".") && !slices.Contains(patterns, "/"+name) {
				patterns = append(patterns, "/"+name)
			}
		}
	}
	if err := r.Git.LocalExclude(ctx, worktree.AdminPrefix+"*", patterns); err != nil {
		return err
	}
	return tree.ShareExcludes()
}

// RoleNamed returns the role that a request names.
func (svc *Workspaces) RoleNamed(_ context.Context, s project.Location, req croft.RoleRequest) (*croft.Role, error) {
	role, err := FindRole(s.Project, req.Role)
	if err != nil {
		return nil, err
	}
	return &role, nil
}

// UpdateRole copies a role's files into a workspace, also over the files that Croft
// copied before. Only with RoleReplace does it replace files that an agent changed.
func (svc *Workspaces) UpdateRole(ctx context.Context, s project.Location, rec journal.Record, req croft.RoleRequest) (*croft.Role, error) {
	name := cmp.Or(req.Role, rec.Workspace.Role)
	if name == "" {
		return nil, &croft.Error{Code: croft.InvalidRequest, Workspace: rec.Workspace.Name, Message: "the workspace has no role", Hint: "croft new --role ROLE NAME"}
	}
	role, err := FindRole(s.Project, name)
	if err == nil && rec.Workspace.Mode == croft.ModeLegacy {
		err = &croft.Error{Code: croft.Unsupported, Message: "a workspace without isolation takes no role files"}
	}
	if err == nil {
		err = svc.copyRole(ctx, s.Project, &rec, role, provision.Used)
	}
	if req.Mode == croft.RoleReplace && errors.Is(err, croft.WorkspaceDirty) {
		role.Snapshot, err = svc.replaceRole(ctx, s.Project, &rec, role)
	}
	if err == nil {
		rec.Workspace.Role = name
		err = svc.SaveRecord(ctx, &rec, func(tx *journal.Tx) error {
			return errors.Join(svc.Note(tx, "role", s.ID, rec), once.Answer(ctx, tx, &role))
		})
	}
	if err != nil {
		return nil, err
	}
	return &role, nil
}

// SnapshotSaver takes snapshots of workspaces. Package rewind implements it.
type SnapshotSaver interface {
	// SaveAlso saves a workspace together with ignored files that are about to be
	// replaced, given by patterns.
	SaveAlso(ctx context.Context, r *project.Project, rec journal.Record, cause croft.SnapshotCause, ignored []string) (*croft.Snapshot, error)
}

// replaceRole replaces role files that an agent changed, after it has saved the
// workspace. It names the files to the snapshot, because git ignores some of them.
func (svc *Workspaces) replaceRole(ctx context.Context, r *project.Project, rec *journal.Record, role croft.Role) (croft.ID, error) {
	var files []string
	for _, f := range role.Files {
		files = append(files, "/"+git.LiteralPattern(f))
	}
	before, err := svc.Snapshots.SaveAlso(ctx, r, *rec, croft.SnapshotBeforeRole, files)
	if err != nil {
		return "", err
	}
	return before.ID, svc.copyRole(ctx, r, rec, role, provision.Fresh)
}

// FindRole finds a role of a project.
func FindRole(r *project.Project, name string) (croft.Role, error) {
	if err := layout.CheckRole(name); err != nil {
		return croft.Role{}, err
	}
	return r.Roles().Find(name)
}
